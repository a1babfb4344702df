package browsertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/loader/browser"
	"wiretime/site"
)

// abuse is a page that does too much of something once it has loaded.
type abuse struct {
	name   string
	script string
	// fails is what the error of the load contains, if there is an error. A browser may be too slow to reach
	// the limit that the error is about before the load's time is over.
	fails string
}

// abuses are ways to take more of a browser than a page needs.
var abuses = []abuse{
	// windows
	{name: "windows", script: `for (let i = 0; i < 200; i++) open('/other.html?' + i)`},
	{name: "windows without an opener", script: `for (let i = 0; i < 200; i++) open('/other.html?' + i, '_blank', 'noopener,popup')`},
	{name: "links to new windows", script: `for (let i = 0; i < 200; i++) Object.assign(document.createElement('a'), {href: '/other.html?' + i, target: '_blank', rel: 'noopener'}).click()`},
	{name: "forms to new windows", script: `for (let i = 0; i < 100; i++) { const f = Object.assign(document.createElement('form'), {action: '/other.html?' + i, target: '_blank'}); document.body.append(f); f.submit() }`},
	// downloads
	{name: "downloads", script: `for (let i = 0; i < 50; i++) for (const href of ['/file.zip?' + i, URL.createObjectURL(new Blob(['` + download + `']))]) Object.assign(document.createElement('a'), {href, download: i + '.zip'}).click()`},
	{name: "a download by navigation", script: `location = '/file.zip'`},
	{name: "downloads in frames", script: `for (let i = 0; i < 100; i++) frame({src: '/file.zip?' + i})`},
	// workers
	{name: "workers", fails: "frames and workers", script: `each(3000, () => new Worker('/worker.js'), 20)`},
	{name: "nested workers", fails: "frames and workers", script: `const source = 'onmessage = (e) => { for (let i = 0; i < 2; i++) new Worker(e.data).postMessage(e.data) }'; const url = blob(source); new Worker(url).postMessage(url)`},
	{name: "shared workers", fails: "frames and workers", script: `each(2000, (i) => new SharedWorker('/worker.js', 'n' + i), 20)`},
	{name: "service workers", script: `for (let i = 0; i < 200; i++) navigator.serviceWorker.register('/worker.js', {scope: '/s' + i + '/'}).catch(() => 0)`},
	// requests
	{name: "requests", fails: "requests", script: `each(100000, (i) => fetch('/' + i).catch(() => 0))`},
	{name: "images", fails: "requests", script: `each(100000, (i) => { new Image().src = '/image' + i })`},
	{name: "images of data URLs", script: `each(100000, (i) => { new Image().src = 'data:image/svg+xml,<svg id="' + i + '"/>' })`},
	{name: "blob URLs", script: `each(100000, (i) => fetch(blob('' + i)).catch(() => 0))`},
	{name: "long URLs", fails: "octets", script: `const long = 'x'.repeat(1e6); const more = (i) => { fetch('/' + i + long).catch(() => 0); setTimeout(more, 0, i + 1) }; more(0)`},
	{name: "large posts", script: `const body = 'x'.repeat(1e8); for (let i = 0; i < 5; i++) fetch('/hit.png?' + i, {method: 'POST', body}).catch(() => 0)`},
	{name: "WebSockets", script: `for (let i = 0; i < 3000; i++) new WebSocket('wss://' + location.host + '/again.json?' + i)`},
	{name: "event sources", script: `for (let i = 0; i < 1000; i++) new EventSource('/again.json?' + i)`},
	{name: "beacons", script: `for (let i = 0; i < 5000; i++) navigator.sendBeacon('/hit.png?' + i, 'x')`},
	{name: "WebRTC", script: `for (let i = 0; i < 400; i++) { const c = new RTCPeerConnection({iceServers: [{urls: 'stun:www.page.test:3478'}]}); c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o)) }`},
	{name: "WebTransport", script: `for (let i = 0; i < 500; i++) new WebTransport('https://www.page.test/' + i).ready.catch(() => 0)`},
	// navigations
	{name: "goes elsewhere for ever", fails: "without end", script: `location.href = '/?' + Math.random()`},
	{name: "refreshes for ever", fails: "without end", script: `document.head.append(Object.assign(document.createElement('meta'), {httpEquiv: 'refresh', content: '0'}))`},
	{name: "history", script: `for (let i = 0; i < 100000; i++) try { history.pushState(i, '', '/?' + i) } catch {}`},
	{name: "fragments", script: `for (let i = 0; i < 100000; i++) try { location.hash = i } catch {}`},
	{name: "frames that go elsewhere for ever", script: `for (let i = 0; i < 20; i++) { const f = frame({src: '/other.html'}); f.onload = () => { f.src = '/other.html?' + Math.random() } }`},
	{name: "frames in frames", script: `let n = 0; const grow = (d) => { for (let i = 0; i < 3 && n < 3000; i++, n++) { const f = d.createElement('iframe'); d.body.append(f); setTimeout(() => grow(f.contentDocument)) } }; grow(document)`},
	{name: "frames that come and go", script: `setInterval(() => { for (let i = 0; i < 100; i++) frame({src: '/other.html?' + Math.random()}).remove() })`},
	// a visitor's attention
	{name: "console", script: `const text = 'x'.repeat(1e4); for (let i = 0; i < 50000; i++) console.error(text + i)`},
	{name: "alerts without end", script: `setTimeout(() => { for (;;) alert('x'.repeat(1e5)) })`},
	{name: "prints without end", script: `setInterval(print)`},
	{name: "permissions", script: `for (let i = 0; i < 500; i++) { navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission(); navigator.mediaDevices?.getUserMedia({audio: true}).catch(() => 0); document.body.requestFullscreen().catch(() => 0); document.body.requestPointerLock(); document.createElement('input').showPicker?.call(Object.assign(document.createElement('input'), {type: 'text'})); Object.assign(document.createElement('input'), {type: 'file'}).click() }`},
	// what the machine has
	{name: "a script without end", script: `setTimeout(() => { for (;;); })`},
	{name: "storage", script: `const chunk = new Uint8Array(1e7); (async () => { const c = await caches.open('x'); for (let i = 0; i < 50; i++) await c.put('/' + i, new Response(chunk)) })(); const r = indexedDB.open('x'); r.onupgradeneeded = () => r.result.createObjectStore('s'); r.onsuccess = () => { for (let i = 0; i < 50; i++) r.result.transaction('s', 'readwrite').objectStore('s').put(new Blob([chunk]), i) }`},
	{name: "memory", script: `const all = []; const more = () => { for (let i = 0; i < 10; i++) all.push(new Array(1e7).fill(Math.random())); setTimeout(more) }; more()`},
	{name: "addresses that crash browsers", script: `for (const a of ['chrome://crash', 'chrome://kill', 'chrome://hang', 'about:crashparent', 'about:crashcontent', 'view-source:about:blank', 'file:///etc/passwd', 'javascript:0']) { frame({src: a}); try { location = a } catch {} }`},
}

