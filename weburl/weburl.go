// Package weburl parses and resolves the URLs of pages like a browser, where net/url follows RFC
// 3986 (https://url.spec.whatwg.org/).
//
// It is for the schemes that pages are fetched over, http and https. It does not convert IPv4
// addresses that are written in another way than as four decimal numbers.
package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// URL is an absolute URL as a browser sends and compares it. It has no fragment, which is never
// sent and does not make a different resource.
type URL struct {
	Scheme string // in lower case
	User   string // user:password; empty: none
	Host   string // in lower case and ASCII, an IPv6 address in brackets
	Port   string // empty: the scheme's own
	Path   string // path and query; begins with a slash
}

// String returns the URL in the form that Parse accepts.
func (u URL) String() string {
	var b strings.Builder
	b.Grow(len(u.Scheme) + len(u.User) + len(u.Host) + len(u.Port) + len(u.Path) + len("://@:"))
	b.WriteString(u.Scheme + "://")
	if u.User != "" {
		b.WriteString(u.User + "@")
	}
	b.WriteString(u.Authority() + u.Path)
	return b.String()
}

// Authority returns the host, with the port unless it is the scheme's own.
func (u URL) Authority() string {
	if u.Port == "" {
		return u.Host
	}
	return u.Host + ":" + u.Port
}

// Parse parses an absolute URL. If its scheme is neither http nor https, Parse returns only the
// scheme. It fails if the URL has no scheme, or its host or port is invalid.
func Parse(raw string) (URL, error) {
	scheme, rest, ok := cutScheme(clean(raw))
	if !ok {
		return URL{}, fmt.Errorf("parse the URL %.100q: no scheme", raw)
	}
	if !fetched(scheme) {
		return URL{Scheme: scheme}, nil
	}
	u, err := normalize(scheme, strings.TrimLeft(rest, "/"))
	if err != nil {
		return URL{}, fmt.Errorf("parse the URL %.100q: %w", raw, err)
	}
	return u, nil
}

// Resolve makes a reference absolute. The base is an absolute URL as URL.String returns it, or
// empty if the reference has to be absolute itself. Resolve returns false for anything not fetched
// over HTTP: data:, blob:, javascript:, about: and other schemes, and URLs without a valid host.
func Resolve(base, reference string) (string, bool) {
	ref := clean(reference)
	baseScheme, rest, _ := cutScheme(base)
	if scheme, after, ok := cutScheme(ref); ok {
		if !fetched(scheme) {
			return "", false
		}
		if strings.HasPrefix(after, "//") || scheme != baseScheme {
			return absolute(scheme, after)
		}
		ref = after // "http:image.png" is relative to a base of the same scheme
	}
	if !fetched(baseScheme) {
		return "", false
	}
	rest = strings.TrimLeft(rest, "/")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	path, _, _ = strings.Cut(path, "#")
	switch {
	case strings.HasPrefix(ref, "//"):
		return absolute(baseScheme, ref)
	case strings.HasPrefix(ref, "/"):
		return absolute(baseScheme, authority+ref)
	case ref == "":
		return absolute(baseScheme, authority+path)
	}
	path, _, _ = strings.Cut(path, "?")
	if strings.HasPrefix(ref, "?") {
		return absolute(baseScheme, authority+path+ref)
	}
	return absolute(baseScheme, authority+path[:strings.LastIndexByte(path, '/')+1]+"/"[:slashMissing(path)]+ref)
}

// fetched reports whether pages are fetched over a scheme.
func fetched(scheme string) bool { return scheme == "http" || scheme == "https" }

// slashMissing returns 1 for the path of a base such as "http://host", else 0.
func slashMissing(path string) int {
	if strings.HasPrefix(path, "/") {
		return 0
	}
	return 1
}

// clean drops the characters that the URL parser ignores, and the fragment, and replaces
// backslashes by the slashes they stand for.
func clean(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(s, "\t\n\r") {
		s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	}
	s, _, _ = strings.Cut(s, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	if strings.Contains(path, `\`) {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if hasQuery {
		return path + "?" + query
	}
	return path
}

// cutScheme splits off a URL's scheme, in lower case.
func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return strings.ToLower(s[:i]), s[i+1:], true
		default:
			return "", "", false
		}
	}
	return "", "", false
}

// absolute writes an absolute URL from its scheme and what follows the scheme's colon.
func absolute(scheme, rest string) (string, bool) {
	u, err := normalize(scheme, strings.TrimLeft(rest, "/"))
	if err != nil {
		return "", false
	}
	return u.String(), true
}

// normalize parses what follows the slashes of an absolute URL.
func normalize(scheme, rest string) (URL, error) {
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	u := URL{Scheme: scheme}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		u.User, authority = escape(authority[:i], "\"<>@[\\]^`{|};="), authority[i+1:]
	}
	if err := u.setHost(authority); err != nil {
		return URL{}, err
	}
	path, query, hasQuery := strings.Cut(path, "?")
	u.Path = escape(removeDots(path), "\"<>^`{}")
	if hasQuery {
		u.Path += "?" + escape(query, "\"<>'")
	}
	return u, nil
}

// maxHost limits what is converted to ASCII: 253 characters (RFC 1035 section 2.3.4) of up to four
// octets.
const maxHost = 4 * 253

func (u *URL) setHost(authority string) error {
	host := authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host = authority[:i]
		if err := u.setPort(authority[i+1:]); err != nil {
			return err
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !strings.HasSuffix(inner, "]") || !address.Is6() || address.Zone() != "" {
			return fmt.Errorf("invalid IPv6 address %.100q", host)
		}
		u.Host = "[" + address.String() + "]"
		return nil
	}
	u.Host = strings.ToLower(host)
	// IDNA rejects hosts with underscores, which exist in DNS. It takes time that grows with the
	// square of the length.
	if len(u.Host) <= maxHost {
		if ascii, err := idna.Lookup.ToASCII(u.Host); err == nil {
			u.Host = ascii
		}
	}
	if u.Host == "" {
		return errors.New("no host")
	}
	if strings.ContainsFunc(u.Host, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("#%/<>?@[\\]^|:", r)
	}) {
		return fmt.Errorf("invalid host %.100q", host)
	}
	return nil
}

func (u *URL) setPort(port string) error {
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("invalid port %.100q", port)
	}
	if u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443 {
		return nil
	}
	u.Port = strconv.FormatUint(n, 10)
	return nil
}

// removeDots removes "." and ".." from a path. The result begins with a slash.
func removeDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.Contains(path, "/%2") && strings.HasPrefix(path, "/") {
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

// escape percent-encodes the characters of s that a URL must not contain, and more.
func escape(s, more string) string {
	const hex = "0123456789ABCDEF"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(more, r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(more, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
