package builtin

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// cookies are a browser session's cookies, accepted and sent like Chromium: including
// those without a name, and to other sites than the page's only those with SameSite=None
// (RFC 6265bis, sections 5.6 to 5.8; Strict is treated like Lax, since all pages are
// navigated to by the user).
type cookies struct {
	own  http.CookieJar // for requests to the page's own site
	none http.CookieJar // with SameSite=None, for all sites
}

func newCookies() (c cookies, err error) {
	for _, jar := range []*http.CookieJar{&c.own, &c.none} {
		if *jar, err = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}); err != nil {
			return c, fmt.Errorf("create a cookie jar: %w", err)
		}
	}
	return c, nil
}

// take stores the cookies of a response's Set-Cookie lines.
func (c cookies) take(from *url.URL, lines []string, crossSite bool) {
	for _, line := range lines {
		cookie := parseCookie(line)
		if cookie == nil || cookie.Secure && from.Scheme != "https" {
			continue
		}
		to, other := c.own, c.none
		if cookie.SameSite == http.SameSiteNoneMode {
			if !cookie.Secure {
				continue
			}
			to, other = other, to
		} else if crossSite {
			continue
		}
		to.SetCookies(from, []*http.Cookie{cookie})
		gone := *cookie
		gone.MaxAge = -1
		other.SetCookies(from, []*http.Cookie{&gone})
	}
}

// field returns the Cookie field of a request, or "".
func (c cookies) field(to *url.URL, crossSite bool) string {
	given := c.none.Cookies(to)
	if !crossSite {
		given = append(c.own.Cookies(to), given...)
	}
	pairs := make([]string, len(given))
	for i, cookie := range given {
		pairs[i] = cookie.Value
		if cookie.Name != "" {
			pairs[i] = cookie.Name + "=" + cookie.Value
		}
	}
	return strings.Join(pairs, "; ")
}

// cookieLimit is the maximum length of name and value together, in octets (RFC 6265bis
// section 5.6).
const cookieLimit = 4096

// parseCookie parses a line of Set-Cookie (RFC 6265bis section 5.6); net/http accepts
// only well-formed ones. It returns nil for a line to ignore.
func parseCookie(line string) *http.Cookie {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	name, value = strings.Trim(name, " \t"), strings.Trim(value, " \t")
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if name+value == "" || len(name)+len(value) > cookieLimit || strings.ContainsFunc(line, control) {
		return nil
	}
	cookie, err := http.ParseSetCookie("name=value;" + attributes)
	if err != nil {
		return nil
	}
	cookie.Name, cookie.Value = name, value
	return cookie
}
