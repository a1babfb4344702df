package record_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/site"
	"wiretime/site/recording"

	"wiretime/site/record"
)

const (
	html  = "Content-Type: text/html; charset=utf-8"
	js    = "Content-Type: text/javascript"
	css   = "Content-Type: text/css"
	png   = "Content-Type: image/png"
	json  = "Content-Type: application/json"
	plain = "Content-Type: text/plain"
)

// octets returns n octets that are not text.
func octets(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i>>3 + i)
	}
	return string(b)
}

// picture returns a PNG image of one pixel, padded with n octets. Browsers abort what is
// not an image as soon as they see it, so only part of a large body would be recorded.
func picture(n int) string {
	chunk := func(kind, data string) string {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		b = append(append(b, kind...), data...)
		return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
	}
	return "\x89PNG\r\n\x1a\n" + chunk("IHDR", "\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00") + chunk("noIs", octets(n)) +
		chunk("IDAT", "\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01") + chunk("IEND", "")
}

// shopPage is a page with everything that a recorder must handle.
var shopPage = map[string]object{
	"GET http://shop.test/":      {status: 301, header: "Location: https://www.shop.test/"},
	"GET https://www.shop.test/": {status: 302, header: "Location: /start?from=home\nSet-Cookie: sid=verysecret; Path=/\nSet-Cookie: lang=en"},
	"GET https://www.shop.test/start?from=home": {header: html + "\nContent-Encoding: gzip\nSet-Cookie: cart=manysecrets; Path=/", body: `<!DOCTYPE html>
<title>Grüße</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="https://static.shop.test/style.css">
<script src="https://static.shop.test/app.js" defer></script>
<p class="text">Grüße</p><img src="https://img.shop.test/missing.png"><img src="https://nowhere.test/never.png">
<button id="agree" onclick="const s = document.createElement('script'); s.src = 'https://ads.other.test/late.js'; document.body.append(s)">I agree</button>
<iframe src="https://frame.other.test/widget"></iframe>
<div style="height: 9000px"></div>
<img src="https://img.shop.test/below.png" loading="lazy" width="10" height="10">`},
	"GET https://static.shop.test/style.css":  {header: css + "\nContent-Encoding: br", body: `@font-face { font-family: F; src: url(font.woff2); } .text { font-family: F; background: url("https://img.shop.test/back.png"); }`},
	"GET https://static.shop.test/font.woff2": {header: "Content-Type: font/woff2", body: octets(3000)},
	"GET https://static.shop.test/app.js": {header: js + "\nContent-Encoding: gzip", body: `fetch("https://api.shop.test/items.json").then(r => r.json()).then(() =>
	fetch("https://api.shop.test/seen", {method: "POST", headers: {"content-type": "application/json"}, body: "[1,2]"}));
new Worker("/worker.js");
new SharedWorker("/shared.js");
navigator.serviceWorker.register("/service.js");`},
	"GET https://www.shop.test/shared.js":      {header: js, body: `fetch("https://api.shop.test/shared.json")`},
	"GET https://api.shop.test/shared.json":    {header: json, body: `{"in": "a shared worker"}`},
	"GET https://www.shop.test/service.js":     {header: js, body: `oninstall = e => e.waitUntil(fetch("https://api.shop.test/service.json"))`},
	"GET https://api.shop.test/service.json":   {header: json, body: `{"in": "a service worker"}`},
	"GET https://api.shop.test/items.json":     {header: json + "\nContent-Encoding: br", body: `{"items": ["https://www.shop.test/1", "ü"]}`},
	"POST https://api.shop.test/seen":          {status: 201, header: json, body: `{"ok": true}`},
	"OPTIONS https://api.shop.test/seen":       {status: 204},
	"GET https://www.shop.test/worker.js":      {header: js, body: `fetch("https://api.shop.test/worker.json")`},
	"GET https://api.shop.test/worker.json":    {header: json, body: `{"in": "a worker"}`},
	"GET https://img.shop.test/back.png":       {header: png, body: picture(100_000)},
	"GET https://img.shop.test/below.png":      {header: png, body: octets(700)},
	"GET https://frame.other.test/widget":      {header: "Content-Type: text/html; charset=iso-8859-1", body: "<!DOCTYPE html><p>Gr\xfc\xdfe</p><link rel=stylesheet href=widget.css><link rel=stylesheet href=torn.css><script>fetch('/empty')</script>"},
	"GET https://frame.other.test/widget.css":  {header: css, body: "\xef\xbb\xbfp { color: red }"},
	"GET https://frame.other.test/torn.css":    {header: css, body: "/* no text: \xff\xfe\xc3 */"},
	"GET https://frame.other.test/empty":       {status: 204},
	"GET https://ads.other.test/late.js":       {header: js, body: `new Image().src = "https://ads.other.test/pixel.gif?r=1"`},
	"GET https://ads.other.test/pixel.gif?r=1": {header: "Content-Type: image/gif", body: octets(43)},
}

