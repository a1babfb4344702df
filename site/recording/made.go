package recording

import (
	"fmt"
	"net/http"
	"strings"
)

// typical gives the octets of made bodies of which the recording states no size.
var typical = map[string]int64{document: 30_000, stylesheet: 20_000, script: 30_000, image: 15_000, font: 30_000, media: 500_000}

// typicalRatio is the assumed compression ratio of text if the recording states only the
// encoded size.
const typicalRatio = 4

// makeBodies makes the bodies that were not recorded.
func (m *maker) makeBodies() error {
	for _, n := range m.nodes {
		if !n.made {
			continue
		}
		size, wire := m.sizes(n)
		if size > m.left {
			m.repairs.note(n.Where, "body", fmt.Sprintf("%%s made shorter than recorded: all together would exceed %d octets (--max-size)", m.limits.Total))
			size, wire = m.left, m.left
		}
		m.left -= size
		if err := n.make(m.skeleton(n, size), size, wire, &m.coder); err != nil {
			return err
		}
		if got := int64(len(n.sent)); got > wire && !near(got, wire) {
			m.repairs.note(n.Where, "made body", "%s longer than recorded: the references need more room")
		}
	}
	return nil
}

// make renders a body of size octets that takes wire octets when encoded.
func (n *node) make(s *skeleton, size, wire int64, by *coder) (err error) {
	if n.coding == "" {
		n.body = s.render(size, 1, seed(n.method, n.url))
		n.sent = n.body
		return nil
	}
	n.body, n.sent, err = s.tune(size, wire, n.coding, seed(n.method, n.url), by)
	if len(n.body) == 0 {
		n.sent, n.coding = nil, ""
	}
	return err
}

// sizes returns the sizes of the body: decoded and on the wire.
func (m *maker) sizes(n *node) (size, wire int64) {
	size, wire = n.Size, n.Transfer
	if n.status == http.StatusNoContent || n.status == http.StatusResetContent || n.method == http.MethodHead {
		n.coding = ""
		return 0, 0
	}
	if size < 0 {
		switch {
		case wire < 0:
			size = typical[n.kind]
			if size == 0 {
				size = 1000
			}
			m.repairs.note(n.Where, "body", "%s of unknown size: made in a typical size for the kind")
		case n.coding == "":
			size = wire
		default:
			size = wire * typicalRatio
			m.repairs.note(n.Where, "body", "%s of which only the encoded size is known: made four times as large, uncompressed")
		}
	}
	if n.coding == "" {
		return size, size
	}
	switch {
	case wire <= 0:
		wire = size / typicalRatio
	case wire == size:
		m.repairs.note(n.Where, "body", "%s with equal encoded and decoded sizes: made hardly compressible")
	}
	return size, min(wire, size+size/1000+64)
}

// skeleton returns a made body without its padding.
func (m *maker) skeleton(n *node, size int64) *skeleton {
	t := n.mediaType()
	if t == "" {
		t = n.recordedType()
	}
	switch {
	case n.redirects:
		return &skeleton{pieces: []string{""}, pad: " "}
	case n.isDocument():
		return m.htmlStub(n)
	case n.kind == stylesheet:
		return m.cssStub(n)
	case n.kind == script:
		return m.jsStub(n)
	case t == "image/svg+xml":
		return &skeleton{pieces: []string{`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`, ""}, open: "<!--", close: "-->", pad: " "}
	case strings.HasPrefix(t, "image/"):
		return imageSkeleton(t, size)
	case isJSON(t):
		return &skeleton{pieces: []string{""}, open: `"`, close: `"`, pad: "0"}
	case isText(t):
		return &skeleton{pieces: []string{""}, pad: " "}
	}
	return &skeleton{pieces: []string{""}, pad: "\x00", binary: true}
}
