package recording

import (
	"net/http"
	"strings"
)

// typical are how many octets made bodies have where the recording says nothing at all of
// their size.
var typical = map[string]int64{document: 30_000, stylesheet: 20_000, script: 30_000, image: 15_000, font: 30_000, media: 500_000}

// typicalRatio is how many times longer than on the wire text is, where the recording says
// only how long it was there.
const typicalRatio = 4

// makeBodies makes the bodies that were not recorded.
func (m *maker) makeBodies() error {
	for _, n := range m.nodes {
		if !n.made {
			continue
		}
		size, wire := m.sizes(n)
		if size > m.left {
			m.repairs.note(n.Where, "body", "%s made shorter than recorded, since all together would have more than 1 GiB")
			size, wire = m.left, m.left
		}
		m.left -= size
		if err := n.make(m.skeleton(n, size), size, wire, &m.coder); err != nil {
			return err
		}
		if got := int64(len(n.sent)); got > wire && !near(got, wire) {
			m.repairs.note(n.Where, "made body", "%s longer than the recorded, since what it must ask for takes more")
		}
	}
	return nil
}

// make renders the body, size octets long, and wire octets as it is sent.
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

// sizes are how many octets the body has, and how many on the wire.
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
			m.repairs.note(n.Where, "body", "%s of which nothing is known: made to a usual size of their kind")
		case n.coding == "":
			size = wire
		default:
			size = wire * typicalRatio
			m.repairs.note(n.Where, "body", "%s of which only the coded size is known: made four times as long, uncoded")
		}
	}
	if n.coding == "" {
		return size, size
	}
	switch {
	case wire <= 0:
		wire = size / typicalRatio
	case wire == size:
		m.repairs.note(n.Where, "body", "%s whose coded size stands for the uncoded one too: made so that they hardly compress")
	}
	return size, min(wire, size+size/1000+64)
}

// skeleton is what a made body consists of.
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
