package site

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/coding"
)

// rewrittenFields lists the fields whose URLs browsers follow or compare, except link.
var rewrittenFields = []string{"access-control-allow-origin", "content-security-policy", "link", "location", "refresh"}

// Over returns the site as it is served over a scheme. Over https it is the site itself.
// Over http, text bodies and URL fields name the site's own hosts with http, even where
// JSON or HTML escape the slashes: each reference becomes one octet shorter, or five with
// port 443. Over undoes content codings for that and applies them again at a similar level.
// A body stays as it is if it cannot be decoded or names none of the hosts. Digests that
// other resources demand (Subresource Integrity) are updated. Bodies with the content
// codings br or zstd become gzip of about the same size, because browsers accept the two
// only over TLS.
//
// Resources keep their https URLs, which match requests of both schemes. The copy shares
// unchanged bodies. Any other scheme is an error.
func (s *Site) Over(scheme string) (*Site, error) {
	switch scheme {
	case "https":
		return s, nil
	case "http":
	default:
		return nil, fmt.Errorf("serve the site %s over %q: unsupported scheme: want http or https", s.Name, scheme)
	}
	c := s.derive()
	c.clear = true
	c.bodies = maps.Clone(s.bodies)
	hosts := map[string]bool{}
	for _, h := range s.Origins() {
		hosts[h] = true
	}
	changed := map[string]string{} // old to new digests, for Subresource Integrity
	work := newRewriter(func(text []byte) []byte { return clearReferences(text, hosts) }, changed)
	for i := range c.Resources {
		r := &c.Resources[i]
		r.Header = clearFields(r.Header, hosts)
		if err := c.gzipInstead(r, work); err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
		if err := c.rewrite(r, work); err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
	}
	sums := newRewriter(func(text []byte) []byte { return replaceSums(text, changed) }, nil)
	for i := range c.Resources {
		if len(changed) == 0 {
			break
		}
		if err := c.rewrite(&c.Resources[i], sums); err != nil {
			return nil, fmt.Errorf("serve the site %s over %s: %w", s.Name, scheme, err)
		}
	}
	return c, nil
}

// rewriter changes the text of bodies. Resources may share a body, which is decoded and changed
// once: otherwise a short site.json could stand for any number of long bodies.
type rewriter struct {
	change func([]byte) []byte
	sums   map[string]string    // digests of bodies before and after; nil: not wanted
	done   map[[2]string]string // hash of the result by the hash and the codings of a body
	left   int64                // octets of decoded bodies that may still be read
}

func newRewriter(change func([]byte) []byte, sums map[string]string) *rewriter {
	return &rewriter{change: change, sums: sums, done: map[[2]string]string{}, left: maxDecodedTotal}
}

// errBomb says that a site's bodies are too long when decoded.
var errBomb = fmt.Errorf("the bodies together have more than %d octets when decoded: remove some with wiretime site edit --drop", int64(maxDecodedTotal))

// decode undoes codings, within what is left. ok is false for a body that browsers cannot decode
// either.
func (w *rewriter) decode(body []byte, codings []string) (plain []byte, ok bool, err error) {
	plain, wrong := coding.Decode(body, codings, min(maxDecoded, w.left))
	switch {
	case wrong == nil:
		w.left -= int64(len(plain))
		return plain, true, nil
	case errors.Is(wrong, coding.ErrTooLong):
		if w.left < maxDecoded {
			return nil, false, errBomb
		}
		w.left -= maxDecoded
	}
	return nil, false, nil
}

// gzipInstead recodes a resource as gzip if browsers accept its content coding only over
// TLS, as the Accept-Encoding of Chromium and Firefox shows.
func (s *Site) gzipInstead(r *Resource, w *rewriter) error {
	names, ok := r.codings()
	if !ok || !slices.Contains(names, "br") && !slices.Contains(names, "zstd") {
		return nil
	}
	body, err := s.Body(r)
	if err != nil {
		return err
	}
	id := [2]string{r.Body, "gzip instead of " + strings.Join(names, ",")}
	hash, done := w.done[id]
	if !done {
		plain, ok, err := w.decode(body, names)
		if err != nil {
			return fmt.Errorf("decode the body of %s: %w", r.URL, err)
		}
		if ok {
			level, err := nearestLevel("gzip", plain, len(body))
			if err == nil {
				body, err = coding.Encode(plain, "gzip", level)
			}
			if err != nil {
				return fmt.Errorf("encode the body of %s: %w", r.URL, err)
			}
			hash = Hash(body)
			s.bodies[hash] = body
		}
		w.done[id] = hash
	}
	if hash == "" {
		return nil // the browser will not decode it either
	}
	isCoding := func(h Header) bool { return strings.EqualFold(h.Name, "content-encoding") }
	first := slices.IndexFunc(r.Header, isCoding)
	fields := slices.Clone(r.Header)
	fields[first].Value = "gzip"
	r.Header = append(fields[:first+1], slices.DeleteFunc(fields[first+1:], isCoding)...)
	r.Body, r.Size = hash, int64(len(s.bodies[hash]))
	return nil
}

// rewrite changes a text body inside its content codings.
func (s *Site) rewrite(r *Resource, w *rewriter) error {
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
	id := [2]string{r.Body, strings.Join(codings, ",")}
	hash, done := w.done[id]
	if !done {
		plain, ok, err := w.decode(body, codings)
		if err != nil {
			return fmt.Errorf("decode the body of %s: %w", r.URL, err)
		}
		hash = r.Body
		if ok { // otherwise the browser will not decode it either
			if hash, err = s.change(w, body, plain, codings); err != nil {
				return fmt.Errorf("encode the body of %s: %w", r.URL, err)
			}
		}
		w.done[id] = hash
	}
	r.Body, r.Size = hash, int64(len(s.bodies[hash]))
	return nil
}

// change returns the hash of a body with its text changed.
func (s *Site) change(w *rewriter, body, plain []byte, codings []string) (string, error) {
	text := w.change(plain)
	if bytes.Equal(text, plain) {
		return Hash(body), nil
	}
	again, err := encodeLike(text, plain, body, codings)
	if err != nil {
		return "", err
	}
	noteSums(w.sums, plain, text)
	hash := Hash(again)
	s.bodies[hash] = again
	return hash, nil
}

// clearFields returns the fields with the hosts named over http. It copies them only if one
// changes.
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
// escaped slashes. It removes port 443. References with another port, or to a longer name
// that begins with such a host, stay unchanged.
func clearReferences(text []byte, hosts map[string]bool) []byte {
	const scheme = "https"
	var b bytes.Buffer
	kept := 0 // text before it is in b
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
		// The reference may end with a sentence's full stop.
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
		b.Write(text[kept : colon-1]) // drops the s
		b.Write(text[colon:end])
		kept, at = after, after
	}
	if kept == 0 {
		return text
	}
	b.Write(text[kept:])
	return b.Bytes()
}

// slashes returns the length in octets of the // at the beginning, plain or escaped as in
// JSON or HTML, or 0 if there is none.
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

// isText reports whether a body's type holds references as text.
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
