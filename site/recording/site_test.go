package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"wiretime/coding"
	"wiretime/costtest"
	"wiretime/site"
)

// get returns a GET exchange with only the given data known.
func get(url string, status int, mime string, more ...func(*Exchange)) Exchange {
	e := Exchange{Method: "GET", URL: url, Status: status, Size: -1, Transfer: -1, Started: -1, Took: -1, DNS: -1, Connect: -1, Wait: -1}
	if mime != "" {
		e.Header = []site.Header{{Name: "Content-Type", Value: mime}}
	}
	for _, change := range more {
		change(&e)
	}
	return e
}

func with(name, value string) func(*Exchange) {
	return func(e *Exchange) { e.Header = append(e.Header, site.Header{Name: name, Value: value}) }
}

func holding(body string) func(*Exchange) {
	return func(e *Exchange) {
		e.Body, e.HasBody, e.Size, e.Transfer = []byte(body), true, int64(len(body)), int64(len(body))
	}
}

func by(initiator, how string) func(*Exchange) {
	return func(e *Exchange) { e.Initiator, e.InitiatorType = initiator, how }
}

func sized(size, transfer int64) func(*Exchange) {
	return func(e *Exchange) { e.Size, e.Transfer = size, transfer }
}

func method(m string) func(*Exchange) { return func(e *Exchange) { e.Method = m } }

// imported makes a site of exchanges and checks the invariants.
func imported(t *testing.T, exchanges ...Exchange) (*site.Site, []Repair) {
	t.Helper()
	r := &Recording{Title: "Test", Source: "a test", Exchanges: exchanges}
	for i := range r.Exchanges {
		r.Exchanges[i].Where = fmt.Sprintf("entry %d", i+1)
	}
	return made(t, r)
}

func made(t *testing.T, r *Recording) (*site.Site, []Repair) {
	t.Helper()
	s, repairs, err := r.Site("x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, repair := range repairs {
		left += repair.LeftOut
	}
	invented := 0
	if strings.HasPrefix(s.Page, "https://page.recorded.test/") {
		invented = 1
	}
	if len(r.Exchanges)-left+invented != len(s.Resources) {
		t.Errorf("%d exchanges, %d left out, but %d resources", len(r.Exchanges), left, len(s.Resources))
	}
	return s, repairs
}

