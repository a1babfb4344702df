package recording_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"golang.org/x/net/html"

	"wiretime/site"
	"wiretime/site/har"
	"wiretime/site/recording"
)

// asked counts the requests that a site's bodies make, by method and URL, as a browser
// without a network would see them.
type asked struct {
	t     *testing.T
	site  *site.Site
	times map[string]int
}

// visit requests a URL and everything that its body requests.
func (a *asked) visit(method, rawURL string) {
	a.t.Helper()
	r, ok := a.site.Lookup(method, rawURL)
	if !ok {
		a.t.Errorf("%s %s is requested but not in the site", method, rawURL)
		return
	}
	name := method + " " + r.URL
	if a.times[name]++; a.times[name] > 1 {
		return
	}
	if to := field(r, "location"); to != "" {
		base, err := url.Parse(r.URL)
		if err == nil {
			base, err = base.Parse(to)
		}
		if err != nil {
			a.t.Fatal(err)
		}
		a.visit("GET", base.String())
		return
	}
	body := a.body(r)
	switch t := field(r, "content-type"); {
	case strings.HasPrefix(t, "text/html"):
		a.html(body)
	case strings.HasPrefix(t, "text/css"):
		a.css(body)
	case strings.Contains(t, "javascript"):
		a.script(body)
	}
}

func field(r *site.Resource, name string) string {
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (a *asked) body(r *site.Resource) string {
	a.t.Helper()
	body, err := a.site.Body(r)
	if err != nil {
		a.t.Fatal(err)
	}
	var decoded io.Reader = bytes.NewReader(body)
	switch field(r, "content-encoding") {
	case "gzip":
		decoded, err = gzip.NewReader(decoded)
	case "br":
		decoded = brotli.NewReader(decoded)
	}
	if err == nil {
		body, err = io.ReadAll(decoded)
	}
	if err != nil {
		a.t.Fatalf("%s: %v", r.URL, err)
	}
	return string(body)
}

// html follows the references of a parsed document. Styles count only if an element has
// their class.
func (a *asked) html(text string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		a.t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attribute := map[string]string{}
		for _, at := range n.Attr {
			attribute[at.Key] = at.Val
		}
		reference := attribute["src"]
		switch {
		case n.Data == "link":
			reference = attribute["href"]
		case n.Data == "style":
			a.css(n.FirstChild.Data)
		case n.Data == "script" && n.FirstChild != nil:
			a.script(n.FirstChild.Data)
		}
		if reference != "" && !strings.HasPrefix(reference, "data:") {
			a.visit("GET", reference)
		}
	}
}

var (
	cssURL = regexp.MustCompile(`(?:url\(|@import )"((?:[^"\\]|\\.)*)"`)
	// jsCall matches a stub's call of a helper: its name, the URL, and more.
	jsCall = regexp.MustCompile(`\b([iscftbxq])\(("(?:[^"\\]|\\.)*")(?:,("[A-Z]+"|\d+))?[^)]*\)`)
)

func (a *asked) css(text string) {
	for _, m := range cssURL.FindAllStringSubmatch(text, -1) {
		a.visit("GET", unescape(m[1]))
	}
}

// unescape undoes the escapes that stubs write in CSS strings.
func unescape(s string) string {
	return strings.NewReplacer(`\2f `, "/", `\\`, `\`).Replace(s)
}

func (a *asked) script(text string) {
	for _, m := range jsCall.FindAllStringSubmatch(text, -1) {
		u, err := strconv.Unquote(m[2])
		if err != nil {
			a.t.Fatalf("%s: %v", m[2], err)
		}
		method := "GET"
		switch m[1] {
		case "b":
			method = "POST"
		case "x", "q":
			method = strings.Trim(m[3], `"`)
		case "t":
			u = unescape(strings.Trim(u, `"`))
		}
		a.visit(method, u)
	}
}

// crawl checks that a site's made bodies request everything in the site and nothing else,
// each URL once unless several redirects lead to it.
func crawl(t *testing.T, s *site.Site) {
	t.Helper()
	a := &asked{t: t, site: s, times: map[string]int{}}
	a.visit("GET", s.Page)
	targets := map[string]bool{}
	for i := range s.Resources {
		r := &s.Resources[i]
		if base, err := url.Parse(r.URL); err == nil && field(r, "location") != "" {
			if to, err := base.Parse(field(r, "location")); err == nil {
				if end, ok := s.Lookup("GET", to.String()); ok {
					targets["GET "+end.URL] = true
				}
			}
		}
	}
	for i := range s.Resources {
		name := s.Resources[i].Method + " " + s.Resources[i].URL
		if n := a.times[name]; n != 1 && !(n > 1 && targets[name]) {
			t.Errorf("requested %d times: %.200s", n, name)
		}
	}
}

