package recording

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// findWaits finds out how long scripts waited before they asked for something.
//
// A recording says when a script had come, and when it asked. Between the two it may have
// waited for the network: for scripts and style sheets before it, or for what it had asked
// for itself. That takes another time on another network, so it is no part of the wait,
// which counts from the last thing that had come and that the script can have waited for.
// If the script, or one that it had asked for, had asked for this thing, or it is a script
// further down in the document, then the site says that this thing asks: in a replay, too,
// it has to come first.
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
			wait -= within(m.Busy, since, n.Started) // whoever runs it takes time of its own
		}
		n.delay = math.Round(max(0, wait)*1000) / 1000
		if n.parent.made {
			n.delay = math.Round(n.delay) // as timers of browsers count
		}
	}
	for n, cause := range parents {
		n.parent = cause
	}
}

// waits are what scripts may have waited for.
type waits struct {
	*maker
	causes   []coming        // the latest first
	document map[*node]*node // in which a node is used
	top      map[*node]*node // the node itself or above it, right below its document
}

// coming is that something had come.
type coming struct {
	node *node
	at   float64 // ms since the first exchange
}

func (m *maker) newWaits() *waits {
	f := &waits{m, nil, map[*node]*node{}, map[*node]*node{}}
	for _, n := range m.nodes {
		f.document[n] = m.documentOf(n)
		f.top[n] = n
		for range len(m.nodes) {
			above := m.above(f.top[n])
			if above == nil || above.isDocument() {
				break
			}
			f.top[n] = above
		}
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

// cause is the last thing that had come between who asked for a node and the node, and that
// this can have waited for; nil: there is none.
func (f *waits) cause(n *node) *coming {
	come := sort.Search(len(f.causes), func(i int) bool { return f.causes[i].at <= n.Started })
	for i := range f.causes[come:] {
		at, c := f.causes[come+i].at, f.causes[come+i].node
		if f.searched++; f.searched > maxSearched || at <= n.parent.ended() {
			return nil
		}
		if c != n && c.order < n.order && (c == n.parent || f.blocks(c, n.parent) || f.follows(c, n.parent) || f.related(c, n)) {
			return &f.causes[come+i]
		}
	}
	return nil
}

// lastOf is the last to have been asked for of what a script asked for together with a cause
// and that had come, too, before a node was asked for: it is the last to come on most networks,
// whichever it was when it was recorded.
func (f *waits) lastOf(cause, n *node) *node {
	last := cause
	come := sort.Search(len(f.causes), func(i int) bool { return f.causes[i].at <= n.Started })
	for _, c := range f.causes[come:] {
		if f.searched++; f.searched > maxSearched || c.at <= cause.Started {
			break
		}
		together := !c.node.visible && !cause.visible && c.node.parent == cause.parent && c.node.Started < cause.ended()
		if together && c.node.order > last.order && c.node.order < n.order {
			last = c.node
		}
	}
	return last
}

// blocks says whether the parser has to get past a script or style sheet before it comes to
// who asks for something.
func (f *waits) blocks(c, by *node) bool {
	if !f.holdsParser(c) || f.document[c] != f.documentAt(by) {
		return false
	}
	top := f.top[by]
	return by.isDocument() || top.visible && !top.async && c.order < top.order
}

// follows says whether a script stands further down in the document: who asks for something
// may have waited until all of the document was there.
func (f *waits) follows(c, by *node) bool {
	return f.holdsParser(c) && c.kind == script && !by.isDocument() && f.document[c] == f.document[by] && c.order > f.top[by].order
}

func (f *waits) holdsParser(c *node) bool {
	return c.visible && (c.kind == stylesheet || c.kind == script && !c.async)
}

// related says whether scripts that belong together asked for both.
func (f *waits) related(c, n *node) bool {
	return !c.visible && (c.parent == n.parent || f.top[c] == f.top[n])
}

// documentAt is the document that a node is, or is used in.
func (f *waits) documentAt(n *node) *node {
	if n.isDocument() && !n.redirects {
		return n
	}
	return f.document[n]
}
