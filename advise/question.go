// Package advise finds out what would help a page for its users. It plans studies of what could be changed, one thing at a
// time and then together, and turns what they measure into a ranking: by how much each change moves a population of
// networks, for whom it is better or worse, what it costs, and what stays undecided.
//
// Each round is a study file that package studyfile reads, so that its store can be reported, explained and reproduced like
// any other. The package measures nothing itself: [Advise] gets a function that does.
package advise

import (
	"fmt"
	"strings"
	"time"

	"wiretime/network"
	"wiretime/study"
)

// Question says what is asked.
type Question struct {
	Site        string // reference, as studies name it
	Population  network.Population
	Protocol    string        // over which the site is served today, a row of package protocol
	Metric      string        // by which changes are ranked: one in ms, such as onload
	MetricTitle string        // the metric's name for people
	Loads       int           // of each cell, at least 1
	Seed        uint64        // of the studies and of the intervals
	Distance    time.Duration // by which servers are brought nearer, or are farther: of the round trip
	SPDY        bool          // SPDY is an alternative too
	Quick       bool          // only single changes, for the two networks with the greatest weights
	Browser     string        // the loader that verifies what builtin found; empty: none does
}

// quickNetworks is how many networks a quick answer measures.
const quickNetworks = 2

// networks returns the shares of the population that are measured.
func (q *Question) networks() []network.Share {
	shares := q.Population.Shares
	if !q.Quick || len(shares) <= quickNetworks {
		return shares
	}
	var all []network.Share
	for range quickNetworks {
		var most network.Share
		for _, s := range shares {
			taken := false
			for _, t := range all {
				taken = taken || t.Network == s.Network
			}
			if !taken && s.Weight > most.Weight {
				most = s
			}
		}
		all = append(all, most)
	}
	return all
}

// setup is a way to serve the page: what a cell has besides its network and its loader.
type setup struct {
	protocol, congestion, initcwnd, visit, hint, tls, without string

	changes  []string      // of the site, in the order of site.Changes
	distance time.Duration // added to the round trip; below 0: taken from it
}

// today returns how the page is served now.
func (q *Question) today() setup {
	usual := func(a study.Axis) string { return study.Pages().Info(a).Usual }
	return setup{
		protocol: q.Protocol, congestion: usual(study.AxisCongestion), initcwnd: usual(study.AxisInitCwnd), visit: usual(study.AxisVisit),
		hint: usual(study.AxisHint), tls: usual(study.AxisTLS), without: usual(study.AxisWithout),
	}
}

// overTCP reports whether the page is served over TCP, so that the kernel's settings matter.
func (s setup) overTCP() bool { return s.protocol != "h3" }

// site returns the reference of the setup's site.
func (s setup) site(of string) string { return strings.Join(append([]string{of}, s.changes...), "+") }

// network returns the name of a network as the setup's distance changes it.
func (s setup) network(name string) string {
	switch {
	case s.distance < 0:
		return fmt.Sprintf("%s-nearer-%v", name, -s.distance)
	case s.distance > 0:
		return fmt.Sprintf("%s-farther-%v", name, s.distance)
	}
	return name
}

// axes are those on which the cells of an advisor's studies differ.
var axes = []study.Axis{
	study.AxisSite, study.AxisProtocol, study.AxisNetwork, study.AxisLoader, study.AxisCongestion, study.AxisInitCwnd, study.AxisVisit,
	study.AxisHint, study.AxisTLS, study.AxisWithout,
}

// values returns the values of the setup's cell on the axes.
func (s setup) values(q *Question, loader, network string) map[study.Axis]string {
	return map[study.Axis]string{
		study.AxisSite: s.site(q.Site), study.AxisProtocol: s.protocol, study.AxisNetwork: s.network(network), study.AxisLoader: loader,
		study.AxisCongestion: s.congestion, study.AxisInitCwnd: s.initcwnd, study.AxisVisit: s.visit, study.AxisHint: s.hint,
		study.AxisTLS: s.tls, study.AxisWithout: s.without,
	}
}

// path returns a network of the population with its delays as the distance changes them. A server cannot be nearer than the
// user's access link is long, which is not known: at least half of the delay stays.
func (s setup) path(name string) (network.Path, error) {
	p, err := network.Profile(name)
	if err != nil {
		return p, err
	}
	a := p.Access[0]
	for _, l := range []*network.Link{&a.Up, &a.Down} {
		l.Delay = max(l.Delay+s.distance/2, l.Delay/2)
	}
	p.Name, p.Access = s.network(name), []network.Access{a}
	return p, nil
}
