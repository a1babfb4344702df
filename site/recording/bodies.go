package recording

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"wiretime/coding"
)

// takeBodies takes over the recorded bodies: decoded, so that scripts can be searched, and
// with hosts renamed to their names in the site.
func (m *maker) takeBodies() {
	kept := m.nodes[:0]
	for _, n := range m.nodes {
		n.coding = recode(n.codings())
		if n.made || m.takeBody(n) {
			kept = append(kept, n)
			continue
		}
		k := key(n.method, n.url)
		delete(m.byKey, k)
		delete(m.byURL, k)
	}
	m.nodes = kept
}

// takeBody returns false if it leaves out the response.
func (m *maker) takeBody(n *node) bool {
	codings := n.codings()
	n.body = n.Body
	if n.Encoded && codings != "" {
		content, err := coding.Decode(n.Body, coding.Names(codings), min(m.limits.Body, m.left))
		if err != nil {
			m.repairs.leave(n.Where, "response", "%s left out: the body cannot be decoded or is too large when decoded")
			return false
		}
		n.body = content
		if n.coding == strings.ToLower(strings.TrimSpace(codings)) {
			n.sent = n.Body // unless the body has to be changed
		}
	}
	if int64(len(n.body)) > m.left {
		m.repairs.leave(n.Where, "response", fmt.Sprintf("%%s left out: all bodies together would exceed %d octets (--max-size)", m.limits.Total))
		return false
	}
	m.left -= int64(len(n.body))
	if !isText(n.recordedType()) {
		return true
	}
	body, changed := m.hosts.rewrite(n.body)
	if isHTML(n.recordedType()) {
		var blanked bool
		if body, blanked = withoutMetaUpgrade(body); blanked {
			changed = true
		}
	}
	if changed {
		n.body, n.sent = body, nil
		m.repairs.note(n.Where, "body", "%s in which URLs were rewritten to the site's host names")
	}
	return true
}

// codings returns the content codings of the response as recorded.
func (n *node) codings() string {
	var all []string
	for _, h := range n.Header {
		if strings.EqualFold(h.Name, "content-encoding") {
			all = append(all, h.Value)
		}
	}
	return strings.Join(all, ",")
}

// send encodes a recorded body as it is sent.
func (n *node) send(by *coder) error {
	if n.made || n.sent != nil {
		return nil
	}
	if len(n.body) == 0 || n.status == http.StatusNoContent {
		n.body, n.sent, n.coding = nil, nil, ""
		return nil
	}
	sent, err := by.encode(n.body, n.coding)
	n.sent = sent
	return err
}

// rewrite renames hosts of the recording to their names in the site and turns their http
// URLs into https, even where slashes are escaped as in JSON. If nothing changes, it
// returns text itself.
func (k *addresses) rewrite(text []byte) (out []byte, changed bool) {
	written := 0
	for at := 0; at < len(text); {
		slash := bytes.IndexByte(text[at:], '/')
		if slash < 0 {
			break
		}
		from, to := at+slash, at+slash+1
		if from > 0 && text[from-1] == '\\' {
			from--
		}
		switch {
		case bytes.HasPrefix(text[to:], []byte("/")) && text[from] == '/':
			to++
		case bytes.HasPrefix(text[to:], []byte(`\/`)):
			to += 2
		default:
			at = to
			continue
		}
		at = to
		end := to
		for end < len(text) && isAuthority(text[end]) {
			end++
		}
		authority := bytes.TrimRight(text[to:end], ".:")
		if bytes.HasPrefix(text[to+len(authority):end], []byte(".")) && k.names[strings.ToLower(string(authority))+"."] != "" {
			authority = text[to : to+len(authority)+1]
		}
		begin, scheme := schemeBefore(text[written:from])
		begin += written
		name, known := k.find(scheme, strings.ToLower(string(authority)))
		if !known || scheme != "http" && name == string(authority) {
			continue
		}
		out = append(out, text[written:begin]...)
		if scheme != "" {
			out = append(out, "https:"...)
		}
		out = append(out, text[from:to]...)
		out = append(out, name...)
		written = to + len(authority)
		at = written
	}
	if written == 0 {
		return text, false
	}
	return append(out, text[written:]...), true
}

// find returns the site's name of a host that occurs in a text.
func (k *addresses) find(scheme, authority string) (string, bool) {
	switch scheme {
	case "http":
		authority = strings.TrimSuffix(authority, ":80")
	case "https":
		authority = strings.TrimSuffix(authority, ":443")
	}
	name, ok := k.names[authority]
	return name, ok
}

func isAuthority(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == ':'
}

// schemeBefore returns the scheme at the end of a text and where it begins. Without a
// scheme, begin is the text's end.
func schemeBefore(text []byte) (begin int, scheme string) {
	for _, scheme := range []string{"https", "http"} {
		begin := len(text) - len(scheme) - 1
		if begin >= 0 && text[len(text)-1] == ':' && strings.EqualFold(string(text[begin:len(text)-1]), scheme) {
			return begin, scheme
		}
	}
	return len(text), ""
}

// withoutMetaUpgrade blanks upgrade-insecure-requests in the policies of meta elements
// (https://html.spec.whatwg.org/#attr-meta-http-equiv-content-security-policy).
func withoutMetaUpgrade(text []byte) (out []byte, changed bool) {
	lower := bytes.ToLower(text)
	if len(lower) != len(text) || !bytes.Contains(lower, []byte(upgradeDirective)) {
		return text, false
	}
	out = text
	for at := 0; ; {
		i := bytes.Index(lower[at:], []byte("<meta"))
		if i < 0 {
			return out, changed
		}
		at += i
		end := bytes.IndexByte(lower[at:], '>')
		if end < 0 {
			return out, changed
		}
		tag := lower[at : at+end]
		if j := bytes.Index(tag, []byte(upgradeDirective)); j >= 0 && bytes.Contains(tag, []byte("content-security-policy")) {
			if !changed {
				out, changed = bytes.Clone(text), true
			}
			copy(out[at+j:], bytes.Repeat([]byte(" "), len(upgradeDirective)))
		}
		at += end
	}
}