// realFiles returns HAR files that other programs wrote.
func realFiles(t testing.TB) []string {
	files, err := filepath.Glob("../../../shared/data/har/*.har")
	if err != nil || len(files) == 0 {
		t.Skip("the HAR files are not there (../shared/data/har beside the checkout)")
	}
	return files
}

func read(t testing.TB, file string, o har.Options) *recording.Recording {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := har.Read(f, filepath.Base(file), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRealStubs crawls sites made from files without bodies.
func TestRealStubs(t *testing.T) {
	for _, file := range realFiles(t) {
		if strings.Contains(file, "h2o") { // this file has bodies
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, _, err := read(t, file, har.Options{}).Site("x", recording.Options{})
			if err != nil {
				t.Fatal(err)
			}
			crawl(t, s)
		})
	}
}

// entry returns a request of a made-up recording.
func entry(url, mime string, more ...func(*recording.Exchange)) recording.Exchange {
	e := recording.Exchange{Method: "GET", URL: url, Status: 200, MIME: mime, Size: 5000, Transfer: 1500, Started: 10, Took: 5, Connect: -1, Wait: -1,
		Header: []site.Header{{Name: "content-type", Value: mime}, {Name: "content-encoding", Value: "gzip"}}}
	for _, change := range more {
		change(&e)
	}
	return e
}

func by(url, how string) func(*recording.Exchange) {
	return func(e *recording.Exchange) { e.Initiator, e.InitiatorType = url, how }
}

func as(kind string) func(*recording.Exchange) {
	return func(e *recording.Exchange) { e.Kind = kind }
}

func at(ms float64) func(*recording.Exchange) {
	return func(e *recording.Exchange) { e.Started = ms }
}

func posted(octets int64) func(*recording.Exchange) {
	return func(e *recording.Exchange) { e.Method, e.Sent = "POST", octets }
}

func leading(to string) func(*recording.Exchange) {
	return func(e *recording.Exchange) {
		e.Status = 302
		e.Header = []site.Header{{Name: "location", Value: to}}
	}
}

// everything returns a recording with each kind of request made by each kind of initiator.
func everything() *recording.Recording {
	const page, frame, sheet, script = "https://a.test/", "https://b.test/frame", "https://a.test/s.css", "https://b.test/s.js"
	types := map[string]string{"stylesheet": "text/css", "script": "text/javascript", "image": "image/png", "font": "font/woff2", "document": "text/html",
		"fetch": "application/json", "xhr": "text/plain", "media": "video/mp4", "other": "application/octet-stream", "ping": "text/plain"}
	r := &recording.Recording{Title: "Everything </title>", Loaded: 500, Exchanges: []recording.Exchange{
		entry(page, "text/html", at(0)), entry(frame, "text/html", as("document"), by(page, "parser")),
		entry(sheet, "text/css", by(page, "parser")), entry(script, "text/javascript", by(frame, "parser")),
	}}
	for i, from := range []string{"", page, frame, sheet, script, "https://gone.test/", "https://b.test/image-4-script-10"} {
		for _, how := range []string{"parser", "script", ""} {
			for _, kind := range slices.Sorted(keys(types)) {
				for _, when := range []float64{10, 100, 1000} {
					u := fmt.Sprintf("https://b.test/%s-%d-%s-%.0f?u=https://a.test/&q='\"\\<>", kind, i, how, when)
					r.Exchanges = append(r.Exchanges, entry(u, types[kind], as(kind), by(from, how), at(when)))
				}
			}
		}
		u := fmt.Sprintf("https://a.test/hop-%d", i)
		r.Exchanges = append(r.Exchanges,
			entry(u, "", by(from, "script"), leading(u+"-2")), entry(u+"-2", "", leading(u+"-3")), entry(u+"-3", "image/gif"),
			entry(u+"-post", "", by(from, "script"), posted(100), as("ping")), entry(u+"-post2", "", by(from, "script"), posted(100_000), as("ping")),
			entry(u+"-post3", "text/html", by(from, "script"), posted(10)))
	}
	return r
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestStubsAskForEverything(t *testing.T) {
	s, repairs, err := everything().Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range repairs {
		if r.LeftOut > 0 {
			t.Errorf("%s: %s", r.Where, r.What)
		}
	}
	crawl(t, s)
}

// TestStubsAreTheSameEveryTime makes a site twice.
func TestStubsAreTheSameEveryTime(t *testing.T) {
	one, _, err := everything().Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := everything().Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range one.Resources {
		if one.Resources[i].Body != two.Resources[i].Body {
			t.Errorf("%s differs between two runs", one.Resources[i].URL)
		}
	}
}

// TestWhoAsks checks, for a page without bodies, the initiators that the site records and
// how their stubs make the requests.
func TestWhoAsks(t *testing.T) {
	const page, script = "https://a.test/", "https://a.test/s.js"
	for _, c := range []struct {
		name      string
		entry     recording.Exchange
		initiator string
		delay     float64
		in, how   string // the body that makes the request, and its text
	}{
		{"unknown image", entry("https://b.test/x", "image/png"), "", 0, page, `<img src="https://b.test/x">`},
		{"parser's script", entry("https://b.test/x", "text/javascript", by(page, "parser")), "", 0, page, `<script src="https://b.test/x">`},
		{"unimportant script", entry("https://b.test/x", "text/javascript", by(page, "parser"), func(e *recording.Exchange) { e.Priority = "Low" }), "", 0, page, `<script async src="https://b.test/x">`},
		{"inline script's image", entry("https://b.test/x", "image/png", by(page, "script"), at(30)), page, 15, page, `h(15,function(){i("https://b.test/x")});`},
		{"unknown data", entry("https://b.test/x", "application/json"), page, 5, page, `l(5,function(){q("https://b.test/x","GET",0,"cors")});`},
		{"script's script", entry("https://b.test/x", "text/javascript", by(script, "script"), at(15)), script, 0, script, `}s("https://b.test/x");`},
		{"after a while", entry("https://b.test/x", "text/html", as("document"), by(script, "script"), at(100)), script, 85, script, `h(85,function(){f("https://b.test/x")});`},
		{"after load", entry("https://b.test/x", "image/gif", by(script, "script"), at(615)), script, 115, script, `a(115,function(){i("https://b.test/x")});`},
		{"before it", entry("https://b.test/x", "image/gif", by(script, "script"), at(12)), script, 0, script, `}i("https://b.test/x");`},
		{"beacon", entry("https://b.test/x", "", by(script, "script"), posted(99), as("ping")), script, 0, script, `b("https://b.test/x",99)`},
		{"large beacon", entry("https://b.test/x", "", by(script, "script"), posted(20_000), as("ping")), script, 0, script, `q("https://b.test/x","POST",20000,"cors")`},
		{"XHR", entry("https://b.test/x", "", by(script, "script"), posted(9), as("xhr")), script, 0, script, `x("https://b.test/x","POST",9)`},
		{"style sheet's font", entry("https://b.test/x", "font/woff", by("https://a.test/s.css", "parser")), "", 0, "https://a.test/s.css", `@font-face{font-family:w1;src:url("https://b.test/x");unicode-range:U+100}.w1{font-family:w1;}`},
		{"style sheet's script", entry("https://b.test/x", "text/javascript", by("https://a.test/s.css", "parser")), "", 0, page, `<script src="https://b.test/x">`},
		{"image's image", entry("https://b.test/x", "image/png", by("https://a.test/i.png", "parser")), "", 0, page, `<img src="https://b.test/x">`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recording.Recording{Loaded: 500, Exchanges: []recording.Exchange{
				entry(page, "text/html", at(0)), entry(script, "text/javascript"), entry("https://a.test/s.css", "text/css"), entry("https://a.test/i.png", "image/png"), c.entry,
			}}
			s, _, err := r.Site("x", recording.Options{})
			if err != nil {
				t.Fatal(err)
			}
			crawl(t, s)
			got, ok := s.Lookup(c.entry.Method, "https://b.test/x")
			if !ok || got.Initiator != c.initiator || got.Delay != c.delay {
				t.Fatalf("%+v, want it requested by %s after %v ms", got, c.initiator, c.delay)
			}
			asks, _ := s.Lookup("GET", c.in)
			if body := (&asked{t: t, site: s}).body(asks); !strings.Contains(body, c.how) {
				t.Errorf("%.1000s\nof %s has no %s", body, c.in, c.how)
			}
		})
	}
}

// TestGuesses checks the guessed initiators of requests that recorded bodies do not make
// openly.
func TestGuesses(t *testing.T) {
	full := func(url, mime, body string, from, to float64) recording.Exchange {
		return recording.Exchange{Method: "GET", URL: url, Status: 200, Header: []site.Header{{Name: "content-type", Value: mime}}, Body: []byte(body), HasBody: true,
			Size: int64(len(body)), Transfer: -1, Started: from, Took: to - from, Connect: -1, Wait: -1}
	}
	r := &recording.Recording{Exchanges: []recording.Exchange{
		full("https://a.test/", "text/html", `<script src=1.js></script><script src=2.js></script><link rel=stylesheet href=s.css><img srcset="i1.png, i2.png 2x"><script>load("inline.js")</script>
			<noscript><img src=no.png></noscript><link rel=canonical href=c.png>`, 0, 10),
		full("https://a.test/1.js", "text/javascript", `get("https://b.test/url?x"); get("segment.json"); "//c.test"`, 10, 20),
		full("https://a.test/2.js", "text/javascript", `"segment.json"`, 10, 30),
		full("https://a.test/3.js", "text/javascript", ``, 10, 90),
		full("https://a.test/s.css", "text/css", `@import 'in.css'; a{background:url( "bg.png" )} b{background:url(bare.png)}`, 10, 20),
		full("https://a.test/i1.png", "image/png", "", 15, 16), full("https://a.test/i2.png", "image/png", "", 15, 16),
		full("https://a.test/in.css", "text/css", "", 15, 16), full("https://a.test/bg.png", "image/png", "", 15, 16), full("https://a.test/bare.png", "image/png", "", 15, 16),
		full("https://b.test/url?x", "application/json", "", 25, 60),
		full("https://b.test/deep/segment.json", "application/json", "", 50, 60), full("https://b.test/deep/segment.json?early", "application/json", "", 25, 60),
		full("https://c.test/by/host", "application/json", "", 25, 60),
		full("https://d.test/inline.js", "text/javascript", "", 50, 60),
		full("https://d.test/latest", "image/png", "", 95, 99), full("https://d.test/nobody", "image/png", "", 5, 99),
		full("https://a.test/no.png", "image/png", "", 12, 99), full("https://a.test/c.png", "image/png", "", 12, 99),
	}}
	s, _, err := r.Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"https://b.test/url?x": "https://a.test/1.js", "https://b.test/deep/segment.json": "https://a.test/2.js", "https://b.test/deep/segment.json?early": "https://a.test/1.js",
		"https://c.test/by/host": "https://a.test/1.js", "https://d.test/inline.js": "https://a.test/", "https://d.test/latest": "https://a.test/3.js",
		"https://d.test/nobody": "https://a.test/", "https://a.test/3.js": "https://a.test/", "https://a.test/no.png": "https://a.test/", "https://a.test/c.png": "https://a.test/",
	}
	for _, r := range s.Resources {
		if r.Initiator != want[r.URL] {
			t.Errorf("%s: requested by %q, want %q", r.URL, r.Initiator, want[r.URL])
		}
	}
}

