package builtin

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
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
	kept []keptCookie   // in both, the oldest first
}

// keptCookie is a cookie that counts towards the limits.
type keptCookie struct {
	site   string
	from   *url.URL // that set it
	cookie *http.Cookie
}

// How many cookies a browser session keeps: as in Chromium (net/cookies/cookie_monster.h).
const (
	cookiesPerSite = 180
	mostCookies    = 3300
)

func newCookies() (c cookies, err error) {
	for _, jar := range []*http.CookieJar{&c.own, &c.none} {
		if *jar, err = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}); err != nil {
			return c, fmt.Errorf("create a cookie jar: %w", err)
		}
	}
	return c, nil
}

// take stores the cookies of a response's Set-Cookie lines.
func (c *cookies) take(from *url.URL, lines []string, crossSite bool) {
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
		remove(other, from, cookie)
		c.count(from, cookie)
	}
}

func remove(from http.CookieJar, u *url.URL, cookie *http.Cookie) {
	gone := *cookie
	gone.MaxAge = -1
	from.SetCookies(u, []*http.Cookie{&gone})
}

// siteOf returns the domain that a cookie of a URL counts for.
func siteOf(u *url.URL) string {
	site, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
	if err != nil {
		return u.Hostname()
	}
	return site
}

// count counts a cookie that was set, as the newest, and removes the oldest one beyond the limits.
func (c *cookies) count(from *url.URL, cookie *http.Cookie) {
	site := siteOf(from)
	c.kept = slices.DeleteFunc(c.kept, func(k keptCookie) bool {
		return k.site == site && k.from.Host == from.Host && k.cookie.Name == cookie.Name && k.cookie.Path == cookie.Path && k.cookie.Domain == cookie.Domain
	})
	if cookie.MaxAge < 0 {
		return
	}
	c.kept = append(c.kept, keptCookie{site, from, cookie})
	ofSite, oldest := 0, 0
	for i, k := range slices.Backward(c.kept) {
		if k.site == site {
			ofSite, oldest = ofSite+1, i
		}
	}
	switch {
	case ofSite > cookiesPerSite:
	case len(c.kept) > mostCookies:
		oldest = 0
	default:
		return
	}
	old := c.kept[oldest]
	for _, jar := range []http.CookieJar{c.own, c.none} {
		remove(jar, old.from, old.cookie)
	}
	c.kept = slices.Delete(c.kept, oldest, oldest+1)
}

// field returns the Cookie field of a request, or "".
func (c *cookies) field(to *url.URL, crossSite bool) string {
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

// attributeLimit is the maximum length of an attribute; a longer one is ignored (the same section). Only a path can be
// that long: a domain must be the host's.
const attributeLimit = 1024

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
	// Nothing keeps the line, which may be much longer.
	cookie.Name, cookie.Value, cookie.Domain, cookie.Path = strings.Clone(name), strings.Clone(value), strings.Clone(cookie.Domain), strings.Clone(cookie.Path)
	cookie.Raw, cookie.Unparsed, cookie.RawExpires = "", nil, ""
	if len(cookie.Path) > attributeLimit {
		cookie.Path = ""
	}
	return cookie
}
