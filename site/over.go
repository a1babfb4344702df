package site

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/coding"
)

// rewrittenFields are those whose URLs browsers follow or compare, but for link, which
// preloads by them.
var rewrittenFields = []string{"access-control-allow-origin", "content-security-policy", "link", "location", "refresh"}

// Over makes the site as it is served over a scheme. Over https it is the site itself. Over
// http, text bodies and the fields that hold URLs name the site's own hosts in the clear, also
// where JSON or HTML escape the slashes: each reference is one octet less, or, with the port
// 443, five. Content codings are undone for that and done again, as hard as they
// had been done; a body that cannot be decoded, or that names none of the hosts, stays as it
// is. Sums of changed bodies that other resources demand (Subresource Integrity) follow.
// What has the content codings br or zstd has gzip instead, as near in size as that comes:
// browsers take those two over TLS alone.
//
// Resources keep their https URLs, which requests of both schemes match; the copy shares the
// bodies that did not change. Other schemes are an error.
func (s *Site) Over(scheme string) (*Site, error) {
	switch scheme {
	case "https":
		return s, nil
	case "http":
	default:
		return nil, fmt.Errorf("serve the site %s over %q: want http or https", s.Name, scheme)
	}
	c := s.derive()
	c.clear = true
	c.bodies = maps.Clone(s.bodies)
	hosts := map[string]bool{}
	for _, h := range s.Origins() {
		hosts[h] = true
	}
	changed := map[string]string{} // sums that Subresource Integrity may demand, as they become
	for i := range c.Resources {
		r := &c.Resources[i]
		r.Header = clearFields(r.Header, hosts)
		if err := c.gzipInstead(r); err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
		err := c.rewrite(r, func(text []byte) []byte { return clearReferences(text, hosts) }, changed)
		if err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
	}
	for i := range c.Resources {
		if len(changed) == 0 {
			break
		}
		err := c.rewrite(&c.Resources[i], func(text []byte) []byte { return replaceSums(text, changed) }, nil)
		if err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
	}
	return c, nil
}

// gzipInstead gives a resource the content coding gzip that has one which browsers take over
// TLS alone (Chromium's and Firefox's Accept-Encoding say so).
func (s *Site) gzipInstead(r *Resource) error {
	names, ok := r.codings()
	if !ok || !slices.Contains(names, "br") && !slices.Contains(names, "zstd") {
		return nil
	}
	body, err := s.Body(r)
	if err != nil {
		return err
	}
	plain, err := coding.Decode(body, names, maxDecoded)
	if err != nil {
		return nil //nolint:nilerr // the browser will not decode it either
	}
	level, err := nearestLevel("gzip", plain, len(body))
	if err == nil {
		body, err = coding.Encode(plain, "gzip", level)
	}
	if err != nil {
		return fmt.Errorf("encode the body of %s: %w", r.URL, err)
	}
	isCoding := func(h Header) bool { return strings.EqualFold(h.Name, "content-encoding") }
	first := slices.IndexFunc(r.Header, isCoding)
	fields := slices.Clone(r.Header)
	fields[first].Value = "gzip"
	r.Header = append(fields[:first+1], slices.DeleteFunc(fields[first+1:], isCoding)...)
	r.Body, r.Size = Hash(body), int64(len(body))
	s.bodies[r.Body] = body
	return nil
}

// rewrite changes a text body, within its content codings. The sums of what is changed are
// noted, unless that is nil.
func (s *Site) rewrite(r *Resource, change func([]byte) []byte, sums map[string]string) error {
	if !r.isText() {
		return nil
	}
	body, err := s.Body(r)
	if err != nil {
		return err
	}
	codings, ok := r.codings()
	if !ok {
		return nil
	}
	plain, err := coding.Decode(body, codings, maxDecoded)
	if err != nil {
		return nil //nolint:nilerr // the browser will not decode it either
	}
	text := change(plain)
	if bytes.Equal(text, plain) {
		return nil
	}
	again, err := encodeLike(text, plain, body, codings)
	if err != nil {
		return fmt.Errorf("encode the body of %s: %w", r.URL, err)
	}
	noteSums(sums, plain, text)
	r.Body, r.Size = Hash(again), int64(len(again))
	s.bodies[r.Body] = again
	return nil
}

// clearFields names the hosts in the clear in a copy of the fields, if one of them names any.
func clearFields(fields []Header, hosts map[string]bool) []Header {
	var copied []Header
	for i, h := range fields {
		if !slices.Contains(rewrittenFields, strings.ToLower(h.Name)) {
			continue
		}
		value := string(clearReferences([]byte(h.Value), hosts))
		if value == h.Value {
			continue
		}
		if copied == nil {
			copied = slices.Clone(fields)
		}
		copied[i].Value = value
	}
	if copied == nil {
		return fields
	}
	return copied
}

// clearReferences turns https://HOST into http://HOST for these hosts, and likewise with
// slashes that are escaped. A port 443 goes; with another port the reference
// stays, as it does to a longer name that begins with such a host.
func clearReferences(text []byte, hosts map[string]bool) []byte {
	const scheme = "https"
	var b bytes.Buffer
	kept := 0 // what is before it is in b
	for at := 0; ; {
		colon := bytes.IndexByte(text[at:], ':')
		if colon < 0 {
			break
		}
		colon += at
		at = colon + 1
		if colon < len(scheme) || !bytes.EqualFold(text[colon-len(scheme):colon], []byte(scheme)) {
			continue
		}
		begin := colon + 1 + slashes(text[colon+1:])
		if begin == colon+1 {
			continue
		}
		end := begin
		for end < len(text) && isHostOctet(text[end]) {
			end++
		}
		at = end
		// A full stop may end a sentence.
		name := bytes.TrimRight(text[begin:end], ".")
		if !hosts[strings.ToLower(string(name))] {
			continue
		}
		after := end
		if end < len(text) && text[end] == ':' && end+1 < len(text) && isDigit(text[end+1]) {
			after++
			for after < len(text) && isDigit(text[after]) {
				after++
			}
			if string(text[end:after]) != ":443" {
				continue
			}
		}
		b.Write(text[kept : colon-1]) // without the s
		b.Write(text[colon:end])
		kept, at = after, after
	}
	if kept == 0 {
		return text
	}
	b.Write(text[kept:])
	return b.Bytes()
}

// slashes is how many octets the // at the beginning has, as it is or escaped as JSON or HTML
// have it; 0 if there is none.
func slashes(text []byte) int {
	for _, form := range []string{"//", `\/\/`, `\u002F\u002F`, `\u002f\u002f`, "&#x2F;&#x2F;", "&#x2f;&#x2f;", "&#47;&#47;"} {
		if bytes.HasPrefix(text, []byte(form)) {
			return len(form)
		}
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHostOctet(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
}

// isText says whether a body is of a type that holds references as text.
func (r *Resource) isText() bool {
	t := r.mediaType()
	if strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") {
		return true
	}
	switch t {
	case "application/javascript", "application/x-javascript", "application/ecmascript", "application/json", "application/xml", "application/json+protobuf":
		return true
	}
	return false
}
