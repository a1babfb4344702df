package recording

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// invented is the domain for hosts whose own names are not valid in a site (RFC 6761
// section 6.2).
const invented = ".recorded.test"

// addresses maps the hosts of a recording to their names in the site.
type addresses struct {
	names map[string]string // host or host:port as recorded, in lower case
	taken map[string]string // the inverse, for hosts alone
}

// address is a URL in parts, as a browser would send it (https://url.spec.whatwg.org/).
type address struct {
	scheme string // in lower case
	host   string // in lower case
	port   string // empty: the scheme's own
	rest   string // path and query
}

// parseAddress parses a URL. For a URL that is not fetched over HTTP it returns only the
// scheme.
func parseAddress(raw string) (address, error) {
	raw = strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	raw = unbroken.Replace(raw)
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok {
		return address{}, fmt.Errorf("%.100q has no scheme", raw)
	}
	a := address{scheme: strings.ToLower(scheme)}
	if a.scheme != "http" && a.scheme != "https" {
		return a, nil
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?`)
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	if err := a.setHost(authority); err != nil {
		return a, fmt.Errorf("%.100q: %w", raw, err)
	}
	path, query, hasQuery := strings.Cut(path, "?")
	var b strings.Builder
	escapeURL(&b, repairPercents(removeDots(strings.ReplaceAll(path, `\`, "/"))), `"<>^`+"`{}")
	if hasQuery {
		b.WriteByte('?')
		escapeURL(&b, query, `"<>'`)
	}
	a.rest = b.String()
	return a, nil
}

// unbroken removes the characters that the URL Standard removes.
var unbroken = strings.NewReplacer("\t", "", "\n", "", "\r", "")

func (a *address) setHost(authority string) error {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
	}
	if strings.Trim(port, "0123456789") != "" || len(port) > 5 {
		return fmt.Errorf("invalid port %.100q", port)
	}
	if a.scheme == "http" && port != "80" || a.scheme == "https" && port != "443" {
		a.port = port
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if strings.Trim(host, ".") == "" {
		return fmt.Errorf("no host")
	}
	a.host = host
	return nil
}

// removeDots removes "." and ".." from a path. The result begins with a slash.
func removeDots(path string) string {
	if strings.HasPrefix(path, "/") && !strings.Contains(path, "/.") && !strings.Contains(path, "/%2") {
		return path
	}
	var out []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			out = out[:max(0, len(out)-1)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
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

// escapeURL writes s with characters percent-encoded that are not allowed in a URL.
func escapeURL(b *strings.Builder, s, more string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(more, c) >= 0 {
			fmt.Fprintf(b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
}

// authority returns the host's name in the recording.
func (a address) authority() string {
	if a.port == "" {
		return a.host
	}
	return a.host + ":" + a.port
}

// add registers a host and returns its name in the site.
func (k *addresses) add(a address) string {
	if name, ok := k.names[a.authority()]; ok {
		return name
	}
	name, ok := k.names[a.host]
	if !ok {
		if whole := strings.TrimRight(a.host, "."); whole != a.host { // the same host to the DNS
			name = k.add(address{host: whole})
		} else {
			name = k.free(a.host)
		}
		k.names[a.host] = name
	}
	k.names[a.authority()] = name
	return name
}

// url returns an address as a URL of the site if its host is known.
func (k *addresses) url(a address) (string, bool) {
	name, ok := k.names[a.authority()]
	return "https://" + name + a.rest, ok
}

// resolve resolves a reference against a base.
func resolve(base address, reference string) (address, bool) {
	u, err := url.Parse(base.scheme + "://" + base.authority() + base.rest)
	if err != nil {
		return address{}, false
	}
	reference = strings.TrimSpace(reference)
	to, err := u.Parse(reference)
	if err != nil { // browsers accept more than net/url
		var b strings.Builder
		escapeURL(&b, repairPercents(reference), "")
		if to, err = u.Parse(b.String()); err != nil {
			return address{}, false
		}
	}
	a, err := parseAddress(to.String())
	return a, err == nil && a.host != ""
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
	switch ip, err := netip.ParseAddr(host); {
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
	base := name
	for i := 2; k.taken[name] != "" && k.taken[name] != host; i++ {
		name = fmt.Sprintf("n%d.%s", i, base)
		if len(name) > maxHost {
			name = fmt.Sprintf("n%d%s", i, invented)
		}
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
