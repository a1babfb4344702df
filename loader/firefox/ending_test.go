package firefox

import (
	"path"
	"strings"
	"testing"
	"time"

	"wiretime/evidence"
	"wiretime/loader/browser"
	"wiretime/loader/browser/browsertest"
	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/site"
)

// endless returns a site with a page and resources that keep other pages from
// ending.
func endless(t *testing.T, page string) *site.Site {
	t.Helper()
	text := site.Hash([]byte(page))
	s := site.Site{Name: "page", Page: "https://www.page.test/"}
	bodies := map[string][]byte{text: []byte(page)}
	for _, r := range []struct{ method, path, kind, body string }{
		{"GET", "/", "text/html; charset=utf-8", page}, {"GET", "/dot.png", "image/png", pngHead}, {"GET", "/other.html", "text/html", "<p>Other"},
		{"GET", "/again.json", "application/json", "{}"}, {"POST", "/hit.png", "image/png", pngHead},
		{"GET", "/file.zip", "application/zip", "PK"}, {"GET", "/events", "text/event-stream", "data: x\n\n"}, {"GET", "/slow.html", "text/html", "<p>Slow"},
	} {
		made := site.Resource{Method: r.method, URL: "https://www.page.test" + r.path, Status: 200, Body: site.Hash([]byte(r.body)),
			Header: []site.Header{{Name: "content-type", Value: r.kind}}}
		if path.Base(r.path) == "slow.html" {
			made.Wait = float64(time.Hour.Milliseconds())
		}
		bodies[made.Body] = []byte(r.body)
		s.Resources = append(s.Resources, made)
	}
	made, err := site.New(s, bodies)
	must(t, err)
	return made
}

// late returns a page that does something after its load event.
func late(script string) string {
	return `<!DOCTYPE html><title>Late</title><p>Hello<img src=/dot.png><script>addEventListener('load', () => setTimeout(() => { ` + script + ` }));</script>`
}

// attempts is how often a page is loaded that must be seen to go on. A page counts as loaded when
// nothing is under way for a moment, and on a busy machine the browser may take longer than that
// between two of the page's requests, or leave a document for the next before all of it has come.
const attempts = 5

// TestPagesThatDoNotEndByThemselves loads pages that go on or wait for a visitor. Each
// counts as loaded nevertheless, and its HAR says what was not waited for.
func TestPagesThatDoNotEndByThemselves(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, false)
	for _, c := range []struct {
		name, page string
		note       string // in the HAR's words; empty: there is none
		unawaited  string // the path that the load did not wait for
	}{
		{"keepalive", late("fetch('/hit.png', {method: 'POST', keepalive: true, body: 'x'})"), "", ""},
		{"no-cors", late("fetch('/hit.png', {method: 'POST', mode: 'no-cors', body: 'x'}).then((r) => { window.kept = r })"), "", ""},
		{"beacon", late("navigator.sendBeacon('/hit.png', 'x')"), "", ""},
		{"alert while parsing", "<!DOCTYPE html><script>alert('Hi')</script><p>Hello", `alert dialog "Hi" was answered with yes`, ""},
		{"confirm", "<!DOCTYPE html><script>if (!confirm('Sure?')) fetch('/again.json')</script>", `confirm dialog "Sure?" was answered with no`, ""},
		{"prompt", "<!DOCTYPE html><script>prompt('Name?')</script>", `prompt dialog "Name?" was answered with no`, ""},
		{"beforeunload", late("onbeforeunload = (e) => e.preventDefault(); location = '/other.html'"), "", ""},
		{"goes elsewhere while parsing", "<!DOCTYPE html><script>location = '/other.html'</script>", "", ""},
		{"print", late("print()"), "", ""},
		{"another window", late("open('/other.html')"), "", ""},
		{"event source", late("new EventSource('/events')"), "", ""},
		{"written over", late("document.write('<p>Written')"), "", ""},
		{"asks one after the other", late("const ask = () => fetch('/again.json?' + performance.now()).then((r) => r.text()).then(ask); ask(); ask(); ask(); ask()"), "again.json: the page asks for it again and again", "/again.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := row(t, "https/1.1")
			var l *evidence.Evidence
			for range attempts {
				r, packets := b.load(t, p, endless(t, c.page), fast, 40*time.Second)
				must(t, r.LoadError)
				l = &evidence.Evidence{Protocol: p.Name, HAR: r.HAR, Server: r.Server, Packets: packets, Timing: r.Timing}
				if strings.Contains(l.HAR.Log.Pages[0].Comment, c.note) && len(metric.Pages().Violations(l)) == 0 {
					break
				}
			}
			browsertest.CheckEnding(t, l, c.note, c.unawaited)
		})
	}
}

// TestPageThatLoadsItselfAgain expects a page that reloads itself to be given up after some documents. It awaits a request
// that the page never makes, so that a document that is slow to come, on a busy machine, does not count as none.
func TestPageThatLoadsItselfAgain(t *testing.T) {
	needtest.Long(t)
	b := newBench(t, false)
	visit, err := b.browser.Open(t.Context(), nil)
	must(t, err)
	visit.Await([]browser.Awaited{{URL: "https://www.page.test/never.png", Initiator: "https://www.page.test/", Delay: time.Minute}})
	again := endless(t, "<!DOCTYPE html><script>addEventListener('load', () => location.reload())</script>")
	record, _ := b.loadIn(t, visit, row(t, "https/1.1"), again, fast, 2*time.Minute)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "without end: 21 so far, the last of them https://www.page.test/") {
		t.Errorf("the error is %v", record.LoadError)
	}
}
