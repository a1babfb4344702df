package recording

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// findWaits determines how long scripts waited before each request.
//
// A recording says when a script arrived and when it made a request. In between the script
// may have waited for the network: for earlier scripts and style sheets, or for its own
// requests. Such time differs on another network and is no part of the wait, which
// therefore counts from the last arrival that the script can have waited for. If the script
// or one it loaded had requested that resource, or if the resource is a script further down
// in the document, it becomes the initiator in the site, so that a replay waits for it too.
func (m *maker) findWaits() {
	f := m.newWaits()
	parents := map[*node]*node{}
	for _, n := range m.nodes {
		if n.parent == nil || n.visible {
			continue
		}
		since := n.parent.ended()
		if cause := f.cause(n); cause != nil {
			since = cause.at
			if cause.node != n.parent && !f.blocks(cause.node, n.parent) {
				parents[n] = f.lastOf(cause.node, n)
			}
		}
		n.afterLoad = m.Loaded > 0 && n.Started > m.Loaded
		n.late = !n.afterLoad && !n.holdsLoad()
		if n.afterLoad && f.documentAt(n.parent) == m.root {
			since = max(since, m.Loaded)
		}
		wait := max(0, n.Started-since)
		if !n.parent.made {
			wait -= within(m.Busy, since, n.Started) // a replay spends its own time on running the script
		}
		n.delay = math.Round(max(0, wait)*1000) / 1000
		if n.parent.made {
			n.delay = math.Round(n.delay) // browsers' timers count whole ms
		}
	}
	for n, cause := range parents {
		n.parent = cause
	}
}

// waits holds the resources that scripts may have waited for.
type waits struct {
	*maker
	causes   []coming        // latest first
	document map[*node]*node // the document that uses a node
	top      map[*node]*node // a node's ancestor, or itself, right below its document
}

// coming is the arrival of a node.
type coming struct {
	node *node
	at   float64 // ms since the first exchange
}

func (m *maker) newWaits() *waits {
	f := &waits{maker: m, document: m.documents()}
	f.top = inherit(m.nodes, func(n *node) (found, above *node) {
		if above = m.above(n); above == nil || above.isDocument() {
			return n, nil
		}
		return nil, above
	})
	for _, n := range m.nodes {
		if n.redirects || n.status/100 != 2 {
			continue
		}
		switch n.kind {
		case script, stylesheet, xhr, fetch, font:
			for _, at := range n.ends {
				f.causes = append(f.causes, coming{n, at})
			}
		}
	}
	slices.SortStableFunc(f.causes, func(a, b coming) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.node.order, a.node.order))
	})
	return f
}

// cause returns the last arrival between a node's initiator and the node's request that the
// initiator can have waited for, or nil.
func (f *waits) cause(n *node) *coming {
	come := sort.Search(len(f.causes), func(i int) bool { return f.causes[i].at <= n.Started })
	for i := range f.causes[come:] {
		at, c := f.causes[come+i].at, f.causes[come+i].node
		if !f.search(oneStep) || at <= n.parent.ended() {
			return nil
		}
		if c != n && c.order < n.order && (c == n.parent || f.blocks(c, n.parent) || f.follows(c, n.parent) || f.related(c, n)) {
			return &f.causes[come+i]
		}
	}
	return nil
}

// lastOf returns the resource that was requested last among those that a script requested
// together with cause and that arrived before n was requested. On most networks it arrives
// last too, whichever did in the recording.
func (f *waits) lastOf(cause, n *node) *node {
	last := cause
	come := sort.Search(len(f.causes), func(i int) bool { return f.causes[i].at <= n.Started })
	for _, c := range f.causes[come:] {
		if !f.search(oneStep) || c.at <= cause.Started {
			break
		}
		together := !c.node.visible && !cause.visible && c.node.parent == cause.parent && c.node.Started < cause.ended()
		if together && c.node.order > last.order && c.node.order < n.order {
			last = c.node
		}
	}
	return last
}

// blocks reports whether c is a script or style sheet that the parser must pass before it
// reaches the initiator by.
func (f *waits) blocks(c, by *node) bool {
	if !f.holdsParser(c) || f.document[c] != f.documentAt(by) {
		return false
	}
	top := f.top[by]
	return by.isDocument() || top.visible && !top.async && c.order < top.order
}

// follows reports whether c is a script further down in the document: the initiator may
// have waited for the complete document.
func (f *waits) follows(c, by *node) bool {
	return f.holdsParser(c) && c.kind == script && !by.isDocument() && f.document[c] == f.document[by] && c.order > f.top[by].order
}

func (f *waits) holdsParser(c *node) bool {
	return c.visible && (c.kind == stylesheet || c.kind == script && !c.async)
}

// related reports whether scripts that belong together requested both.
func (f *waits) related(c, n *node) bool {
	return !c.visible && (c.parent == n.parent || f.top[c] == f.top[n])
}

// documentAt returns the document that a node is or is used in.
func (f *waits) documentAt(n *node) *node {
	if n.isDocument() && !n.redirects {
		return n
	}
	return f.document[n]
}
