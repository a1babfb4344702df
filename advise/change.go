package advise

import (
	"fmt"
	"slices"
	"time"

	"wiretime/protocol"
	"wiretime/site"
	"wiretime/study"
)

// What a change takes.
const (
	costServer = "a setting of the server or the CDN"
	costPort   = "a setting of the server or the CDN, and UDP port 443 open"
	costKernel = "a setting of the server's kernel"
	costFields = "a setting of the server: Link fields with the documents"
	costAhead  = "a setting of the server: Link fields ahead of the documents (103)"
	costHosts  = "a change of the page: its references, and where its files lie"
	costPlaces = "servers in more places: another contract with a CDN"
	costFewer  = "servers in fewer places"
	costEqual  = "as HTTP/3, with a server that gives all responses an equal turn"
	costEarly  = "a setting of the server or the CDN, and an application that refuses early data where a request changes something"
)

// Change is something about a page or its servers that could be otherwise.
type Change struct {
	Name  string `json:"name"`  // such as initcwnd-32
	Title string `json:"title"` // for people
	Cost  string `json:"cost"`  // what has to be changed
	// Repeat says that the change is about repeat visits: it is compared with today's repeat visit, and
	// cannot be combined with others.
	Repeat bool `json:"repeat,omitempty"`

	kind  string // of several changes of a kind only one can be made
	make  func(*setup)
	fits  func(setup) bool // whether it can change anything of a setup; nil: always
	loses bool             // it is measured to show what it would cost, and is never advised
}

// to returns the setup with the change.
func (c Change) to(s setup) setup {
	s.changes = slices.Clone(s.changes)
	c.make(&s)
	return s
}

// can reports whether the change can be made to a setup.
func (c Change) can(s setup) bool { return c.fits == nil || c.fits(s) }

const protocolKind = "protocol"

// highInitCwnd is the raised initial window: 32 segments, as much as quic-go sends at first.
const highInitCwnd = 32

// changes returns what could be otherwise about a page that is served as the question says.
func changes(q *Question, page *site.Site) ([]Change, error) {
	all, err := protocols(q)
	if err != nil {
		return nil, err
	}
	tcp := func(s setup) bool { return s.overTCP() }
	all = append(all,
		Change{Name: fmt.Sprintf("initcwnd-%d", highInitCwnd), Title: fmt.Sprintf("initial window of %d segments", highInitCwnd), Cost: costKernel, kind: "initcwnd", fits: tcp,
			make: func(s *setup) { s.initcwnd = fmt.Sprint(highInitCwnd) }},
		Change{Name: "bbr", Title: "congestion control BBR", Cost: costKernel, kind: "congestion", fits: tcp,
			make: func(s *setup) { s.congestion = "bbr" }},
		Change{Name: "preload", Title: "preloads of the first 20 resources", Cost: costFields, kind: "hint",
			make: func(s *setup) { s.hint = study.HintPreload }},
		Change{Name: "early-hints", Title: "the same preloads as Early Hints", Cost: costAhead, kind: "hint",
			fits: func(s setup) bool { return s.protocol == "h2" || s.protocol == "h3" },
			make: func(s *setup) { s.hint = study.HintEarly }},
	)
	sites, err := siteChanges(page)
	if err != nil {
		return nil, err
	}
	all = append(all, sites...)
	all = append(all,
		Change{Name: "tls-1.2", Title: "TLS 1.2", Cost: costServer, kind: "tls", loses: true,
			fits: func(s setup) bool { return s.overTCP() && s.protocol != "http/1.1" }, make: func(s *setup) { s.tls = study.TLS12 }},
		Change{Name: "h3-equal-turns", Title: "HTTP/3 from a server that ignores priorities", Cost: costEqual, kind: protocolKind, loses: true,
			make: func(s *setup) { s.protocol, s.without = "h3", study.WithoutPriorities }},
		Change{Name: "nearer", Title: fmt.Sprintf("servers %v ms nearer", ms(q.Distance)), Cost: costPlaces, kind: "distance", make: func(s *setup) { s.distance = -q.Distance }},
		Change{Name: "farther", Title: fmt.Sprintf("servers %v ms farther", ms(q.Distance)), Cost: costFewer, kind: "distance", loses: true, make: func(s *setup) { s.distance = q.Distance }},
	)
	return append(all, repeats(q)...), nil
}

// protocols returns a change for each protocol that browsers speak and the site is not served over today.
func protocols(q *Question) (all []Change, err error) {
	names := []string{"https/1.1", "h2", "h3"}
	if q.SPDY {
		names = append(names, "spdy/3.1")
	}
	for _, name := range names {
		p, err := protocol.Lookup(name)
		if err != nil {
			return nil, err
		}
		if name == q.Protocol {
			continue
		}
		cost := costServer
		if p.Transport == "udp" {
			cost = costPort
		}
		all = append(all, Change{Name: name, Title: p.Title, Cost: cost, kind: protocolKind, make: func(s *setup) { s.protocol = name }})
	}
	return all, nil
}

// siteChanges returns the changes of the page itself that would change anything.
func siteChanges(page *site.Site) (all []Change, err error) {
	words := map[string]Change{
		site.ChangeOneHost:      {Title: "all of the page's domain on one host", Cost: costHosts},
		site.ChangeGzip:         {Title: "texts compressed (gzip)", Cost: costServer},
		site.ChangePreloadFonts: {Title: "preloads of the fonts", Cost: costFields},
	}
	for _, name := range site.Changes() {
		_, changed, err := page.Change(name)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		c := words[name]
		c.Name, c.kind = name, name
		c.make = func(s *setup) {
			s.changes = append(s.changes, name)
			slices.SortFunc(s.changes, func(a, b string) int { return slices.Index(site.Changes(), a) - slices.Index(site.Changes(), b) })
		}
		if name == site.ChangePreloadFonts { // hints replace what documents announce
			c.kind = "hint"
		}
		all = append(all, c)
	}
	return all, nil
}

// repeats returns the changes that are about repeat visits.
func repeats(q *Question) (all []Change) {
	if q.Protocol != "h3" {
		all = append(all, Change{Name: "h3-resumed", Title: "HTTP/3, on repeat visits", Cost: costPort, Repeat: true, make: func(s *setup) { s.protocol, s.visit = "h3", study.VisitResumed }})
	}
	return append(all, Change{Name: "0rtt", Title: "HTTP/3 with 0-RTT, on repeat visits", Cost: costEarly, Repeat: true, make: func(s *setup) { s.protocol, s.visit = "h3", study.VisitZeroRTT }})
}

// ms returns a time in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
