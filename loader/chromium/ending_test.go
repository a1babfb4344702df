package chromium

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/loader/browser"
	"wiretime/loader/browser/browsertest"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/site"
	"wiretime/study"
)

// endless returns a site with a page and resources that keep other pages from
// ending.
func endless(t *testing.T, page string) *site.Site {
	t.Helper()
	s := archive(t, map[string]string{
		"GET https://www.page.test/": page, "GET https://www.page.test/dot.png": png, "GET https://www.page.test/other.html": "<p>Other<img src=/dot.png?other>",
		"GET https://www.page.test/dot.png?other": png, "GET https://www.page.test/again.json": "{}", "POST https://www.page.test/hit.png": png,
		"POST https://www.page.test/204": "204", "GET https://www.page.test/file.zip": "PK", "GET https://www.page.test/events": "data: x\n\n",
		"GET https://www.page.test/slow.html": "<p>Slow",
		"GET https://www.page.test/worker.js": "setInterval(() => fetch('/again.json?worker' + performance.now()), 5)",
	})
	kinds := map[string]string{".zip": "application/zip", "": "text/event-stream"}
	for i := range s.Resources {
		r := &s.Resources[i]
		for k := range r.Header {
			if kind := kinds[path.Ext(r.URL[len("https://www.page.test"):])]; r.Header[k].Name == "content-type" && kind != "" && !strings.HasSuffix(r.URL, "/") {
				r.Header[k].Value = kind
			}
		}
		if strings.HasSuffix(r.URL, "slow.html") {
			r.Wait = float64(time.Hour.Milliseconds())
		}
	}
	return s
}

// late returns a page that does something in its load event, before the browser reports
// the event.
func late(script string) string {
	return `<!DOCTYPE html><title>Late</title><p>Hello<img src=/dot.png><script>addEventListener('load', () => { ` + script + ` });</script>`
}

// TestPagesThatDoNotEndByThemselves loads pages that go on or wait for a visitor. Each
// counts as loaded at the time of its last new resource, and its HAR says what was not
// waited for.
func TestPagesThatDoNotEndByThemselves(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, Options{})
	for _, c := range []struct {
		name, page string
		note       string // in the HAR's words; empty: there is none
		unawaited  string // the path that the load did not wait for
	}{
		{"keepalive", late("for (const a of ['/hit.png', '/204']) fetch(a, {method: 'POST', keepalive: true, body: 'x'})"), "", ""},
		{"no-cors", late("fetch('/hit.png', {method: 'POST', mode: 'no-cors', body: 'x'}).then((r) => { window.kept = r })"), "", ""},
		{"beacon", late("navigator.sendBeacon('/hit.png', 'x')"), "", ""},
		{"alert while parsing", "<!DOCTYPE html><script>alert('Hi')</script><p>Hello", `alert dialog "Hi" was answered with yes`, ""},
		{"alert", late("alert('Hi')"), `alert dialog "Hi" was answered with yes`, ""},
		{"alert in a frame", late("document.body.append(Object.assign(document.createElement('iframe'), {srcdoc: '<script>alert(1)</' + 'script>'}))"), `alert dialog "1"`, ""},
		{"confirm", late("if (!confirm('Sure?')) fetch('/again.json')"), `confirm dialog "Sure?" was answered with no`, ""},
		{"prompt", late("prompt('Name?')"), `prompt dialog "Name?" was answered with no`, ""},
		{"beforeunload", late("onbeforeunload = (e) => e.preventDefault(); location = '/other.html'"), "", ""},
		{"print", late("print()"), "", ""},
		{"another window", late("open('/other.html'); const a = document.createElement('a'); a.href = '/other.html'; a.target = '_blank'; document.body.append(a); a.click()"),
			"refused another window, for https://www.page.test/other.html", ""},
		{"event source", late("new EventSource('/events')"), "", ""},
		{"written over", late("document.write('<p>Written<img src=/dot.png?other>')"), "", ""},
		{"asks without end", late("setInterval(() => fetch('/again.json?' + performance.now()), 5)"), "again.json: the page asks for it again and again", "/again.json"},
		{"asks one after the other", late("const ask = () => fetch('/again.json').then((r) => r.text()).then(ask); ask(); ask(); ask(); ask()"), "again.json: the page asks for it again and again", "/again.json"},
		{"a worker asks without end", late("new Worker('/worker.js')"), "again.json: the page asks for it again and again", "/again.json"},
		{"an answer that is not read", late("fetch('/again.json').then((r) => { window.kept = r })"), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := b.load(t, row(t, "https/1.1"), endless(t, c.page), b.open(t), 20*time.Second)
			browsertest.CheckEnding(t, l, c.note, c.unawaited)
		})
	}
}

// TestWhatIsNotWaitedForHasNoPartInPLT checks that a page with endless requests counts as
// loaded at its last new resource, however long it was watched.
func TestWhatIsNotWaitedForHasNoPartInPLT(t *testing.T) {
	b := newBench(t, Options{})
	// On a busy machine the browser may pause between two requests for so long that the page counts as quiet.
	for range 5 {
		l := b.load(t, row(t, "https/1.1"), endless(t, late("setInterval(() => fetch('/again.json?' + performance.now()), 5)")), b.open(t), 20*time.Second)
		last, want := time.Time{}, time.Time{}
		for _, e := range l.HAR.Log.Entries {
			if end := e.End(); end.After(last) {
				last = end
			}
			if end := e.End(); e.Unawaited == "" && end.After(want) {
				want = end
			}
		}
		for _, m := range metric.Pages().Metrics {
			if got, _ := m.Of(l); m.Name == "plt" && time.Duration(got*1e6)-want.Sub(time.Unix(0, l.Timing.NavigationStart)) != 0 {
				t.Errorf("PLT is %v ms, the last resource that counts arrived at %v", got, want)
			}
		}
		if last.Sub(want) >= time.Second { // a quarter of the load's time limit, less what it had used
			return
		}
	}
	t.Error("none of five pages was watched for a second after its last resource")
}

