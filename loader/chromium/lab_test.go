package chromium

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/sandbox/sandboxtest"
	"wiretime/site"
	"wiretime/workload/pageload"
)

func TestMain(m *testing.M) { labtest.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func needChromium(t *testing.T) string {
	t.Helper()
	binary, err := Find("")
	if err != nil && os.Getenv("WIRETIME_NEED_PEERS") != "1" {
		t.Skip(err)
	}
	must(t, err)
	return binary
}

// bench is a lab with a browser in it.
type bench struct {
	lab       *lab.Lab
	authority *protocol.Authority
	browser   *Browser
}

// newBench starts a browser in its own lab, with extra switches.
func newBench(t *testing.T, o Options, switches ...string) *bench {
	t.Helper()
	o.Binary, o.Contained = needChromium(t), true
	l := labtest.New(t, labtest.Config(1))
	b := &bench{lab: l}
	var err error
	b.authority, err = protocol.OpenAuthority(t.TempDir())
	must(t, err)
	if o.SPKIHash = b.authority.SPKIHash(); o.Folder == "" {
		o.Folder = sandboxtest.Folder(t)
	}
	o.Enter = func(c *exec.Cmd) {
		c.Args = append(c.Args, switches...)
		l.Client().Command(c)
	}
	b.browser, err = Launch(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, b.browser.Close()) })
	return b
}

// restart starts another browser if the last one has died.
func (b *bench) restart(t *testing.T) {
	t.Helper()
	if b.browser.Alive() {
		return
	}
	o := b.browser.options
	must(t, b.browser.Close())
	must(t, os.Mkdir(o.Folder, 0o700))
	var err error
	b.browser, err = Launch(t.Context(), o)
	must(t, err)
}

func (b *bench) open(t *testing.T) *Visit {
	t.Helper()
	v, err := b.browser.Open(t.Context(), nil)
	must(t, err)
	return v
}

// patience is how long a page that should load may take.
const patience = 30 * time.Second

// load loads a page over a path of 10 ms.
func (b *bench) load(t *testing.T, p protocol.Protocol, s *site.Site, v pageload.Session, timeout time.Duration) *evidence.Evidence {
	t.Helper()
	record, packets := b.run(t, p, s, v, timeout)
	must(t, record.LoadError)
	return &evidence.Evidence{Protocol: p.Name, HAR: record.HAR, Server: record.Server, Packets: packets, Timing: record.Timing, ServerLost: record.ServerLost}
}

func (b *bench) run(t *testing.T, p protocol.Protocol, s *site.Site, v pageload.Session, timeout time.Duration) (*pageload.Record, *capture.Packets) {
	t.Helper()
	return b.runServed(t, p, s, v, timeout, false)
}

// runWaiting makes responses wait as long as the site says.
func (b *bench) runWaiting(t *testing.T, p protocol.Protocol, s *site.Site, v pageload.Session, timeout time.Duration) (*pageload.Record, *capture.Packets) {
	t.Helper()
	return b.runServed(t, p, s, v, timeout, true)
}

func (b *bench) runServed(t *testing.T, p protocol.Protocol, s *site.Site, v pageload.Session, timeout time.Duration, wait bool) (*pageload.Record, *capture.Packets) {
	t.Helper()
	dir := t.TempDir()
	link := network.Link{Rate: 20_000_000, Delay: 5 * time.Millisecond, Queue: network.Queue{Bytes: 256 << 10}}
	record, err := pageload.Run(t.Context(), b.lab, pageload.Load{Order: pageload.Order{
		Path: network.Path{Name: "test", Access: []network.Access{{Name: "access", Up: link, Down: link}}}, Seed: 1,
		TCP: lab.TCPOptions{Congestion: "cubic", InitCwnd: 10}, Protocol: p.Name,
		ServerWait: wait, Timeout: timeout, ThinkTime: time.Second, Comment: t.Name(),
	}, Site: s, Authority: b.authority, Session: v, Dir: dir})
	must(t, err)
	return record, labtest.ReadCapture(t, dir)
}

