package serve

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guarded answers only requests for allowed hosts. Loopback keeps other machines out but
// not the websites that this machine's browsers show: a website may let its own name point
// to 127.0.0.1 (DNS rebinding), and could then read everything served as its own.
type guarded struct {
	handler http.Handler
	hosts   hosts
}

func (g guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.hosts.allow(r.Host) {
		refuse(w, http.StatusMisdirectedRequest, "Host", r.Host)
		return
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.hosts.allowOrigin(origin) {
			refuse(w, http.StatusForbidden, "Origin", origin)
			return
		}
	}
	g.handler.ServeHTTP(w, r)
}

// refuse answers a request whose field names a host that is not allowed.
func refuse(w http.ResponseWriter, status int, field, value string) {
	http.Error(w, fmt.Sprintf("Not served for %s %q. If this is right, start the server with --allow-host NAME.", field, value), status)
}

// hosts are the names under which clients may request what is served, in lower case and
// without ports.
type hosts map[string]bool

func newHosts(names []string) hosts {
	h := hosts{}
	for _, name := range names {
		h[bare(name)] = true
	}
	return h
}

// bare returns the name in HOST or HOST:PORT.
func bare(host string) string {
	name := (&url.URL{Host: host}).Hostname()
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// allow reports whether a request may name a host: one of the names, a name or address of
// loopback (RFC 6761 section 6.3), or none at all, as in HTTP/1.0 and from no browser.
func (h hosts) allow(host string) bool {
	name := bare(host)
	if host == "" || h[name] || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// allowOrigin reports whether pages of an origin may send requests. The origin "null", of
// a sandboxed frame among others, has to be allowed by that name.
func (h hosts) allowOrigin(origin string) bool {
	if origin == "null" {
		return h[origin]
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && h.allow(u.Host)
}