// download is what the downloads of abuses contain.
const download = "wiretime-test-download"

// longEnough is the time limit of a page's load.
const longEnough = 5 * time.Second

// CheckAbuses loads pages that do too much of something, and after each an ordinary one. The first ends with a
// bounded HAR or an error, the second as always. Nothing of what was downloaded is in the browser's folder.
// load loads a site in a browser that it starts anew if the last one has died.
func CheckAbuses(t *testing.T, load func(t *testing.T, s *site.Site, timeout time.Duration) (har *capture.HAR, folder string, err error)) {
	for _, a := range abuses {
		t.Run(a.name, func(t *testing.T) {
			har, folder, err := load(t, hostile(t, a.script), longEnough)
			t.Logf("%d requests, error: %.300v", len(har.Log.Entries), err)
			if n := len(har.Log.Entries); n == 0 || n > browser.MaxRequests {
				t.Errorf("%d requests are recorded, want 1 to %d", n, browser.MaxRequests)
			}
			if err != nil && !ended(err, a.fails) {
				t.Errorf("the load failed: %v; want nothing but its timeout, or %q", err, a.fails)
			}
			if har, _, err := load(t, hostile(t, ""), 8*longEnough); err != nil || len(har.Log.Entries) != 2 {
				t.Errorf("the next load has %d requests, want 2, and fails with %v", len(har.Log.Entries), err)
			}
			checkNothingDownloaded(t, folder)
		})
	}
}

// ended reports whether a load ran out of time, lost its page while it asked for its times, or failed as it should.
func ended(err error, fails string) bool {
	return strings.Contains(err.Error(), "the study's timeout") || strings.Contains(err.Error(), "read the page's timing") || fails != "" && strings.Contains(err.Error(), fails)
}

func checkNothingDownloaded(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // the browser removes files meanwhile
		}
		if text, err := os.ReadFile(name); err == nil && string(text) == download {
			t.Errorf("the browser has downloaded %s", name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// hostile returns a site with a page that runs a script once it has loaded.
func hostile(t *testing.T, script string) *site.Site {
	t.Helper()
	page := `<!DOCTYPE html><title>Hostile</title><p>Hello<img src=/dot.png><script>
const blob = (text) => URL.createObjectURL(new Blob([text]));
const frame = (o) => document.body.appendChild(Object.assign(document.createElement('iframe'), o));
const each = (n, f, step = 500) => { const some = (i) => { for (const end = i + step; i < end && i < n; i++) f(i); if (i < n) setTimeout(some, 0, i) }; some(0) };
addEventListener('load', () => { ` + script + ` });</script>`
	s := site.Site{Name: "page", Page: "https://www.page.test/"}
	bodies := map[string][]byte{}
	for _, r := range []struct{ method, path, kind, body string }{
		{"GET", "/", "text/html", page}, {"GET", "/dot.png", "image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"},
		{"GET", "/other.html", "text/html", "<p>Other"}, {"GET", "/again.json", "application/json", "{}"}, {"POST", "/hit.png", "image/png", ""},
		{"GET", "/file.zip", "application/zip", download}, {"GET", "/worker.js", "text/javascript", "setInterval(() => 0, 1000)"},
	} {
		made := site.Resource{Method: r.method, URL: "https://www.page.test" + r.path, Status: 200, Body: site.Hash([]byte(r.body)),
			Header: []site.Header{{Name: "content-type", Value: r.kind}}}
		bodies[made.Body] = []byte(r.body)
		s.Resources = append(s.Resources, made)
	}
	made, err := site.New(s, bodies)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