func row(t *testing.T, name string) protocol.Protocol {
	t.Helper()
	p, err := protocol.Lookup(name)
	must(t, err)
	return p
}

// pageHost is the host of the tests' pages.
const pageHost = "www.page.test"

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".png": "image/png",
}

// archive builds a site from bodies by method and URL, such as "GET
// https://www.page.test/". Bodies that begin with a number are responses with that
// status, followed by a location.
func archive(t *testing.T, responses map[string]string) *site.Site {
	t.Helper()
	s := site.Site{Name: "page", Page: "https://" + pageHost + "/"}
	bodies := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(responses)) {
		method, url, _ := strings.Cut(name, " ")
		text := responses[name]
		r := site.Resource{Method: method, URL: url, Status: 200, Header: []site.Header{
			{Name: "access-control-allow-origin", Value: "*"}, {Name: "access-control-allow-headers", Value: "*"}, {Name: "access-control-allow-methods", Value: "*"},
			{Name: "cache-control", Value: "max-age=600"},
		}}
		plain, _, _ := strings.Cut(url, "?")
		kind := cmp.Or(types[path.Ext(plain)], types[".html"])
		r.Header = append(r.Header, site.Header{Name: "content-type", Value: kind})
		var to string
		if n, _ := fmt.Sscanf(text, "%d %s", &r.Status, &to); n > 0 {
			text = ""
		}
		if to != "" {
			r.Header = append(r.Header, site.Header{Name: "location", Value: to})
		}
		r.Body = site.Hash([]byte(text))
		bodies[r.Body] = []byte(text)
		s.Resources = append(s.Resources, r)
	}
	made, err := site.New(s, bodies)
	must(t, err)
	return made
}

// png is an image of one pixel.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55" +
	"\x00\x00\x00\nIDATx\x9cc\x60\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB\x60\x82"

// patient returns a script that delays the load event, like a document being written in a
// frame. It runs as an asynchronous function.
func patient(script string) string {
	return `<body><script>
		const written = document.body.appendChild(document.createElement('iframe')).contentDocument;
		written.open();
		(async () => {` + script + `
			written.close();
		})();
	</script>`
}

