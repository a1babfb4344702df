package recording

import (
	"bytes"
	"cmp"
	"net/http"
	"path"
	"slices"
	"sort"
	"strings"

	"wiretime/weburl"
)

// findRoot returns the page's document. If the recording has none, it invents one that
// requests everything.
func (m *maker) findRoot(page string) *node {
	start := m.navigated(page)
	if start == nil {
		start = m.invent()
	}
	for n := start; ; n = n.to {
		n.kind = document
		if !n.redirects {
			m.root = n
			return start
		}
	}
}

// navigated returns the request that the page began with, or nil.
func (m *maker) navigated(page string) *node {
	shown := func(n *node) bool {
		end := n.end()
		t := end.recordedType()
		return n.method == http.MethodGet && (isHTML(t) || end.made && t == "")
	}
	if a, err := parseAddress(page); err == nil {
		if u, ok := m.hosts.url(a); ok {
			if n := m.get(u); n != nil && shown(n) {
				return n
			}
		}
		if page != "" {
			m.repairs.note("", "page", "%s that was navigated to is not in the recording or is not a document: the first document is used instead")
		}
	}
	for _, n := range m.nodes {
		if n.kind == document && shown(n) {
			return n
		}
	}
	return nil
}

// invent makes a page for a recording without one.
func (m *maker) invent() *node {
	n := &node{
		Exchange: &Exchange{Where: "the made page", Method: http.MethodGet, MIME: "text/html", Status: http.StatusOK, Size: 0, Transfer: -1, Connect: -1, Wait: -1},
		from:     address{weburl.URL{Scheme: "https", Host: "page" + invented, Path: "/"}}, method: http.MethodGet, status: http.StatusOK, kind: document, made: true,
	}
	n.url = "https://" + m.hosts.add(n.from) + n.from.Path
	m.repairs.note("", "page", "%s made: the recording has no document, so this one requests everything")
	m.nodes = append([]*node{n}, m.nodes...)
	m.byURL[key(n.method, n.url)] = n
	return n
}

// findParents determines the initiator of every request.
func (m *maker) findParents(start *node) {
	m.source = map[*node]*node{}
	for _, n := range m.nodes {
		if n.redirects && m.source[n.to] == nil {
			m.source[n.to] = n
		}
	}
	static := m.staticReferences()
	m.findRunners()
	for _, n := range m.nodes {
		if n == start || m.source[n] != nil {
			continue
		}
		n.parent, n.visible = m.parentOf(n, static)
		if n.visible && n.parent.made {
			n.async = n.kind == script && slices.Contains([]string{"low", "verylow", "lowest", "idle"}, strings.ToLower(n.Priority)) // Chromium's priorities for async and deferred scripts
		}
	}
	m.breakCircles()
	m.findWaits()
	m.breakCircles()
	for _, n := range m.nodes {
		if n.parent != nil {
			n.parent.children = append(n.parent.children, n)
		}
	}
}

// holdsLoad reports whether requests of a kind delay the load event
// (https://html.spec.whatwg.org/#delay-the-load-event).
func (n *node) holdsLoad() bool {
	return slices.Contains([]string{document, stylesheet, script, image, font}, n.kind)
}

// ended returns when the response was complete.
func (e *Exchange) ended() float64 { return e.Started + max(0, e.Took) }

// parentOf determines a node's initiator, and whether a parser sees the reference.
func (m *maker) parentOf(n *node, static map[string]bool) (parent *node, visible bool) {
	if n.Initiator != "" {
		if by := m.initiator(n); by != nil {
			switch {
			case !by.made:
				visible = n.method == http.MethodGet && static[key(n.method, n.url)]
			case by.kind == stylesheet:
				visible = true
			case by.kind == document:
				visible = n.markup() && n.InitiatorType != script
			}
			return by, visible
		}
	}
	switch {
	case m.root.made:
		return m.root, n.markup()
	case n.method == http.MethodGet && static[key(n.method, n.url)]:
		return m.root, true
	}
	return m.guess(n), false
}

// markup reports whether HTML can request a node.
func (n *node) markup() bool {
	return n.method == http.MethodGet && n.holdsLoad()
}

// initiator returns the recorded initiator's node, or nil if that cannot have made the
// request.
func (m *maker) initiator(n *node) *node {
	a, err := parseAddress(n.Initiator)
	if err != nil || a.Host == "" {
		return nil
	}
	u, ok := m.hosts.url(a)
	if !ok {
		return nil
	}
	by := m.get(u)
	if by == nil {
		return nil
	}
	by = by.end()
	if by == n || by == n.end() {
		return nil
	}
	switch {
	case by.isDocument():
	case by.status/100 != 2:
		return nil
	case by.kind == script:
	case by.kind == stylesheet && n.method == http.MethodGet && slices.Contains([]string{stylesheet, image, font}, n.kind):
	default:
		return nil
	}
	return by
}

