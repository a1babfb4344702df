package recording

import (
	"strings"
	"testing"

	"wiretime/site"
)

// TestParseAddress follows the URL Standard where net/url does not.
func TestParseAddress(t *testing.T) {
	for _, c := range []struct{ raw, scheme, authority, rest string }{
		{"https://Example.COM/a?b=c#d", "https", "example.com", "/a?b=c"},
		{"http://example.com", "http", "example.com", "/"},
		{"http://example.com:80/", "http", "example.com", "/"},
		{"https://example.com:443/", "https", "example.com", "/"},
		{"http://example.com:443/", "http", "example.com:443", "/"},
		{"https://example.com:8080?x", "https", "example.com:8080", "/?x"},
		{"https://user:pass@example.com/", "https", "example.com", "/"},
		{"  https://example.com/a\n b\t ", "https", "example.com", "/a%20b"},
		{`https:\\example.com\a\b?c\d`, "https", "example.com", `/a/b?c\d`},
		{"https://example.com/a/./b/../c/%2e%2E/d/..", "https", "example.com", "/a/"},
		{`https://example.com/"<>{}|?"<>'{}|`, "https", "example.com", "/%22%3C%3E%7B%7D|?%22%3C%3E%27{}|"},
		{"https://example.com/ä?ä", "https", "example.com", "/%C3%A4?%C3%A4"},
		{"https://example.com/100%/%41%zz%4", "https", "example.com", "/100%25/%41%25zz%254"},
		{"https://bücher.example/", "https", "xn--bcher-kva.example", "/"},
		{"https://[2001:db8::1]:8443/", "https", "[2001:db8::1]:8443", "/"},
		{"https://a_b.example./", "https", "a_b.example.", "/"},
		{"data:image/gif;base64,AAAA", "data", "", ""},
		{"chrome-extension://abc/d.js", "chrome-extension", "", ""},
		{"about:blank", "about", "", ""},
		{"WSS://example.com/", "wss", "", ""},
	} {
		a, err := parseAddress(c.raw)
		if err != nil || a.Scheme != c.scheme || a.Authority() != c.authority || a.Path != c.rest {
			t.Errorf("%q: %q %q %q, %v, want %q %q %q", c.raw, a.Scheme, a.Authority(), a.Path, err, c.scheme, c.authority, c.rest)
		}
	}
	for _, raw := range []string{"", "no scheme", "/path", "http:///", "https://:8080/", "https://a:b/", "https://a:99999999/", "https://./"} {
		if a, err := parseAddress(raw); err == nil {
			t.Errorf("%q was parsed as %+v", raw, a)
		}
	}
}

func TestHostsGetNamesThatASiteCanHave(t *testing.T) {
	long := strings.Repeat("a", 70)
	known := newAddresses()
	for _, c := range []struct{ recorded, want string }{
		{"www.example.com", "www.example.com"},
		{"www.example.com.", "www.example.com"},
		{"www.example.com:8080", "www.example.com"},
		{"other.example.:81", "other.example"},
		{"192.0.2.7", "ip-192-0-2-7.recorded.test"},
		{"192.0.2.7:8080", "ip-192-0-2-7.recorded.test"},
		{"[2001:db8::1]", "ip-2001-db8--1.recorded.test"},
		{"localhost", "localhost.recorded.test"},
		{"localhost.recorded.test", "n2.localhost.recorded.test"},
		{"a_b.example.com", "a-b.example.com"},
		{"a-b.example.com", "n2.a-b.example.com"},
		{"-x-.example.com", "x.example.com"},
		{"example.123", "example-123.recorded.test"},
		{"_", "host.recorded.test"},
		{long + ".example.com", strings.Repeat("a", 63) + ".example.com"},
		{strings.Repeat("abc.", 80) + "example.com", "abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-abc-ab.recorded.test"},
	} {
		a, err := parseAddress("https://" + c.recorded + "/")
		if err != nil {
			t.Fatalf("%s: %v", c.recorded, err)
		}
		if got := known.add(a); got != c.want {
			t.Errorf("%s is called %s, want %s", c.recorded, got, c.want)
		}
		if got := known.add(a); got != c.want {
			t.Errorf("%s is called %s the second time, want %s", c.recorded, got, c.want)
		}
		servedAs(t, "https://"+c.want+a.Path)
	}
}