// TestRequestThatIsNotAnswered makes a request after the load event: the load ends without
// it, and is invalid because of it.
func TestRequestThatIsNotAnswered(t *testing.T) {
	b := newBench(t, Options{})
	record, packets := b.runWaiting(t, row(t, "https/1.1"), endless(t, late("fetch('/slow.html')")), b.open(t), 20*time.Second)
	must(t, record.LoadError)
	got := metric.Pages().Violations(&evidence.Evidence{Protocol: "https/1.1", HAR: record.HAR, Server: record.Server, Packets: packets, Timing: record.Timing})
	want := study.Violation{Rule: 4, Detail: "the browser did not get 1 resource: GET https://www.page.test/slow.html (no response when the load ended)"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPagesThatCannotBeLoaded fails with what the page was waiting for.
func TestPagesThatCannotBeLoaded(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, Options{})
	for _, c := range []struct{ name, page, want string }{
		{"a frame that is not answered", "<!DOCTYPE html><p>Hello<iframe src=/slow.html></iframe>",
			"had not loaded after 10s, the study's timeout: its load event had not fired; under way: GET https://www.page.test/slow.html (not answered)"},
		{"a script without end", late("for (;;);"), "no request was under way: a script of the page may run without end"},
		{"a page that is a download", "", "net::ERR_ABORTED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := endless(t, c.page)
			if c.page == "" {
				page.Page = "https://www.page.test/file.zip"
			}
			record, _ := b.runWaiting(t, row(t, "https/1.1"), page, b.open(t), 10*time.Second)
			if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), c.want) {
				t.Errorf("the error is %v, want %q", record.LoadError, c.want)
			}
		})
	}
}

// TestPageThatLoadsItselfAgain expects a page that reloads itself to be given up after some documents. It awaits a request
// that the page never makes, so that a document that is slow to come, on a busy machine, does not count as none.
func TestPageThatLoadsItselfAgain(t *testing.T) {
	b := newBench(t, Options{})
	visit := b.open(t)
	visit.Await([]browser.Awaited{{URL: "https://www.page.test/never.png", Initiator: "https://www.page.test/", Delay: time.Minute}})
	again := endless(t, "<!DOCTYPE html><script>addEventListener('load', () => location.reload())</script>")
	record, _ := b.run(t, row(t, "https/1.1"), again, visit, 2*time.Minute)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "without end: 21 so far, the last of them https://www.page.test/") {
		t.Errorf("the error is %v", record.LoadError)
	}
}

// TestAnswerOfWhoseEndTheBrowserSaysNothing checks that such a response ends when all its
// octets have arrived, and no sooner.
func TestAnswerOfWhoseEndTheBrowserSaysNothing(t *testing.T) {
	answer := func(id string, fields network.Headers) *network.EventResponseReceived {
		e := responded(id, nil)
		e.Timestamp, e.Response.Headers, e.Response.EncodedDataLength = cdp.MonotonicTime(10.1), fields, 200
		return e
	}
	data := &network.EventDataReceived{RequestID: "1", Timestamp: cdp.MonotonicTime(10.2), DataLength: 35, EncodedDataLength: 35}
	for _, c := range []struct {
		name   string
		fields network.Headers
		data   bool
		whole  int
	}{
		{"all of it", network.Headers{"Content-Length": "35"}, true, 1},
		{"none", network.Headers{"Content-Length": "35"}, false, 0},
		{"a part", network.Headers{"Content-Length": "36"}, true, 0},
		{"nobody knows", network.Headers{}, true, 0},
		{"with a content coding", network.Headers{"Content-Length": "35", "Content-Encoding": "gzip"}, true, 0},
		{"nothing to come", network.Headers{"Content-Length": "0"}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := logOf(sent("1", "https://www.page.test/hit.gif", 10), answer("1", c.fields))
			if c.data {
				l.note("", data)
			}
			if n, whole := l.underWay(); n != 1 || whole != (c.whole == 1) {
				t.Errorf("%d requests are under way, all of them whole: %t; want 1 and %t", n, whole, c.whole == 1)
			}
			l.loaded = 1
			l.close(true)
			e := l.har("", capture.Timing{}, offset).Log.Entries[0]
			if whole := e.Unawaited == ""; whole != (c.whole == 1) || e.Response.Error != "" {
				t.Errorf("the entry is %+v", e)
			}
			if c.data && c.whole == 1 && (fmt.Sprintf("%.1f", e.Time) != "200.0" || e.Response.TransferSize != 235) {
				t.Errorf("the request took %v ms and %d octets, want 200 and 235", e.Time, e.Response.TransferSize)
			}
			if comment := l.notes.String(); !strings.Contains(comment, "hit.gif") || c.whole == 0 && !strings.Contains(comment, browser.NeverEnded) {
				t.Errorf("the notes are %q", comment)
			}
		})
	}
}
