package page

import (
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// resolve makes a reference absolute, like the URL Standard's parser for
// special schemes (https://url.spec.whatwg.org/). It returns false for anything
// not fetched over the network: data:, blob:, javascript:, about: and other
// schemes, and URLs without a valid host. It drops the fragment, which is never
// sent and does not make a different resource.
func resolve(base, reference string) (string, bool) {
	ref := cleanReference(reference)
	if scheme, rest, ok := cutScheme(ref); ok {
		if scheme != "http" && scheme != "https" {
			return "", false
		}
		baseScheme, _, _ := cutScheme(base)
		if strings.HasPrefix(rest, "/") || scheme != baseScheme {
			return normalize(scheme, strings.TrimLeft(rest, "/"))
		}
		ref = rest // "http:image.png" is relative to a base of the same scheme
	}
	scheme, rest, ok := cutScheme(base)
	if !ok || scheme != "http" && scheme != "https" {
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
		return normalize(scheme, strings.TrimLeft(ref, "/"))
	case strings.HasPrefix(ref, "/"):
		return normalize(scheme, authority+ref)
	case ref == "":
		return normalize(scheme, authority+path)
	}
	path, _, _ = strings.Cut(path, "?")
	if strings.HasPrefix(ref, "?") {
		return normalize(scheme, authority+path+ref)
	}
	return normalize(scheme, authority+path[:strings.LastIndexByte(path, '/')+1]+"/"[:slashMissing(path)]+ref)
}

// slashMissing returns 1 for the path of a base such as "http://host", else 0.
func slashMissing(path string) int {
	if strings.HasPrefix(path, "/") {
		return 0
	}
	return 1
}

// cleanReference drops the characters that the URL parser ignores, and the
// fragment, and replaces backslashes by the slashes they stand for.
func cleanReference(s string) string {
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

// normalize writes an absolute URL in the form in which browsers send and
// compare it.
func normalize(scheme, rest string) (string, bool) {
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, authority = authority[:i+1], authority[i+1:]
	}
	host, ok := normalizeHost(scheme, authority)
	if !ok {
		return "", false
	}
	path, query, hasQuery := strings.Cut(path, "?")
	var b strings.Builder
	b.Grow(len(scheme) + len(rest) + 4)
	b.WriteString(scheme + "://" + user + host)
	escape(&b, removeDots(path), `"<>^`+"`{}")
	if hasQuery {
		b.WriteByte('?')
		escape(&b, query, `"<>'`)
	}
	return b.String(), true
}

func normalizeHost(scheme, authority string) (string, bool) {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
	}
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	if port == "80" && scheme == "http" || port == "443" && scheme == "https" {
		port = ""
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !address.Is6() || address.Zone() != "" {
			return "", false
		}
		host = "[" + address.String() + "]"
	} else {
		ascii, err := idna.Lookup.ToASCII(strings.ToLower(host))
		if err != nil {
			// IDNA rejects hosts with underscores, which exist in DNS.
			ascii = strings.ToLower(host)
		}
		if ascii == "" || strings.ContainsFunc(ascii, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune("#%/<>?@[\\]^|:", r)
		}) {
			return "", false
		}
		host = ascii
	}
	if port == "" {
		return host, true
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port), true
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

// escape writes s with the characters percent-encoded that a URL must not
// contain.
func escape(b *strings.Builder, s, more string) {
	const hex = "0123456789ABCDEF"
	s = strings.ToValidUTF8(s, "\uFFFD")
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
}