// servedAs checks that a site can hold a resource with this URL.
func servedAs(t *testing.T, url string) *site.Site {
	t.Helper()
	s, err := site.New(site.Site{Name: "x", Page: url, Resources: []site.Resource{{Method: "GET", URL: url, Status: 200, Body: site.Hash(nil)}}}, map[string][]byte{site.Hash(nil): nil})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKey checks that key and a site agree on which requests are the same.
func TestKey(t *testing.T) {
	urls := []string{
		"https://a.test/", "https://a.test/?", "https://a.test/?a", "https://a.test/b", "https://a.test/%62", "https://a.test/b/c", "https://a.test/b%2Fc",
		"https://a.test/b%2fc", "https://a.test/~x", "https://a.test/%7Ex", "https://a.test/a b", "https://a.test/a%20b", "https://a.test//b", "https://a.test/b?c=%41",
		"https://a.test/b?c=A", "https://a.test/100%25", "https://a.test/a+b", "https://a.test/a%2Bb", "https://a.test/ä", "https://a.test/|", "https://a.test/%7C",
	}
	for _, x := range urls {
		a, err := parseAddress(x)
		if err != nil {
			t.Fatal(err)
		}
		x = "https://" + a.Host + a.Path
		s := servedAs(t, x)
		for _, y := range urls {
			b, _ := parseAddress(y)
			y = "https://" + b.Host + b.Path
			if _, same := s.Lookup("GET", y); same != (key("GET", x) == key("GET", y)) {
				t.Errorf("a site gives %t for whether %s and %s are the same request, key gives %t", same, x, y, !same)
			}
		}
	}
}

func TestRewrite(t *testing.T) {
	known := newAddresses()
	for _, u := range []string{"http://a.test/", "https://b.test:8443/", "https://c_d.test/", "http://localhost:3000/", "https://e.test./", "http://10.0.0.1/"} {
		a, err := parseAddress(u)
		if err != nil {
			t.Fatal(err)
		}
		known.add(a)
	}
	for _, c := range []struct{ text, want string }{
		{`<a href="http://a.test/x">`, `<a href="https://a.test/x">`},
		{`<a href="https://a.test/x">`, ""},
		{`<a href="HTTP://A.TEST/x">`, `<a href="https://a.test/x">`},
		{`http://a.test:80/ http://a.test:81/`, `https://a.test/ http://a.test:81/`},
		{`url(http://a.test)`, `url(https://a.test)`},
		{`see http://a.test.`, `see https://a.test.`},
		{`{"u":"http:\/\/a.test\/x","v":"https:\/\/b.test:8443\/y"}`, `{"u":"https:\/\/a.test\/x","v":"https:\/\/b.test\/y"}`},
		{`//c_d.test/x //a.test/x // c_d.test`, `//c-d.test/x //a.test/x // c_d.test`},
		{`http://localhost:3000/a http://localhost/b`, `https://localhost.recorded.test/a https://localhost.recorded.test/b`},
		{`"http://e.test./x" "http://e.test/x"`, `"https://e.test/x" "https://e.test/x"`},
		{`http://10.0.0.1/x`, `https://ip-10-0-0-1.recorded.test/x`},
		{`http://unknown.test/ ftp://a.test/ xhttp://a.test/ http:/a.test/`, `http://unknown.test/ ftp://a.test/ xhttps://a.test/ http:/a.test/`},
		{`?u=http%3A%2F%2Fa.test%2F`, ""},
		{`http://a.testing/ http://xa.test/ http://a.test_/`, ""},
		{`http:// https:// // \/\/ http:\/`, ""},
		{``, ""},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		got, changed := known.rewrite([]byte(c.text))
		if string(got) != want || changed != (c.want != "") {
			t.Errorf("%s\nbecomes %s (%t)\nwant    %s", c.text, got, changed, want)
		}
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`http://a.test/ http:\/\/b.test:8443\/ //c_d.test https://a.test`))
	f.Add([]byte(`http://http://a.test/\/\/\//`))
	f.Fuzz(func(t *testing.T, text []byte) {
		known := newAddresses()
		for _, u := range []string{"http://a.test/", "https://b.test:8443/", "https://c_d.test/"} {
			a, err := parseAddress(u)
			if err != nil {
				t.Fatal(err)
			}
			known.add(a)
		}
		once, changed := known.rewrite(text)
		if !changed && string(once) != string(text) {
			t.Fatalf("%q became %q, reported as unchanged", text, once)
		}
		if twice, again := known.rewrite(once); again {
			t.Errorf("%q becomes %q and then %q", text, once, twice)
		}
	})
}
