package recording

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"wiretime/weburl"
)

// invented is the domain for hosts whose own names are not valid in a site (RFC 6761
// section 6.2).
const invented = ".recorded.test"

// addresses maps the hosts of a recording to their names in the site.
type addresses struct {
	names map[string]string // host or host:port as recorded, in lower case
	taken map[string]string // the inverse, for hosts alone
	next  map[string]int    // the number to try next for a name that is taken
}

func newAddresses() addresses {
	return addresses{names: map[string]string{}, taken: map[string]string{}, next: map[string]int{}}
}

// address is a URL of a recording.
type address struct{ weburl.URL }

// parseAddress parses a URL. For a URL that is not fetched over HTTP it returns only the
// scheme.
func parseAddress(raw string) (address, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return address{}, err
	}
	if u.Host != "" && strings.Trim(u.Host, ".") == "" {
		return address{}, fmt.Errorf("%.100q: no host", raw)
	}
	u.User = ""
	path, query, hasQuery := strings.Cut(u.Path, "?")
	if u.Path = repairPercents(path); hasQuery {
		u.Path += "?" + query
	}
	return address{u}, nil
}

// repairPercents escapes stray percent signs of a path: browsers send them, but net/http
// rejects them.
func repairPercents(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		b.WriteByte(path[i])
		if path[i] == '%' && !(i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// add registers a host and returns its name in the site.
func (k *addresses) add(a address) string {
	if name, ok := k.names[a.Authority()]; ok {
		return name
	}
	name, ok := k.names[a.Host]
	if !ok {
		if whole := strings.TrimRight(a.Host, "."); whole != a.Host { // the same host to the DNS
			name = k.add(address{weburl.URL{Host: whole}})
		} else {
			name = k.free(a.Host)
		}
		k.names[a.Host] = name
	}
	k.names[a.Authority()] = name
	return name
}

// url returns an address as a URL of the site if its host is known.
func (k *addresses) url(a address) (string, bool) {
	name, ok := k.names[a.Authority()]
	return "https://" + name + a.Path, ok
}

// resolve resolves a reference against a base.
func resolve(base address, reference string) (address, bool) {
	u, ok := weburl.Resolve(base.String(), reference)
	if !ok {
		return address{}, false
	}
	a, err := parseAddress(u)
	return a, err == nil
}

// locate resolves a reference against a base and returns its URL in the site.
func (k *addresses) locate(base address, reference string) (string, bool) {
	a, ok := resolve(base, reference)
	if !ok {
		return "", false
	}
	return k.url(a)
}

// servable matches host names that are valid in a site.
var servable = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxHost is the longest host name (RFC 1035 section 2.3.4).
const maxHost = 253

// free returns a valid name for a host that no other host of the site has.
func (k *addresses) free(host string) string {
	name := host
	switch ip, err := netip.ParseAddr(strings.Trim(host, "[]")); {
	case err == nil:
		name = "ip-" + label(ip.String()) + invented
	case !strings.Contains(strings.Trim(host, "."), ".") && servable.MatchString(label(host)+invented):
		name = label(host) + invented
	}
	if !servable.MatchString(name) || len(name) > maxHost {
		var labels []string
		for part := range strings.SplitSeq(name, ".") {
			if part = label(part); part != "" {
				labels = append(labels, part)
			}
		}
		name = strings.Join(labels, ".")
	}
	if !servable.MatchString(name) || len(name) > maxHost {
		name = label(name[:min(len(name), 50)]) + invented
	}
	if !servable.MatchString(name) {
		name = "host" + invented
	}
	base := "." + name
	if len("n100000")+len(base) > maxHost {
		base = invented
	}
	for k.taken[name] != "" && k.taken[name] != host {
		k.next[base]++
		name = fmt.Sprintf("n%d%s", k.next[base]+1, base)
	}
	k.taken[name] = host
	return name
}

// label turns nearly valid text into a DNS label.
func label(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
	return strings.Trim(s[:min(len(s), 63)], "-")
}

// key identifies a request as a site does: by method, host, decoded path, and query.
func key(method, siteURL string) string {
	rest := strings.TrimPrefix(siteURL, "https://")
	rest, query, hasQuery := strings.Cut(rest, "?")
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		if decoded, err := url.PathUnescape(segment); err == nil && i > 0 {
			segments[i] = url.PathEscape(decoded)
		}
	}
	k := method + " " + strings.Join(segments, "/")
	if hasQuery && query != "" {
		k += "?" + query
	}
	return k
}
