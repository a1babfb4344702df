package chromium

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"wiretime/metric"
	"wiretime/needtest"
	"wiretime/sandbox/sandboxtest"
)

// TestEveryRequestIsSeen loads a page with company: the browser's report, the server's
// log and the packets agree, whether frames of other sites have their own processes or
// not, and each of the page's resources is requested once.
func TestEveryRequestIsSeen(t *testing.T) {
	page := company(t)
	var want []string
	for _, r := range page.Resources {
		if r.URL != "https://www.page.test/" {
			want = append(want, r.Method+" "+r.URL)
		}
	}
	for _, test := range []struct {
		row      string
		isolated bool
		frames   int
	}{{"h2", true, 4}, {"h2", false, 0}, {"https/1.1", true, 4}, {"h3", true, 4}} {
		t.Run(fmt.Sprintf("%s isolated %t", strings.ReplaceAll(test.row, "/", "-"), test.isolated), func(t *testing.T) {
			var o Options
			if test.row == "h3" {
				o.ForceQUIC = page.Origins()
			}
			var switches []string
			if test.isolated {
				switches = []string{"--site-per-process"}
			}
			b := newBench(t, o, switches...)
			for range 2 { // the second visit to the same browser starts cold
				v, kinds := b.open(t), map[string]int{}
				l := b.load(t, row(t, test.row), page, afterwards{v, func(context.Context) {
					v.mu.Lock()
					defer v.mu.Unlock()
					for _, target := range v.targets {
						kinds[target.Type]++
					}
				}}, patience)
				for _, violation := range metric.Pages().Violations(l) {
					t.Errorf("rule %d is broken: %s", violation.Rule, violation.Detail)
				}
				var got []string
				for _, e := range l.HAR.Log.Entries {
					if e.FromCache == "" {
						got = append(got, e.Request.Method+" "+e.Request.URL)
					}
					if e.Time <= 0 && e.FromCache == "" && e.Request.Method != "OPTIONS" { // its times are too coarse
						t.Errorf("%s took %v ms", e.Request.URL, e.Time)
					}
				}
				slices.Sort(got)
				if difference := gocmp.Diff(want, got); difference != "" {
					t.Errorf("the resources and what was fetched differ:\n%s", difference)
				}
				if kinds["iframe"] != test.frames || kinds["service_worker"] == 0 || kinds["shared_worker"] != 1 {
					t.Errorf("the page has the targets %v, want %d frames, a service worker and a shared one", kinds, test.frames)
				}
			}
		})
	}
}

// TestWebSocketsShakeHandsBeforeTheServersEyes loads a page with a WebSocket, which the
// lab's server rejects. A server with HTTP/2 only does not even get the request.
func TestWebSocketsShakeHandsBeforeTheServersEyes(t *testing.T) {
	page := archive(t, map[string]string{
		"GET https://www.page.test/": `<!DOCTYPE html><title>Socket</title>` + patient(`
			await new Promise((done) => { new WebSocket('/socket').onclose = done; });`),
		"GET https://www.page.test/socket": "404",
	})
	b := newBench(t, Options{})
	for name, want := range map[string]int{"http/1.1": 404, "https/1.1": 404, "h2": 0} {
		l := b.load(t, row(t, name), page, b.open(t), patience)
		for _, violation := range metric.Pages().Violations(l) {
			t.Errorf("%s: rule %d is broken: %s", name, violation.Rule, violation.Detail)
		}
		got := 0
		for _, e := range l.HAR.Log.Entries {
			if e.ResourceType == "websocket" {
				got = e.Response.Status
			}
		}
		if got != want || len(l.Server) != len(l.HAR.Log.Entries) {
			t.Errorf("%s: the WebSocket was answered with %d, want %d; the server saw %d requests, the browser %d", name, got, want, len(l.Server), len(l.HAR.Log.Entries))
		}
	}
}

