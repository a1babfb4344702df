package recording

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wiretime/site"
)

// maxRedirects is the longest chain of redirects that is kept; browsers follow twenty
// (https://fetch.spec.whatwg.org/#http-redirect-fetch).
const maxRedirects = 20

// location returns a response's redirect target as stated, or "".
func (n *node) location() string {
	if !slices.Contains([]int{301, 302, 303, 307, 308}, n.status) {
		return ""
	}
	for _, h := range n.Header {
		if strings.EqualFold(h.Name, "location") {
			return strings.TrimSpace(h.Value)
		}
	}
	return ""
}

// linkRedirects determines where redirects lead. Redirects to a URL that the recording
// lacks become ordinary responses, since their target could not be answered.
func (m *maker) linkRedirects() {
	for _, n := range m.nodes {
		location := n.location()
		if location == "" {
			continue
		}
		if scheme, _, ok := strings.Cut(strings.ToLower(location), ":"); ok && exotic[scheme] != "" {
			m.repairs.note(n.Where, "redirect", "%s to a URL without a server: replaced by the target's content")
			m.inline(n, location)
			continue
		}
		if to, ok := m.hosts.locate(n.from, location); ok {
			n.to = m.byKey[key(n.follows(), to)]
		}
		if n.to == nil {
			m.repairs.note(n.Where, "redirect", "%s to a URL that the recording lacks: replaced by an empty body")
			n.answerWith(nil)
			continue
		}
		n.redirects = true
	}
	m.breakLoops()
}

// follows returns the method with which a redirect is followed
// (https://fetch.spec.whatwg.org/#http-redirect-fetch).
func (n *node) follows() string {
	if n.method == http.MethodHead || n.status == http.StatusTemporaryRedirect || n.status == http.StatusPermanentRedirect {
		return n.method
	}
	return http.MethodGet
}

// breakLoops ends chains of redirects that loop or exceed what browsers follow.
func (m *maker) breakLoops() {
	for _, n := range m.nodes {
		steps := 0
		for end := n; end.redirects; end = end.to {
			if steps++; steps >= maxRedirects {
				m.repairs.note(n.Where, "redirect", "%s in a redirect loop or too long a chain: replaced by an empty body")
				n.to, n.redirects = nil, false
				n.answerWith(nil)
				break
			}
		}
	}
}

// end returns the node at the end of a request's redirects.
func (n *node) end() *node {
	for n.redirects {
		n = n.to
	}
	return n
}

// answerWith turns a redirect into an ordinary response.
func (n *node) answerWith(body []byte) {
	n.status, n.body, n.sent, n.coding, n.made = http.StatusOK, body, nil, "", false
	if len(body) == 0 {
		n.made = true
		n.Exchange = clone(n.Exchange)
		n.Size, n.Transfer, n.Body, n.HasBody = 0, 0, nil, false
	}
}

func clone(e *Exchange) *Exchange {
	c := *e
	return &c
}

// inline answers with the content of a data: URL (RFC 2397), and with an empty body for
// other URLs.
func (m *maker) inline(n *node, location string) {
	media, data, ok := strings.Cut(location, ",")
	if !ok || !strings.HasPrefix(strings.ToLower(media), "data:") {
		n.answerWith(nil)
		return
	}
	media = media[len("data:"):]
	body := []byte(data)
	if text, err := url.PathUnescape(data); err == nil {
		body = []byte(text)
	}
	if plain, ok := strings.CutSuffix(media, ";base64"); ok {
		media = plain
		decoded, err := base64.StdEncoding.WithPadding(base64.NoPadding).DecodeString(strings.TrimRight(string(body), "="))
		if err != nil {
			decoded = nil
		}
		body = decoded
	}
	e := clone(n.Exchange)
	e.Body, e.HasBody, e.Encoded, e.Size, e.Transfer = body, true, false, int64(len(body)), int64(len(body))
	e.Header = slices.DeleteFunc(slices.Clone(e.Header), func(h site.Header) bool {
		return strings.EqualFold(h.Name, "content-type") || strings.EqualFold(h.Name, "content-encoding")
	})
	if media == "" {
		media = "text/plain"
	}
	e.Header = append(e.Header, site.Header{Name: "content-type", Value: media})
	n.Exchange = e
	n.answerWith(body)
}
