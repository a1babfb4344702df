package recording

import (
	"wiretime/site"
)

// Step is something that was done on the page while it was recorded, as an entry of a site's journey (site.ParseStep).
type Step struct {
	Text  string
	Began float64 // in ms since the recording's first exchange
	Page  string  // the URL of the page that it led to; empty: it stayed on its page
}

// placeSteps makes the recording's steps the site's journey, and says of each resource which step caused it. Resources and
// nodes have the same order.
func (m *maker) placeSteps(s *site.Site) {
	for k, step := range m.Steps {
		s.Journey = append(s.Journey, step.Text)
		arrived := m.arrival(k)
		for i, n := range m.nodes {
			switch {
			case m.stepOf(n) != k:
			case n == arrived:
				r := &s.Resources[i]
				r.Step, r.Kind = k+1, document
				r.Initiator, r.Line, r.Delay, r.Late, r.AfterLoad = "", 0, 0, false, false
			case arrived == nil || n.Started < arrived.Started:
				m.cause(&s.Resources[i], n, k)
			}
		}
	}
}

// stepOf returns the index of the step during which a node began; -1: before all of them.
func (m *maker) stepOf(n *node) int {
	last := -1
	for k, step := range m.Steps {
		if n.Started >= step.Began {
			last = k
		}
	}
	return last
}

// arrival returns the document that a step led to; nil if it led to none.
func (m *maker) arrival(k int) *node {
	if m.Steps[k].Page == "" {
		return nil
	}
	a, err := parseAddress(m.Steps[k].Page)
	if err != nil {
		return nil
	}
	u, ok := m.hosts.url(a)
	if !ok {
		return nil
	}
	for _, n := range m.nodes {
		if n.url == u && n.isDocument() && m.stepOf(n) == k {
			return n
		}
	}
	return nil
}

// cause says that a step caused a resource. Its delay counts from the end of its initiator, if the same step caused that, and
// otherwise from the step.
func (m *maker) cause(r *site.Resource, n *node, k int) {
	r.Step, r.Kind = k+1, n.kind
	r.Initiator, r.Line, r.Late, r.AfterLoad = "", 0, false, false
	since := m.Steps[k].Began
	if n.parent != nil && m.stepOf(n.parent) == k {
		r.Initiator, since = n.parent.url, n.parent.ended()
	}
	r.Delay = round(max(0, n.Started-since))
}