// TestHostsThatChromiumUpgrades loads pages without TLS from an HSTS-preloaded host, and
// with resources from such hosts.
func TestHostsThatChromiumUpgrades(t *testing.T) {
	b := newBench(t, Options{})
	parts := archive(t, map[string]string{
		"GET https://www.page.test/": `<!DOCTYPE html><title>Parts</title><script src=//www.google-analytics.com/a.js></script>
			<iframe src=//www.paypal.com/></iframe><script>fetch('http://www.facebook.com/a.json')</script>`,
		"GET https://www.google-analytics.com/a.js": "self.a = 1",
		"GET https://www.paypal.com/":               "<img src=/dot.png>",
		"GET https://www.paypal.com/dot.png":        png,
		"GET https://www.facebook.com/a.json":       "{}",
	})
	l := b.load(t, row(t, "http/1.1"), parts, b.open(t), patience)
	for _, violation := range metric.Pages().Violations(l) {
		t.Errorf("rule %d is broken: %s", violation.Rule, violation.Detail)
	}
	if len(l.Server) != len(parts.Resources) {
		t.Errorf("the server saw %d requests, want %d", len(l.Server), len(parts.Resources))
	}

	page := archive(t, map[string]string{"GET https://www.page.test/": "", "GET https://www.paypal.com/": "<p>Hello"})
	page.Page = "https://www.paypal.com/"
	record, _ := b.run(t, row(t, "http/1.1"), page, b.open(t), patience)
	if err := record.LoadError; err == nil || !strings.Contains(err.Error(), "www.paypal.com is HSTS-preloaded") || len(record.HAR.Log.Entries) > 1 {
		t.Errorf("the error is %v, the entries are %+v", err, record.HAR.Log.Entries)
	}
	b.load(t, row(t, "h2"), page, b.open(t), patience)
}

// TestFrameThatGoesAway removes a frame of another site while its image is in flight:
// nothing waits for it any longer.
func TestFrameThatGoesAway(t *testing.T) {
	needtest.Long(t)
	const octets = 40_000_000 // take 16 s
	page := archive(t, map[string]string{
		"GET https://www.page.test/": `<!DOCTYPE html><title>Frame</title><iframe src=https://frame.other.test/large.html></iframe>
			<script>onmessage = () => document.querySelector('iframe').remove();</script>`,
		"GET https://frame.other.test/large.html": `<img src=/large.png><script>parent.postMessage(1, '*')</script>`,
		"GET https://frame.other.test/large.png":  png + strings.Repeat("x", octets),
	})
	for _, switches := range [][]string{nil, {"--site-per-process"}} {
		b := newBench(t, Options{}, switches...)
		l := b.load(t, row(t, "h2"), page, b.open(t), 10*time.Second)
		if image := l.HAR.Log.Entries[len(l.HAR.Log.Entries)-1]; image.Response.Error == "" || !strings.HasSuffix(image.Request.URL, ".png") {
			t.Errorf("with %v the last request is %+v", switches, image)
		}
	}
}

// TestNextPageLeavesFramesAndWorkersBehind visits two pages, the first of which has a
// frame and a worker that make endless requests.
func TestNextPageLeavesFramesAndWorkersBehind(t *testing.T) {
	const restless = "const ask = () => fetch('/again.json').finally(ask); ask();"
	page := archive(t, map[string]string{
		"GET https://www.page.test/": `<!DOCTYPE html><title>First</title><script>addEventListener('load', () => setTimeout(() => {
				document.body.append(Object.assign(document.createElement('iframe'), {src: 'https://frame.other.test/'}));
				new Worker('/worker.js');
			}, 500))</script><body>`, // after the page counts as loaded, and before the next one
		"GET https://www.page.test/worker.js":     restless,
		"GET https://www.page.test/again.json":    "{}",
		"GET https://frame.other.test/":           "<script>" + restless + "</script>",
		"GET https://frame.other.test/again.json": "{}",
		"GET https://www.page.test/second.html":   "<!DOCTYPE html><title>Second</title><img src=/dot.png><iframe src=https://frame.other.test/calm.html></iframe>",
		"GET https://www.page.test/dot.png":       png,
		"GET https://frame.other.test/calm.html":  "<img src=/calm.png>",
		"GET https://frame.other.test/calm.png":   png,
	})
	page.Journey = []string{"https://www.page.test/second.html"}
	b := newBench(t, Options{}, "--site-per-process")
	l := b.load(t, row(t, "h2"), page, b.open(t), patience)
	got := map[string]int{}
	for _, e := range l.HAR.Log.Entries {
		if e.Page == "page_2" {
			got[strings.TrimPrefix(e.Request.URL, "https://")]++
		}
	}
	want := map[string]int{"www.page.test/second.html": 1, "www.page.test/dot.png": 1, "frame.other.test/calm.html": 1, "frame.other.test/calm.png": 1}
	if !maps.Equal(got, want) {
		t.Errorf("the second page requested %v, want %v", got, want)
	}
}

