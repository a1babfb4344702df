package protocol

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || p.Title == "" || p.serve == nil {
			t.Errorf("row %q is duplicate or incomplete", p.Name)
		}
		seen[p.Name] = true
		if wantPort := map[string]int{"http": 80, "https": 443}[p.Scheme]; p.Port != wantPort {
			t.Errorf("%s: port %d, want the scheme's %d: URLs carry no port", p.Name, p.Port, wantPort)
		}
		if (p.ALPN == "") != (p.Scheme == "http") {
			t.Errorf("%s: ALPN %q with scheme %s", p.Name, p.ALPN, p.Scheme)
		}
		if got, err := Lookup(p.Name); err != nil || got.Title != p.Title {
			t.Errorf("Lookup(%q) is %q, %v", p.Name, got.Title, err)
		}
	}
	if got, want := strings.Join(Names(), " "), "http/1.1 https/1.1 spdy/2 spdy/3 spdy/3.1 h2 h3"; got != want {
		t.Errorf("names are %s, want %s", got, want)
	}
}

func TestLookupNamesTheNearest(t *testing.T) {
	const list = "; write one of http/1.1, https/1.1, spdy/2, spdy/3, spdy/3.1, h2, h3"
	for _, c := range []struct{ name, want string }{
		{"H2", `(did you mean "h2"?)` + list},
		{"h4", `(did you mean "h2"?)` + list},
		{"https/1", `(did you mean "https/1.1"?)` + list},
		{"htp/1.1", `(did you mean "http/1.1"?)` + list},
		{"spdy", `(did you mean "spdy/2"?)` + list},
		{"gopher", `unknown protocol "gopher"` + list},
		{"", `unknown protocol ""` + list},
	} {
		_, err := Lookup(c.name)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: error is %v, want it to end with %q", c.name, err, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ protocol, page, want string }{
		{"http/1.1", "https://www.a.test/", "http://www.a.test/"},
		{"https/1.1", "https://www.a.test/", "https://www.a.test/"},
		{"h2", "https://www.a.test/x%20y?q=1&r=%2F#z", "https://www.a.test/x%20y?q=1&r=%2F#z"},
		{"h3", "http://www.a.test/", "https://www.a.test/"},
		{"h3", "/index.html", ""},
		{"h3", "www.a.test", ""},
		{"h3", "https://", ""},
		{"h3", "https://www.a.test/%zz", ""},
	} {
		p, err := Lookup(c.protocol)
		must(t, err)
		got, err := p.URL(c.page)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %s is %q, %v, want %q", c.protocol, c.page, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), c.page) {
			t.Errorf("error %v does not name the page", err)
		}
	}
}