// TestMixedBodies has a recorded document with made style sheets and scripts, which must
// make their requests without help from the document.
func TestMixedBodies(t *testing.T) {
	page := recording.Exchange{Method: "GET", URL: "https://a.test/", Status: 200, Header: []site.Header{{Name: "content-type", Value: "text/html"}},
		Body: []byte(`<link rel=stylesheet href="https://a.test/s.css"><script src="https://a.test/s.js"></script>`), HasBody: true, Size: -1, Transfer: -1}
	r := &recording.Recording{Exchanges: []recording.Exchange{
		page, entry("https://a.test/s.css", "text/css"), entry("https://a.test/s.js", "text/javascript"),
		entry("https://a.test/f.woff", "font/woff", by("https://a.test/s.css", "")), entry("https://a.test/x", "image/png", by("https://a.test/s.js", "")),
	}}
	s, _, err := r.Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crawl(t, s)
	sheet, _ := s.Lookup("GET", "https://a.test/s.css")
	if body := (&asked{t: t, site: s}).body(sheet); !strings.Contains(body, `html::before{content:"\100 ";font-family:w1;}`) {
		t.Errorf("the style sheet uses its font for %.300s", body)
	}
}

// TestInventedPage covers a recording without a document.
func TestInventedPage(t *testing.T) {
	r := &recording.Recording{Exchanges: []recording.Exchange{entry("https://a.test/a.json", "application/json"), entry("https://a.test/b.png", "image/png"), entry("https://a.test/c", "", posted(9))}}
	s, _, err := r.Site("x", recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Page != "https://page.recorded.test/" || len(s.Resources) != 4 {
		t.Errorf("the page is %s, of %d resources", s.Page, len(s.Resources))
	}
	crawl(t, s)
}