func resource(t *testing.T, s *site.Site, method, url string) (*site.Resource, string) {
	t.Helper()
	r, ok := s.Lookup(method, url)
	if !ok {
		t.Fatalf("%s %s is not in the site", method, url)
	}
	body, err := s.Body(r)
	if err != nil {
		t.Fatal(err)
	}
	content, err := coding.Decode(body, coding.Names(fieldOf(r.Header, "content-encoding")), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(content)
}

func said(repairs []Repair, what string) bool {
	return slices.ContainsFunc(repairs, func(r Repair) bool { return strings.Contains(r.What, what) })
}

// TestOddExchanges covers exchanges that a site cannot hold as recorded.
func TestOddExchanges(t *testing.T) {
	page := get("https://a.test/", 200, "text/html", holding("<p>page"))
	for _, c := range []struct {
		name string
		odd  Exchange
		want string // the resulting resource; empty: none
		said string
	}{
		{"data", get("data:text/plain,a", 200, ""), "", "1 URL with data:"},
		{"blob", get("blob:https://a.test/b", 200, ""), "", "1 URL with blob:"},
		{"extension", get("chrome-extension://a/b.js", 200, ""), "", "1 URL with chrome-extension:"},
		{"about", get("about:blank", 200, ""), "", "1 URL with about:"},
		{"websocket", get("wss://a.test/", 101, ""), "", "1 URL with wss:"},
		{"no URL", get("", 200, ""), "", "invalid URL"},
		{"hostless", get("https:///", 200, ""), "", "invalid URL"},
		{"upgrade", get("https://a.test/socket", 101, ""), "", "status 101"},
		{"no response", get("https://a.test/x", 0, ""), "", "no response"},
		{"status 99", get("https://a.test/x", 99, ""), "", "not a final status"},
		{"status 600", get("https://a.test/x", 600, ""), "", "not a final status"},
		{"status -1", get("https://a.test/x", -1, ""), "", "not a final status"},
		{"preflight", get("https://a.test/x", 204, "", method("OPTIONS")), "", "preflight"},
		{"connect", get("https://a.test/x", 200, "", method("CONNECT")), "", "pages cannot use the method"},
		{"no method", get("https://a.test/x", 200, "", method("A B")), "", "pages cannot use the method"},
		{"huge", get("https://a.test/x", 200, "", sized(256<<20+1, -1)), "", "exceeds 268435456 octets (--max-body)"},
		{"huge on the wire", get("https://a.test/x", 200, "", sized(-1, math.MaxInt64/8)), "", "exceeds 268435456 octets (--max-body)"},
		{"twice", get("https://a.test/#top", 200, "text/html", holding("other")), "", "repeated URL"},
		{"empty method", get("https://a.test/x", 200, "", method(" ")), "GET https://a.test/x 200", ""},
		{"lower case", get("https://A.TEST/x", 200, "", method("get")), "GET https://a.test/x 200", ""},
		{"post", get("https://a.test/x", 201, "", method("POST")), "POST https://a.test/x 201", ""},
		{"part", get("https://a.test/x.mp4", 206, "video/mp4", with("Content-Range", "bytes 0-1/9"), holding("ab")), "GET https://a.test/x.mp4 200", "status 206 becomes 200"},
		{"not modified", get("https://a.test/x.css", 304, "text/css"), "GET https://a.test/x.css 200", "status 304"},
		{"misdirected", get("https://a.test/x", 421, ""), "GET https://a.test/x 400", "that browsers retry"},
		{"gone", get("https://a.test/x", 404, "text/html"), "GET https://a.test/x 404", ""},
		{"port", get("https://a.test:8443/x", 200, ""), "GET https://a.test/x 200", "a.test:8443"},
		{"address", get("http://192.0.2.1/x", 200, ""), "GET https://ip-192-0-2-1.recorded.test/x 200", "192.0.2.1 is ip-192-0-2-1.recorded.test"},
		{"percent", get("https://a.test/100%", 200, ""), "GET https://a.test/100%25 200", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, repairs := imported(t, page, c.odd)
			if c.want == "" && len(s.Resources) != 1 {
				t.Errorf("the exchange is in the site: %+v", s.Resources[1])
			}
			if c.want != "" {
				if r := s.Resources[len(s.Resources)-1]; fmt.Sprintf("%s %s %d", r.Method, r.URL, r.Status) != c.want {
					t.Errorf("it becomes %s %s %d, want %s", r.Method, r.URL, r.Status, c.want)
				}
			}
			if c.said == "" && len(repairs) > 0 && !said(repairs, "of unknown size") || c.said != "" && !said(repairs, c.said) {
				t.Errorf("repairs are %+v, want one with %q", repairs, c.said)
			}
		})
	}
}

func TestNothingToServe(t *testing.T) {
	r := &Recording{Source: "a test", Exchanges: []Exchange{get("data:,", 200, "")}}
	if _, _, err := r.Site("x", Options{}); err == nil || !strings.Contains(err.Error(), "none of the 1 exchanges") {
		t.Error(err)
	}
	r.Exchanges = []Exchange{get("https://a.test/", 200, "text/html")}
	if _, _, err := r.Site("No Name", Options{}); err == nil {
		t.Error("an invalid name was accepted")
	}
}

// TestWhichOfMany checks which response of a repeated URL is kept.
func TestWhichOfMany(t *testing.T) {
	s, _ := imported(t,
		get("https://a.test/", 302, "", with("Location", "https://a.test/")),
		get("https://a.test/", 500, "text/html"),
		get("https://a.test/", 200, "text/html"),
		get("https://a.test/", 200, "text/html", holding("first")),
		get("https://a.test/", 200, "text/html", holding("second")),
		get("https://a.test/", 404, "text/html", holding("gone")),
	)
	if r, body := resource(t, s, "GET", "https://a.test/"); r.Status != 200 || body != "first" {
		t.Errorf("kept was %d %q", r.Status, body)
	}
}

