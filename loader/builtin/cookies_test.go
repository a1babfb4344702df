package builtin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestCookies sets cookies by responses, and checks the next request's Cookie
// field.
func TestCookies(t *testing.T) {
	const page, part, stranger = "https://www.page.test/a/b", "https://static.page.test/", "https://www.other.test/"
	for _, test := range []struct {
		name      string
		from      string
		lines     []string
		crossSite bool
		asked     string
		across    bool // requested from another site
		want      string
	}{
		{"none", page, nil, false, page, false, ""},
		{"the same host", page, []string{"a=b", "c=d; Secure"}, false, page, false, "a=b; c=d"},
		{"another host of the site", page, []string{"a=b", "c=d; Domain=page.test; Path=/"}, false, part, false, "c=d"},
		{"without a name", page, []string{"xxxx", "=yy", " z = z ; Path=/"}, false, page, false, "yy; z=z"}, // the second takes the place of the first
		{"odd values", page, []string{`a="b, c" d`, "e=f=g", "h=ü"}, false, page, false, `a="b, c" d; e=f=g; h=ü`},
		{"ignored", page, []string{"", "=", "a=\x01", "b=" + strings.Repeat("x", 4096)}, false, page, false, ""},
		{"of the maximum length", page, []string{"b=" + strings.Repeat("x", 4095)}, false, page, false, "b=" + strings.Repeat("x", 4095)},
		{"the longest path first", page, []string{"a=1; Path=/", "b=2; Path=/a"}, false, page, false, "b=2; a=1"},
		{"another path", page, []string{"a=1; Path=/c"}, false, page, false, ""},
		{"changed and deleted", page, []string{"a=1", "b=1", "a=2", "b=; Max-Age=0"}, false, page, false, "a=2"},
		{"expired", page, []string{"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, false, page, false, ""},
		{"of a public suffix", page, []string{"a=1; Domain=test"}, false, page, false, ""},
		{"another site's", stranger, []string{"a=1", "b=2; SameSite=Lax", "c=3; SameSite=None", "d=4; SameSite=None; Secure"}, true, stranger, true, "d=4"},
		{"to another site", stranger, []string{"a=1", "d=4; SameSite=None; Secure"}, false, stranger, true, "d=4"},
		{"to the own site", stranger, []string{"a=1", "d=4; SameSite=None; Secure"}, false, stranger, false, "a=1; d=4"},
		{"no longer for others", page, []string{"a=1; SameSite=None; Secure", "a=2"}, false, page, true, ""},
		{"for others, too", page, []string{"a=1", "a=2; SameSite=None; Secure"}, false, page, false, "a=2"},
		{"in the clear", "http://www.page.test/", []string{"a=1", "b=2; Secure"}, false, "http://www.page.test/", false, "a=1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := newCookies()
			must(t, err)
			from, err := url.Parse(test.from)
			must(t, err)
			to, err := url.Parse(test.asked)
			must(t, err)
			c.take(from, test.lines, test.crossSite)
			if got := c.field(to, test.across); got != test.want {
				t.Errorf("requested with %q, want %q", got, test.want)
			}
		})
	}
}

// TestMostCookies has one site, and then many, set more cookies than are kept: the oldest go. One that is set again is
// the newest.
func TestMostCookies(t *testing.T) {
	c, err := newCookies()
	must(t, err)
	set := func(host, line string) *url.URL {
		from := &url.URL{Scheme: "https", Host: host, Path: "/"}
		c.take(from, []string{line}, false)
		return from
	}
	var page *url.URL
	for i := range cookiesPerSite {
		page = set("www.page.test", fmt.Sprintf("a%d=1", i))
	}
	set("www.page.test", "a0=2")
	set("www.page.test", "last=1; Path=/"+strings.Repeat("x", attributeLimit))
	got := strings.Split(c.field(page, false), "; ")
	if len(got) != cookiesPerSite || !slices.Contains(got, "a0=2") || slices.Contains(got, "a1=1") || !slices.Contains(got, "last=1") {
		t.Errorf("a site has %d cookies: %q", len(got), got)
	}
	for i := range mostCookies {
		set(fmt.Sprintf("host%d.test", i), "a=1")
	}
	if got := c.field(page, false); got != "" || len(c.kept) != mostCookies {
		t.Errorf("%d cookies are kept, and the first site's are %q", len(c.kept), got)
	}
}

// FuzzParseCookie lets servers set anything: an accepted cookie can be sent in one line,
// and parses to the same again.
func FuzzParseCookie(f *testing.F) {
	for _, line := range []string{"a=b", "a=b; Secure; SameSite=None; Max-Age=5", "xxxx", "=; Path=/", " a = b=c ;;", "a\x00=b", ";", "a=\"b, c\"; Expires=x; Domain=.page.test"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		cookie := parseCookie(line)
		if cookie == nil || cookie.Name == "" && strings.Contains(cookie.Value, "=") {
			return // the latter are sent as if they had a name
		}
		c, err := newCookies()
		must(t, err)
		at := &url.URL{Scheme: "https", Host: "www.page.test", Path: "/"}
		c.take(at, []string{line}, false)
		field := c.field(at, false)
		if strings.ContainsAny(field, "\r\n\x00;") {
			t.Errorf("%q is sent as %q", line, field)
		}
		if again := parseCookie(field); field != "" && (again == nil || again.Name != cookie.Name || again.Value != cookie.Value) {
			t.Errorf("%q is sent as %q, which is parsed as %+v", line, field, again)
		}
	})
}
