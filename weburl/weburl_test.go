package weburl_test

import (
	"strings"
	"testing"

	"wiretime/weburl"
)

func TestResolve(t *testing.T) {
	const base = "https://a.example/dir/page.html?q=1"
	for reference, want := range map[string]string{
		"":                           "https://a.example/dir/page.html?q=1",
		"x.png":                      "https://a.example/dir/x.png",
		" \n x\t.p\nng ":             "https://a.example/dir/x.png",
		"/x":                         "https://a.example/x",
		"//B.example/x":              "https://b.example/x",
		`\\b.example\x`:              "https://b.example/x",
		"?r":                         "https://a.example/dir/page.html?r",
		"#f":                         "https://a.example/dir/page.html?q=1",
		"x#f":                        "https://a.example/dir/x",
		"../../x/./y/..":             "https://a.example/x/",
		"%2e%2E/x":                   "https://a.example/x",
		"HTTP://b.example:80":        "http://b.example/",
		"https:x":                    "https://a.example/dir/x",
		"https:/x":                   "https://a.example/x",
		"http:/x":                    "http://x/",
		"https:///x":                 "https://x/",
		"///b.example/x":             "https://b.example/x",
		"http://b.example:8080?q":    "http://b.example:8080/?q",
		"a b|c%zz[d]\"":              "https://a.example/dir/a%20b|c%zz[d]%22",
		"x?a b|'":                    "https://a.example/dir/x?a%20b|%27",
		"ñ?ñ":                        "https://a.example/dir/%C3%B1?%C3%B1",
		"\xff":                       "https://a.example/dir/%EF%BF%BD",
		"https://ñ.example/":         "https://xn--ida.example/",
		"https://a_b.example/":       "https://a_b.example/",
		"https://[::1]:8080/":        "https://[::1]:8080/",
		"https://u:p@b.example/":     "https://u:p@b.example/",
		"https://a@b:c@b.example/":   "https://a%40b:c@b.example/",
		"https://@b.example/":        "https://b.example/",
		"https://b.example:0443":     "https://b.example/",
		"https://b.example:":         "https://b.example/",
		"data:image/png,x":           "",
		"DATA:,x":                    "",
		"blob:https://a.example/1":   "",
		"javascript:void(0)":         "",
		"java\nscript:void(0)":       "",
		"about:blank":                "",
		"mailto:a@b.example":         "",
		"https://":                   "",
		"https://a b/":               "",
		"https://b.example:port/":    "",
		"https://b.example:65536/":   "",
		"https://[::1/":              "",
		"chrome-extension://x/y.png": "",
	} {
		if got, ok := weburl.Resolve(base, reference); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", reference, got, want)
		}
	}
	if got, ok := weburl.Resolve("", "HTTPS:a.example#f"); got != "https://a.example/" || !ok {
		t.Error(got)
	}
	if got, _ := weburl.Resolve("https://a.example", "x"); got != "https://a.example/x" {
		t.Error(got)
	}
	if _, ok := weburl.Resolve("about:srcdoc", "x"); ok {
		t.Error("a reference without a base was resolved")
	}
}

func TestParse(t *testing.T) {
	for raw, want := range map[string]weburl.URL{
		"https://u:p@Example.com:8443/a?b#c": {Scheme: "https", User: "u:p", Host: "example.com", Port: "8443", Path: "/a?b"},
		"http:example.com:80":                {Scheme: "http", Host: "example.com", Path: "/"},
		"http://example.com:443/":            {Scheme: "http", Host: "example.com", Port: "443", Path: "/"},
		"https://[2001:DB8::1]:8443/":        {Scheme: "https", Host: "[2001:db8::1]", Port: "8443", Path: "/"},
		"https://[2001:db8::1]/":             {Scheme: "https", Host: "[2001:db8::1]", Path: "/"},
		"chrome-extension://abc/d.js":        {Scheme: "chrome-extension"},
		"DATA:,x":                            {Scheme: "data"},
	} {
		if got, err := weburl.Parse(raw); got != want || err != nil {
			t.Errorf("%q: %+v, %v, want %+v", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		"": "no scheme", "/path": "no scheme", "1https://a/": "no scheme", "http:///": "no host", "https://:8080/": "no host", "https://a:b/": "invalid port",
		"https://a b/": "invalid host", "https://a%/": "invalid host", "https://[::1%25lo]/": "invalid IPv6 address", "https://[1.2.3.4]/": "invalid IPv6 address",
	} {
		if got, err := weburl.Parse(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want the error %q", raw, got, err, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("https://a.example/b/c?d", "../e f#g")
	f.Add("http://[::1]", `\\x\..\%2e%zz?`)
	f.Add("", "https:")
	f.Fuzz(func(t *testing.T, base, reference string) {
		url, ok := weburl.Resolve(base, reference)
		if !ok {
			return
		}
		if again, ok := weburl.Resolve("", url); !ok || again != url {
			t.Errorf("%q, then %q", url, again)
		}
		if again, ok := weburl.Resolve(url, url); !ok || again != url {
			t.Errorf("%q resolved against itself is %q", url, again)
		}
		if u, err := weburl.Parse(url); err != nil || u.String() != url {
			t.Errorf("%q is parsed as %q, %v", url, u, err)
		}
	})
}