// TestRecordsAllThatWasServed records a page of seven origins with a frame, workers,
// redirects, codings and a script, and compares the resulting site with what was served.
func TestRecordsAllThatWasServed(t *testing.T) {
	s := startShop(t, shopPage)
	o := s.options(t, "http://shop.test/")
	o.Script = script(t, "click? #no-such-button\nclick #agree\nscroll bottom\neval fetch('https://api.shop.test/missing')\nwait 10ms")
	r, err := record.Record(t.Context(), o)
	must(t, err)
	made, repairs, err := r.Site("shop", recording.Options{})
	must(t, err)
	for _, repair := range repairs {
		t.Logf("%s: %s", repair.Where, repair.What)
	}
	if made.Page != "https://shop.test/" {
		t.Errorf("the page is %s", made.Page)
	}
	for key, o := range shopPage {
		if strings.HasPrefix(key, "OPTIONS") {
			continue
		}
		same(t, made, key, o)
	}
	for _, key := range []string{"GET https://img.shop.test/missing.png", "GET https://api.shop.test/missing"} {
		same(t, made, key, object{status: 404, header: plain, body: "There is no " + key})
	}
	if want := len(shopPage) - 1 + 2; len(made.Resources) != want {
		for _, r := range made.Resources {
			t.Log(r.Method, r.URL)
		}
		t.Errorf("%d resources, want %d", len(made.Resources), want)
	}
	checkExchanges(t, r)
	if !slices.ContainsFunc(repairs, func(r recording.Repair) bool {
		return strings.Contains(r.What, "net::ERR_NAME_NOT_RESOLVED") && strings.Contains(r.Where, "https://nowhere.test/never.png")
	}) {
		t.Error("no repair names the image with the unknown host")
	}
	for _, h := range made.Hosts {
		if h.Address != "127.0.0.1" || h.RTT <= 0 {
			t.Errorf("host %+v, want the address 127.0.0.1 and an RTT", h)
		}
	}
}

// same fails unless the site answers like the shop.
func same(t *testing.T, s *site.Site, key string, o object) {
	t.Helper()
	method, url, _ := strings.Cut(key, " ")
	r, ok := s.Lookup(method, url)
	if !ok {
		t.Errorf("the site lacks %s", key)
		return
	}
	content, err := s.Content(r)
	must(t, err)
	if string(content) != o.body {
		t.Errorf("%s has the content %.200q, want %.200q", key, content, o.body)
	}
	if r.Status != max(o.status, 200) {
		t.Errorf("%s has the status %d, want %d", key, r.Status, o.status)
	}
	for line := range strings.Lines(o.header) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "Set-Cookie" {
			name, after, _ := strings.Cut(want, "=")
			secret, attributes, _ := strings.Cut(after, ";")
			want = name + "=" + strings.Repeat("x", len(secret))
			if attributes != "" {
				want += ";" + attributes
			}
		}
		if !slices.ContainsFunc(r.Header, func(h site.Header) bool { return strings.EqualFold(h.Name, name) && h.Value == want }) {
			t.Errorf("%s lacks the field %s: %s among %q", key, name, want, r.Header)
		}
	}
}

// TestDoesWhatIsAsked checks that lazy content and content behind a click load only if a
// script scrolls or clicks.
func TestDoesWhatIsAsked(t *testing.T) {
	s := startShop(t, shopPage)
	_, err := record.Record(t.Context(), s.options(t, "https://www.shop.test/"))
	must(t, err)
	for key, want := range map[string]bool{
		"GET https://www.shop.test/start?from=home": true, "GET https://img.shop.test/back.png": true,
		"GET https://img.shop.test/below.png": false, "GET https://ads.other.test/late.js": false,
	} {
		if got := s.times(key) > 0; got != want {
			t.Errorf("%s was requested: %t", key, got)
		}
	}
}