// TestPageThatSpins loads a page whose script never ends. Its tab is closed nevertheless,
// and the browser serves the next load.
func TestPageThatSpins(t *testing.T) {
	b := newBench(t, Options{})
	spinning := archive(t, map[string]string{"GET https://www.page.test/": "<!DOCTYPE html><script>for (;;);</script>"})
	record, _ := b.run(t, row(t, "http/1.1"), spinning, b.open(t), 2*time.Second)
	if record.LoadError == nil || !strings.Contains(record.LoadError.Error(), "had not loaded after 2s") || len(record.HAR.Log.Entries) != 1 {
		t.Errorf("the error is %v, the entries are %+v", record.LoadError, record.HAR.Log.Entries)
	}
	if !b.browser.Alive() {
		t.Fatal("the browser counts as dead")
	}
	b.load(t, row(t, "http/1.1"), archive(t, map[string]string{"GET https://www.page.test/": "<p>Hello"}), b.open(t), patience)
}

// TestBrowserDies kills the browser's process in the middle of a visit.
func TestBrowserDies(t *testing.T) {
	b := newBench(t, Options{})
	v := b.open(t)
	must(t, syscall.Kill(b.browser.process.PID(), syscall.SIGKILL))
	_, _, err := v.Load(t.Context(), "http://"+pageHost+"/")
	if err == nil || !strings.Contains(err.Error(), "the browser died") {
		t.Errorf("the error is %v", err)
	}
	if b.browser.Alive() {
		t.Error("the browser counts as alive")
	}
	must(t, v.Close())
}

// TestBrowserThatCannotStart starts a program that is not a browser.
func TestBrowserThatCannotStart(t *testing.T) {
	folder := t.TempDir()
	_, err := Launch(t.Context(), Options{Binary: "/bin/false", Folder: folder, Enter: func(*exec.Cmd) {}})
	if err == nil || !strings.Contains(err.Error(), "start the browser /bin/false") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the profile is left behind: %v", err)
	}
}

// TestKeyLogHasTheSecretsOfEachConnection loads a page over TLS by TCP and by QUIC: the
// browser logs the same secrets as the server.
func TestKeyLogHasTheSecretsOfEachConnection(t *testing.T) {
	page := archive(t, map[string]string{"GET https://www.page.test/": "<img src=/dot.png>", "GET https://www.page.test/dot.png": png})
	for _, test := range []struct {
		row   string
		hosts []string
	}{{"https/1.1", nil}, {"h2", nil}, {"h3", page.Origins()}} {
		folder := sandboxtest.Folder(t)
		b := newBench(t, Options{ForceQUIC: test.hosts, Folder: folder, KeyLog: filepath.Join(folder, "keys")})
		l := b.load(t, row(t, test.row), page, b.open(t), patience)
		secrets := 0
		file, err := os.Open(filepath.Join(folder, "keys"))
		must(t, err)
		must(t, b.browser.Close()) // which removes the folder, but not what is open
		keys, err := io.ReadAll(file)
		must(t, err)
		must(t, file.Close())
		for line := range strings.Lines(string(l.Packets.Secrets)) {
			if strings.HasPrefix(line, "CLIENT_TRAFFIC_SECRET_0 ") {
				secrets++
				if !strings.Contains(string(keys), line) {
					t.Errorf("%s: the browser does not log %s", test.row, line)
				}
			}
		}
		if secrets == 0 {
			t.Errorf("%s: the server logs no secret", test.row)
		}
	}
}

// TestBrowserIsContained: all of a browser's processes are.
func TestBrowserIsContained(t *testing.T) {
	t.Setenv(sandboxtest.Secret, "1")
	b := newBench(t, Options{})
	page := archive(t, map[string]string{"GET https://www.page.test/": "<p>text"})
	b.load(t, row(t, "h2"), page, b.open(t), patience)
	sandboxtest.Check(t, b.browser.process.PID())
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", b.browser.process.PID()))
	must(t, err)
	for child := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(child)
		must(t, err)
		sandboxtest.Check(t, pid)
	}
}