// breakCircles makes the page the initiator of nodes that cannot be reached from it.
func (m *maker) breakCircles() {
	rooted := map[*node]bool{m.root: true}
	for _, n := range m.nodes {
		path := map[*node]bool{}
		for at := n; at != nil && !rooted[at]; at = m.above(at) {
			if path[at] {
				at.parent, at.visible = m.root, m.root.made && at.markup()
				m.repairs.note(at.Where, "request", "%s whose initiators form a cycle: requested by the page instead")
				break
			}
			path[at] = true
		}
		for at := range path {
			rooted[at] = true
		}
	}
}

// above returns a node's initiator, or the redirect that leads to it.
func (m *maker) above(n *node) *node {
	if n.parent != nil {
		return n.parent
	}
	return m.source[n]
}

// maxSearched bounds the search for initiators: the octets of text that are searched for
// URLs. Other steps count as so many octets as they take about as long as.
const (
	maxSearched = 1 << 30
	oneStep     = 16 // looking at a node
	oneOctet    = 32 // resolving an octet of a URL
)

// search takes part of what the search for initiators may cost, and reports whether
// something is left.
func (m *maker) search(cost int) bool {
	if m.searched > maxSearched {
		return false
	}
	if m.searched += cost; m.searched > maxSearched {
		m.repairs.note("", "search", "%s for initiators ended early, because the recording has too many or too long texts and references: the page requests the rest")
	}
	return true
}

// guess finds a likely initiator for a request that no body makes openly: the latest
// earlier text that contains the URL, or else the last segment of its path, or else its
// host; otherwise the latest earlier script, or the page.
func (m *maker) guess(n *node) *node {
	p, _, _ := strings.Cut(n.from.Path, "?")
	for _, hint := range []string{"//" + n.from.Authority() + n.from.Path, path.Base(p), n.from.Host} {
		by := m.latest(m.texts, n, func(by *node) bool {
			return m.search(len(hint)+len(by.body)) && len(hint) > 1 && bytes.Contains(by.body, []byte(hint))
		})
		if by != nil {
			return by
		}
	}
	return cmp.Or(m.latest(m.scripts, n, func(*node) bool { return true }), m.root)
}

// latest returns the first of nodes, ordered latest first, that fits and had arrived before
// another was requested, or nil.
func (m *maker) latest(nodes []*node, before *node, fits func(*node) bool) *node {
	come := sort.Search(len(nodes), func(i int) bool { return nodes[i].ended() <= before.Started })
	for _, by := range nodes[come:] {
		if !m.search(oneStep) {
			break
		}
		if by.order < before.order && fits(by) {
			return by
		}
	}
	return nil
}

// findRunners collects scripts that may have made requests, and texts that may contain
// their URLs, latest first.
func (m *maker) findRunners() {
	for _, n := range m.nodes {
		running := n.kind == script && n.status/100 == 2 && !n.redirects
		if running {
			m.scripts = append(m.scripts, n)
		}
		if (running || n.isDocument() && !n.redirects) && !n.made {
			m.texts = append(m.texts, n)
		}
	}
	for _, nodes := range [][]*node{m.scripts, m.texts} {
		slices.SortFunc(nodes, func(a, b *node) int {
			return cmp.Or(cmp.Compare(b.ended(), a.ended()), cmp.Compare(b.order, a.order))
		})
	}
}

// documents returns, for each node, the document that uses it. No initiators may form a
// cycle.
func (m *maker) documents() map[*node]*node {
	return inherit(m.nodes, func(n *node) (found, above *node) {
		switch above = m.above(n); {
		case above == nil:
			return m.root, nil
		case above.isDocument() && !above.redirects:
			return above, nil
		}
		return nil, above
	})
}

// inherit finds something for each node: what find says, or what was found for the node
// above it. It asks once for each node, however long the chains of initiators are.
func inherit(nodes []*node, find func(*node) (found, above *node)) map[*node]*node {
	all := make(map[*node]*node, len(nodes))
	for _, n := range nodes {
		var chain []*node
		var found *node
		for at := n; found == nil; {
			chain = append(chain, at)
			if found = all[at]; found == nil {
				found, at = find(at)
			}
		}
		for _, c := range chain {
			all[c] = found
		}
	}
	return all
}