// company returns a page that makes requests in every possible way: by nested frames of
// other sites, by workers of all kinds, by beacons, preflights and prefetches. Its load
// event waits until all have received their responses. No frame is within the service
// worker's scope: a second later the browser would request the worker's script again
// without reporting it.
func company(t *testing.T) *site.Site {
	page := archive(t, map[string]string{
		"GET https://www.page.test/": "",
		"GET https://www.page.test/app/": `<!DOCTYPE html><title>Company</title><link rel=prefetch href=/next.html>
			<img src=/dot.png><iframe src=https://frame.other.test/one.html></iframe><iframe src=/moved></iframe>
			<iframe src=https://frame.other.test/away.html></iframe>` + patient(`
				const heard = (w) => new Promise((done) => { w.onmessage = done; });
				const asked = [fetch('https://api.other.test/put.json', {method: 'PUT', headers: {'x-extra': '1'}, body: 'x'}), fetch('/none?read').then((r) => r.text()), fetch('/none'),
					fetch('/keep.json', {keepalive: true, method: 'POST', body: 'x'}), fetch('/dot.png')];
				navigator.sendBeacon('/beacon', 'x');
				asked.push(heard(new Worker('/worker.js')), heard(new Worker('/module.js', {type: 'module'})));
				const shared = new SharedWorker('/shared.js');
				asked.push(heard(shared.port));
				asked.push(new OfflineAudioContext(1, 100, 44100).audioWorklet.addModule('/worklet.js'));
				const controlled = new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done; });
				await navigator.serviceWorker.register('/app/service.js');
				await controlled;
				await Promise.all(asked);
				await Promise.all([fetch('/app/through.json'), fetch('/app/made.json'), fetch('/app/past.json')]);`),
		"GET https://frame.other.test/away.html":        "<script>location = 'https://www.page.test/home.html'</script>",
		"GET https://www.page.test/home.html":           "<img src=/dot.png?home>",
		"GET https://www.page.test/dot.png?home":        png,
		"GET https://www.page.test/moved":               "302 https://deep.third.test/two.html?moved",
		"GET https://www.page.test/dot.png":             png,
		"GET https://www.page.test/next.html":           "<p>Next",
		"GET https://www.page.test/none":                "204",
		"GET https://www.page.test/none?read":           "204",
		"POST https://www.page.test/keep.json":          "{}",
		"POST https://www.page.test/beacon":             "204",
		"GET https://www.page.test/worker.js":           `importScripts('/imported.js'); fetch('/worker.json').then(() => { new Worker('/inner.js').onmessage = () => postMessage(1); });`,
		"GET https://www.page.test/inner.js":            `fetch('/inner.json').then((r) => r.text()).then(() => { postMessage(1); close(); })`,
		"GET https://www.page.test/inner.json":          "{}",
		"GET https://www.page.test/imported.js":         "self.imported = 1",
		"GET https://www.page.test/worker.json":         "{}",
		"GET https://www.page.test/module.js":           `import '/imported.js?module'; fetch('/module.json').then((r) => r.text()).then(() => postMessage(1))`,
		"GET https://www.page.test/imported.js?module":  "self.imported = 1",
		"GET https://www.page.test/module.json":         "{}",
		"GET https://www.page.test/shared.js":           `onconnect = (e) => fetch('/shared.json').then((r) => r.text()).then(() => e.ports[0].postMessage(1))`,
		"GET https://www.page.test/shared.json":         "{}",
		"GET https://www.page.test/worklet.js":          "import '/imported.js?worklet'",
		"GET https://www.page.test/imported.js?worklet": "globalThis.imported = 1",
		"GET https://www.page.test/app/service.js": `importScripts('/imported.js?service');
			oninstall = (e) => e.waitUntil(fetch('/install.json').then(() => skipWaiting()));
			onactivate = (e) => e.waitUntil(clients.claim());
			onfetch = (e) => {
				if (e.request.url.includes('through')) e.respondWith(fetch(e.request));
				if (e.request.url.includes('made')) e.respondWith(new Response('{}'));
			}`,
		"GET https://www.page.test/imported.js?service": "self.imported = 1",
		"GET https://www.page.test/install.json":        "{}",
		"GET https://www.page.test/app/through.json":    "{}",
		"GET https://www.page.test/app/past.json":       "{}",
		"OPTIONS https://api.other.test/put.json":       "204",
		"PUT https://api.other.test/put.json":           "{}",
		"GET https://frame.other.test/one.html": `<img src=/dot.png><img src=https://www.page.test/dot.png?again>
			<iframe src=https://deep.third.test/two.html></iframe><script src=/one.js></script><script>fetch('/one.json'); new Worker('/worker.js')</script>`,
		"GET https://frame.other.test/dot.png":       png,
		"GET https://frame.other.test/one.js":        "document.body.append(Object.assign(document.createElement('iframe'), {srcdoc: '<img src=/late.png>'}))",
		"GET https://frame.other.test/late.png":      png,
		"GET https://frame.other.test/one.json":      "{}",
		"GET https://frame.other.test/worker.js":     "fetch('/worker.json')",
		"GET https://frame.other.test/worker.json":   "{}",
		"GET https://www.page.test/dot.png?again":    png,
		"GET https://deep.third.test/two.html":       `<img src=/dot.png?two><iframe src=https://www.page.test/three.html></iframe>`,
		"GET https://deep.third.test/dot.png?two":    png,
		"GET https://deep.third.test/two.html?moved": `<link rel=stylesheet href=/two.css><p>Moved`,
		"GET https://deep.third.test/two.css":        "p { background: url(/dot.png?css) }",
		"GET https://deep.third.test/dot.png?css":    png,
		"GET https://www.page.test/three.html":       `<img src=/dot.png?three>`,
		"GET https://www.page.test/dot.png?three":    png,
	})
	page.Page = "https://www.page.test/app/"
	return page
}

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