// TestKeepsThePageThatWasLeft checks that a page's resources stay in the recording after a
// script has navigated to a page in another process.
func TestKeepsThePageThatWasLeft(t *testing.T) {
	page := map[string]object{
		"GET https://www.p.test/":      {header: html, body: `<link rel=icon href="data:,"><script src=/go.js></script>`},
		"GET https://www.p.test/go.js": {header: js, body: `location.replace("https://other.test/page")`},
		"GET https://other.test/page":  {header: html, body: `<link rel=icon href="data:,"><link rel=stylesheet href=s.css><script>new WebSocket("wss://other.test/talk"); alert("Hello")</script>`},
		"GET https://other.test/s.css": {header: css, body: "p { color: red }"},
	}
	s := startShop(t, page)
	r, err := record.Record(t.Context(), s.options(t, "https://www.p.test"))
	must(t, err)
	made, _, err := r.Site("left", recording.Options{})
	must(t, err)
	for key, o := range page {
		same(t, made, key, o)
	}
	if made.Page != "https://www.p.test/" {
		t.Errorf("the page is %s", made.Page)
	}
	if text := fmt.Sprint(r.Repairs); !strings.Contains(text, "wss://other.test/talk") {
		t.Errorf("no repair names the WebSocket: %s", text)
	}
}

// checkExchanges checks a recording's data about requests besides their content.
func checkExchanges(t *testing.T, r *recording.Recording) {
	t.Helper()
	at := map[string]recording.Exchange{}
	for i, x := range r.Exchanges {
		at[x.Method+" "+x.URL] = x
		if i > 0 && x.Started < r.Exchanges[i-1].Started {
			t.Errorf("%s began before the exchange before it", x.URL)
		}
		// The browser does not report when workers' scripts were initiated.
		worker := strings.HasPrefix(x.URL, "https://www.shop.test/s") && strings.HasSuffix(x.URL, ".js") || strings.HasSuffix(x.URL, "/worker.js")
		if x.Wait < 0 && !worker && x.Method != "OPTIONS" || x.Took < 0 || x.Transfer < 0 {
			t.Errorf("%s: wait %g, took %g, transfer %d", x.URL, x.Wait, x.Took, x.Transfer)
		}
	}
	for key, want := range map[string]struct{ initiator, how, kind string }{
		"GET http://shop.test/":                     {"", "other", "document"},
		"GET https://www.shop.test/start?from=home": {"", "other", "document"},
		"GET https://static.shop.test/style.css":    {"https://www.shop.test/start?from=home", "parser", "stylesheet"},
		"GET https://static.shop.test/font.woff2":   {"https://static.shop.test/style.css", "parser", "font"},
		"GET https://api.shop.test/items.json":      {"https://static.shop.test/app.js", "script", "fetch"},
		"POST https://api.shop.test/seen":           {"https://static.shop.test/app.js", "script", "fetch"},
		"GET https://frame.other.test/widget":       {"https://www.shop.test/start?from=home", "parser", "document"},
		"GET https://ads.other.test/late.js":        {"https://www.shop.test/start?from=home", "script", "script"},
		"GET https://ads.other.test/pixel.gif?r=1":  {"https://ads.other.test/late.js", "script", "image"},
	} {
		x, ok := at[key]
		if !ok || x.Initiator != want.initiator || x.InitiatorType != want.how || x.Kind != want.kind || x.Priority == "" {
			t.Errorf("%s: initiator %q, %s, kind %s, priority %q; want %+v", key, x.Initiator, x.InitiatorType, x.Kind, x.Priority, want)
		}
	}
	if x := at["POST https://api.shop.test/seen"]; x.Sent != 5 {
		t.Errorf("the POST request has %d octets, want 5", x.Sent)
	}
	if x := at["GET https://static.shop.test/app.js"]; x.Transfer >= x.Size || x.Encoded {
		t.Errorf("a coded script: transfer %d, size %d", x.Transfer, x.Size)
	}
	if r.Loaded <= 0 || time.Since(r.Began) > time.Hour {
		t.Errorf("began %v, loaded %g", r.Began, r.Loaded)
	}
}

