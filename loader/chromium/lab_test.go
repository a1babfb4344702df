package chromium

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/labtest"
	"wiretime/needtest"
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
	needtest.Program(t, "Chromium", err)
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
	restarted, err := Launch(t.Context(), o)
	must(t, err)
	b.browser = restarted
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