func TestRedirects(t *testing.T) {
	to := func(url string) func(*Exchange) { return with("Location", url) }
	s, repairs := imported(t,
		get("http://a.test/", 301, "", to("https://a.test/")),
		get("https://a.test/", 302, "", to("https://www.a.test/start")),
		get("https://www.a.test/start", 200, "text/html", holding("<p>start")),
		get("http://b.test/1", 302, "", to("/2")),
		get("http://b.test/2", 302, "", to("//b.test:8080/3?x=http://b.test/")),
		get("http://b.test:8080/3?x=http://b.test/", 200, "image/gif", holding("GIF89a")),
		get("https://c.test/loop", 302, "", to("https://c.test/loop2")),
		get("https://c.test/loop2", 302, "", to("https://c.test/loop")),
		get("https://d.test/away", 302, "", to("https://elsewhere.test/")),
		get("https://d.test/frame", 307, "text/html", to("about:blank")),
		get("https://d.test/script", 307, "", to("data:text/javascript;base64,YSgpOw==")),
		get("https://d.test/text", 307, "", to("data:,a%20b")),
		get("https://d.test/odd", 302, "", to("%zz://")),
		get("https://e.test/post", 303, "", method("POST"), to("/done")),
		get("https://e.test/done", 200, "text/html", holding("done")),
		get("https://e.test/none", 301, "text/html"),
	)
	if s.Page != "https://a.test/" {
		t.Errorf("the page is %s", s.Page)
	}
	for _, c := range []struct {
		method, url string
		status      int
		location    string
		body        string
	}{
		{"GET", "https://a.test/", 302, "https://www.a.test/start", ""},
		{"GET", "https://b.test/1", 302, "/2", ""},
		{"GET", "https://b.test/2", 302, "https://b.test/3?x=http://b.test/", ""},
		{"GET", "https://c.test/loop", 200, "", ""},
		{"GET", "https://c.test/loop2", 302, "https://c.test/loop", ""},
		{"GET", "https://d.test/away", 200, "", ""},
		{"GET", "https://d.test/frame", 200, "", ""},
		{"GET", "https://d.test/script", 200, "", "a();"},
		{"GET", "https://d.test/text", 200, "", "a b"},
		{"GET", "https://d.test/odd", 200, "", ""},
		{"POST", "https://e.test/post", 303, "/done", ""},
		{"GET", "https://e.test/none", 301, "", ""},
	} {
		r, body := resource(t, s, c.method, c.url)
		if location := fieldOf(r.Header, "location"); r.Status != c.status || location != c.location {
			t.Errorf("%s: %d %q, want %d %q", c.url, r.Status, location, c.status, c.location)
		}
		if r.Status == 200 && body != c.body && c.body != "" {
			t.Errorf("%s: %q, want %q", c.url, body, c.body)
		}
	}
	for _, what := range []string{"1 redirect between http and https", "redirect loop", "2 redirects to a URL that the recording lacks", "3 redirects to a URL without a server"} {
		if !said(repairs, what) {
			t.Errorf("no repair says: %s: %+v", what, repairs)
		}
	}
}