// TestEndsAtItsLimit checks that a page that never becomes quiet, never loads, or whose
// script takes too long is recorded up to the limit.
func TestEndsAtItsLimit(t *testing.T) {
	needtest.Long(t)
	tests := []struct {
		name   string
		page   map[string]object
		script string
		says   []string
	}{
		{"long poll", map[string]object{"GET https://www.p.test/poll": {stays: true},
			"GET https://www.p.test/": {header: html, body: `<link rel=icon href="data:,"><script>onload = () => setTimeout(() => fetch("/poll"))</script>`}},
			"", []string{"still pending", "https://www.p.test/poll", "still pending when"}},
		{"answer without end", map[string]object{"GET https://www.p.test/poll": {header: plain, body: "a beginning", stays: true},
			"GET https://www.p.test/": {header: html, body: `<link rel=icon href="data:,"><script>onload = () => setTimeout(() => fetch("/poll"))</script>`}},
			"", []string{"still pending", "https://www.p.test/poll", "incomplete"}},
		{"never loaded", map[string]object{"GET https://www.p.test/img.png": {stays: true},
			"GET https://www.p.test/": {header: html, body: `<link rel=icon href="data:,"><img src=img.png>`}},
			"", []string{"load event", "img.png"}},
		{"long script", map[string]object{"GET https://www.p.test/": {header: html, body: `<link rel=icon href="data:,">`}},
			"wait 1h", []string{"steps.txt:1:1", "wait"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startShop(t, test.page)
			o := s.options(t, "https://www.p.test/")
			o.Limit = 2 * time.Second
			o.Script = script(t, test.script)
			r, err := record.Record(t.Context(), o)
			must(t, err)
			text := fmt.Sprint(r.Repairs)
			for _, word := range append(test.says, "timed out after 2s") {
				if !strings.Contains(text, word) {
					t.Errorf("no repair says %q: %s", word, text)
				}
			}
			if len(r.Exchanges) == 0 || r.Exchanges[0].URL != "https://www.p.test/" || !r.Exchanges[0].HasBody {
				t.Errorf("the page is not in the recording: %+v", r.Exchanges)
			}
		})
	}
}

// TestEndsWhenItIsFull checks that a page that requests without end is recorded up to the limits of requests and bodies,
// and that a repair says how to raise them.
func TestEndsWhenItIsFull(t *testing.T) {
	s := startShop(t, map[string]object{
		"GET https://www.p.test/": {header: html, body: `<link rel=icon href="data:,"><script>let n = 0; const ask = () => fetch("/large?" + n++).then((r) => r.text()).then(ask); onload = ask; fetch("/large")</script>`},
	})
	for _, test := range []struct {
		name   string
		change func(*record.Options)
		says   string
	}{
		{"requests", func(o *record.Options) { o.MaxRequests = 20 }, "since the page made 20 requests (record more with --max-requests): kept what was there"},
		{"bodies", func(o *record.Options) { o.MaxSize = 1000 }, "since the page's bodies have more than 1000 octets (record more with --max-size): kept what was there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := s.options(t, "https://www.p.test/")
			test.change(&o)
			r, err := record.Record(t.Context(), o)
			must(t, err)
			if text := fmt.Sprint(r.Repairs); !strings.Contains(text, test.says) {
				t.Errorf("no repair says %q: %s", test.says, text)
			}
			bodies := 0
			for _, x := range r.Exchanges {
				bodies += len(x.Body)
			}
			if n := len(r.Exchanges); n == 0 || n > 20 && test.name == "requests" || bodies > 1000 && test.name == "bodies" {
				t.Errorf("%d exchanges with %d octets of bodies are recorded", n, bodies)
			}
		})
	}
}

// TestSaysWhyItCannot checks that the error explains why a page cannot be recorded.
func TestSaysWhyItCannot(t *testing.T) {
	const page = `<link rel=icon href="data:,">`
	tests := []struct {
		name   string
		change func(*record.Options)
		says   []string
	}{
		{"no such host", func(o *record.Options) { o.URL = "https://nowhere.test/" }, []string{"https://nowhere.test/", "no such host"}},
		{"untrusted", func(o *record.Options) { o.SPKIHash = "" }, []string{"certificate", "ERR_CERT_AUTHORITY_INVALID"}},
		{"no browser", func(o *record.Options) { o.Chromium = "/nowhere/chromium" }, []string{"/nowhere/chromium"}},
		{"a browser that ends at once", func(o *record.Options) { o.Chromium = "/bin/true" }, []string{"/bin/true"}},
		{"silent server", func(o *record.Options) { o.URL, o.Limit = "https://www.p.test/silent", time.Second }, []string{"timed out after 1s"}},
		{"missing element", func(o *record.Options) { o.Script = script(t, "# agree\nclick #agree") }, []string{"steps.txt:2:1", "#agree", "click?"}},
		{"bad selector", func(o *record.Options) { o.Script = script(t, "click? #a[") }, []string{"steps.txt:1:1", "#a["}},
		{"exception", func(o *record.Options) { o.Script = script(t, "eval nothing.at.all") }, []string{"steps.txt:1:1", "nothing is not defined"}},
		{"canceled", nil, []string{"enough"}},
	}
	s := startShop(t, map[string]object{"GET https://www.p.test/": {header: html, body: page}, "GET https://www.p.test/silent": {stays: true}})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := s.options(t, "https://www.p.test/")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.change != nil {
				test.change(&o)
			} else {
				cancel(errors.New("enough"))
			}
			_, err := record.Record(ctx, o)
			if err == nil {
				t.Fatal("the recording succeeded")
			}
			for _, word := range append(test.says, "record "+o.URL) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
		})
	}
}