// TestFields checks how a site stores responses' header fields.
func TestFields(t *testing.T) {
	real, madeUp := holding("<p>page"), sized(100, 100)
	for _, c := range []struct {
		name, value string
		body        func(*Exchange)
		want        string // empty: left out
	}{
		{"X-Other", "y", real, "y"},
		{"Content-Length", "3", real, ""},
		{"Transfer-Encoding", "chunked", real, ""},
		{"Connection", "close", real, ""},
		{":status", "200", real, ""},
		{"status", "200 OK", real, ""},
		{"Bad Name", "x", real, ""},
		{"X-Bad", "a\x00b", real, ""},
		{"Strict-Transport-Security", "max-age=1", real, ""},
		{"Content-Security-Policy", "default-src http://a.test; upgrade-insecure-requests; img-src *", real, "default-src https://a.test; img-src *"},
		{"Content-Security-Policy", "Upgrade-Insecure-Requests", real, ""},
		{"Content-Security-Policy", "default-src 'none'", madeUp, ""},
		{"X-Frame-Options", "DENY", real, "DENY"},
		{"X-Frame-Options", "DENY", madeUp, ""},
		{"Set-Cookie", "sid=secret; Path=/; HttpOnly", real, "sid=xxxxxx; Path=/; HttpOnly"},
		{"Set-Cookie", "nonsense", real, "xxxxxxxx"},
		{"X-Auth-Token", "Ab-9", real, "xx-x"},
		{"WWW-Authorization", "Basic QQ==", real, "xxxxx xx=="},
		{"Access-Control-Allow-Origin", "http://a.test", real, "https://a.test"},
		{"Access-Control-Allow-Origin", "http://other.test", real, "http://other.test"},
		{"Link", "<http://a.test/>; rel=preload; as=style, <http://other.test/x>; rel=preload", real, "<https://a.test/>; rel=preload; as=style, <http://other.test/x>; rel=preload"},
		{"Link", "</>; rel=preload; as=style, </gone,x>; rel=\"preload\", <http://other.test/>; rel=preconnect", madeUp, "</>; rel=preload; as=style, <http://other.test/>; rel=preconnect"},
		{"Link", "</gone>; rel=preload", madeUp, ""},
		{"Refresh", "1; url=http://a.test/", real, "1; url=https://a.test/"},
		{"Refresh", "1", madeUp, ""},
		{"Date", "Sat, 29 Aug 2015 19:44:56 GMT", real, ""},
		{"Cache-Control", "max-age=3", madeUp, "max-age=3"},
	} {
		s, _ := imported(t, get("http://a.test/", 200, "text/html", c.body, with(c.name, c.value)))
		r, _ := resource(t, s, "GET", "https://a.test/")
		if got := fieldOf(r.Header, c.name); got != c.want {
			t.Errorf("%s: %q is kept as %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestFieldLines covers lines that recorders join into one field.
func TestFieldLines(t *testing.T) {
	s, repairs := imported(t, get("https://a.test/?token=0123456789&x=1", 200, "text/html", holding("<p>"), with("set-cookie", "a=1\nb=22; Secure"), with("content-type", "text/plain"),
		with("Date", "Sat, 29 Aug 2015 19:44:56 GMT"), with("Expires", "Sat, 29 Aug 2015 19:45:56 GMT")))
	want := []site.Header{{Name: "Content-Type", Value: "text/html"}, {Name: "set-cookie", Value: "a=x"}, {Name: "set-cookie", Value: "b=xx; Secure"},
		{Name: "Expires", Value: "Sat, 29 Aug 2015 19:45:56 GMT"}, {Name: "cache-control", Value: "max-age=60"}}
	if got := s.Resources[0].Header; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !said(repairs, "may hold a secret") || !said(repairs, "token") {
		t.Errorf("no repair names the token in the URL: %+v", repairs)
	}
}

// TestRecordedBodies checks that bodies stay unchanged except for URLs and codings.
func TestRecordedBodies(t *testing.T) {
	page := `<meta http-equiv="Content-Security-Policy" content="img-src *; upgrade-insecure-requests"><img src="http://b.test:81/i.png"><a href="http://elsewhere.test/">`
	want := `<meta http-equiv="Content-Security-Policy" content="img-src *;                          "><img src="https://b.test/i.png"><a href="http://elsewhere.test/">`
	coded, err := new(coder).encode([]byte("body{color:red}"), "br")
	if err != nil {
		t.Fatal(err)
	}
	asSent := func(e *Exchange) { e.Body, e.HasBody, e.Encoded = coded, true, true }
	s, repairs := imported(t,
		get("http://a.test/", 200, "text/html", holding(page), with("Content-Encoding", "deflate")),
		get("http://b.test:81/i.png", 200, "image/png", holding("http://a.test/")),
		get("http://a.test/s.css", 200, "text/css", asSent, with("content-encoding", "br")),
		get("http://a.test/bad.css", 200, "text/css", asSent, with("content-encoding", "gzip")),
		get("http://a.test/none", 204, "", holding("")),
	)
	r, body := resource(t, s, "GET", "https://a.test/")
	if body != want || fieldOf(r.Header, "content-encoding") != "gzip" || r.Made {
		t.Errorf("%s\nwant %s, %+v", body, want, r)
	}
	if _, body := resource(t, s, "GET", "https://b.test/i.png"); body != "http://a.test/" {
		t.Errorf("the image was changed: %s", body)
	}
	if r, _ := resource(t, s, "GET", "https://a.test/s.css"); r.Body != site.Hash(coded) {
		t.Error("the style sheet was encoded again")
	}
	if !said(repairs, "body cannot be decoded") || !said(repairs, "1 body in which URLs were rewritten") {
		t.Errorf("%+v", repairs)
	}
}

func TestLimits(t *testing.T) {
	bomb, err := new(coder).encode(bytes.Repeat([]byte("a"), 1<<20), "gzip")
	if err != nil {
		t.Fatal(err)
	}
	r := &Recording{Exchanges: []Exchange{
		get("https://a.test/", 200, "text/html", holding("<p>")),
		get("https://a.test/bomb", 200, "text/css", func(e *Exchange) { e.Body, e.HasBody, e.Encoded = bomb, true, true }, with("content-encoding", "gzip")),
		get("https://a.test/1", 200, "text/plain", holding(strings.Repeat("a", 600))),
		get("https://a.test/2", 200, "text/plain", holding(strings.Repeat("b", 600))),
		get("https://a.test/3", 200, "image/gif", sized(600, -1)),
		get("https://a.test/4", 200, "image/gif", sized(10, -1)),
	}}
	s, repairs, err := r.Site("x", Options{Limits: Limits{Exchanges: 5, Body: 1 << 16, Total: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, r := range s.Resources {
		total += r.Size
	}
	if len(s.Resources) != 3 || total != 1000 {
		t.Errorf("%d resources with %d octets, want 3 with 1000: %+v", len(s.Resources), total, repairs)
	}
	for _, what := range []string{"too large when decoded", "all bodies together", "all together", "beyond the first 5"} {
		if !said(repairs, what) {
			t.Errorf("no repair says: %s: %+v", what, repairs)
		}
	}
}

func TestHosts(t *testing.T) {
	at := func(address string, connect, wait float64) func(*Exchange) {
		return func(e *Exchange) { e.Address, e.Connect, e.Wait = address, connect, wait }
	}
	s, _ := imported(t,
		get("https://a.test/", 200, "text/html", holding("<p>"), at("192.0.2.1", 30, 100)),
		get("https://a.test/1", 200, "text/css", holding("a"), at("192.0.2.1", 20.5, 10)),
		get("https://b.test/1", 200, "text/css", holding("a"), at("192.0.2.1", -1, 50)),
		get("https://c.test/1", 200, "text/css", holding("a"), at("", -1, 50)),
		get("https://d.test/1", 200, "text/css", holding("a"), at("192.0.2.2", math.NaN(), math.Inf(1))),
	)
	want := []site.Host{{Name: "a.test", Address: "192.0.2.1", RTT: 20.5}, {Name: "b.test", Address: "192.0.2.1"}, {Name: "c.test"}, {Name: "d.test", Address: "192.0.2.2"}}
	if !slices.Equal(s.Hosts, want) {
		t.Errorf("hosts are %+v, want %+v", s.Hosts, want)
	}
	var waits []float64
	for _, r := range s.Resources {
		waits = append(waits, r.Wait)
	}
	if want := []float64{79.5, 0, 29.5, 0, 0}; !slices.Equal(waits, want) {
		t.Errorf("servers took %v, want %v", waits, want)
	}
}

// FuzzSite makes sites of arbitrary recordings.
func FuzzSite(f *testing.F) {
	add := func(exchanges ...Exchange) {
		b, err := json.Marshal(exchanges)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(get("https://a.test/", 200, "text/html"), get("https://a.test/a.js", 200, "text/javascript", by("https://a.test/", "parser")),
		get("https://a.test/b.png", 200, "image/png", by("https://a.test/a.js", "script"), sized(100, 100)))
	add(get("http://a.test/", 301, "", with("location", "https://a.test/")), get("https://a.test/", 200, "text/html", holding("<img src=http://b.test:1/>")), get("http://b.test:1/", 206, ""))
	add(get("https://a.test/x", 302, "", with("location", "/y")), get("https://a.test/y", 302, "", with("location", "/x")), get("https://a.test/", 200, "text/css", with("content-encoding", "br")))
	add(get("https://a.test/a.css", 200, "text/css", by("https://a.test/b.css", "")), get("https://a.test/b.css", 200, "text/css", by("https://a.test/a.css", "")), get("https://b.test/f.woff", 200, "font/woff", by("https://a.test/b.css", "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var exchanges []Exchange
		if json.Unmarshal(data, &exchanges) != nil {
			return
		}
		r := &Recording{Exchanges: exchanges}
		var s *site.Site
		var repairs []Repair
		var err error
		// Bodies are made to the limits, in several attempts.
		costtest.Check(t, len(data)+octetsOf(r), costtest.Limit{Fixed: 64 << 20, PerOctet: cost.PerOctet, Time: cost.Time}, func() {
			s, repairs, err = r.Site("x", Options{Limits: Limits{Exchanges: 100, Body: 1 << 16, Total: 1 << 18}})
		})
		if err != nil {
			if !strings.Contains(err.Error(), "can be served") {
				t.Fatal(err)
			}
			return
		}
		left := 0
		for _, repair := range repairs {
			left += repair.LeftOut
		}
		if n := len(s.Resources) - (len(exchanges) - left); n < 0 || n > 1 {
			t.Errorf("%d exchanges, %d left out, %d resources", len(exchanges), left, len(s.Resources))
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}
