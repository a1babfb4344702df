package recording

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"wiretime/site"
)

// Options says how a recording becomes a site.
type Options struct {
	// Page is the URL to navigate to; empty means the recording's.
	Page string
	// Limits bound what the site keeps.
	Limits Limits
}

// Site makes a site of the recording and reports deviations from it as repairs. It leaves
// out as little as possible, and fails if nothing can be served.
//
// The repairs account for every exchange: the site has all exchanges except those that the
// repairs count as left out.
func (r *Recording) Site(name string, o Options) (*site.Site, []Repair, error) {
	l := o.Limits.OrDefault()
	m := &maker{Recording: r, limits: l, left: l.Total, hosts: newAddresses()}
	m.selectServable()
	m.takeBodies()
	m.linkRedirects()
	m.tellKinds()
	if len(m.nodes) == 0 {
		return nil, nil, fmt.Errorf("make the site %s: none of the %d exchanges of %s can be served%s", name, len(r.Exchanges), r.Source, m.firstReason())
	}
	start := m.findRoot(cmp.Or(o.Page, r.Page))
	m.findParents(start)
	m.assignSheets()
	if err := m.makeBodies(); err != nil {
		return nil, nil, fmt.Errorf("make the site %s: %w", name, err)
	}
	s := site.Site{Name: name, Title: r.Title, Source: r.Source, Recorded: r.Began, Page: start.url, Hosts: m.siteHosts()}
	m.measureHosts(s.Hosts)
	bodies := map[string][]byte{}
	for _, n := range m.nodes {
		resource, err := m.resource(n)
		if err != nil {
			return nil, nil, fmt.Errorf("make the site %s: %w", name, err)
		}
		bodies[resource.Body] = n.sent
		s.Resources = append(s.Resources, resource)
	}
	m.placeSteps(&s)
	made, err := site.New(s, bodies)
	return made, append(slices.Clip(r.Repairs), m.repairs.list()...), err
}

// firstReason returns the first reason why exchanges were left out, or "".
func (m *maker) firstReason() string {
	if list := m.repairs.list(); len(list) > 0 {
		return ": " + list[0].What
	}
	return ""
}

// resource converts a node to a resource of the site.
func (m *maker) resource(n *node) (site.Resource, error) {
	if err := n.send(&m.coder); err != nil {
		return site.Resource{}, err
	}
	header := m.fields(n)
	m.noteSecrets(n)
	r := site.Resource{
		Method: n.method, URL: n.url, Status: n.status, Header: header, Body: site.Hash(n.sent), Made: n.made && len(n.sent) > 0, CPU: max(0, n.CPU),
		Wait: m.wait(n),
	}
	if n.parent != nil && !n.visible {
		r.Initiator, r.Kind, r.Delay, r.Late, r.AfterLoad = n.parent.url, n.kind, n.delay, n.late, n.afterLoad
		if n.parent.isDocument() && !n.parent.made {
			r.Line = n.InitiatorLine
		}
	}
	return r, nil
}

// siteHosts returns what the recording knows of servers, in the order of their first use.
func (m *maker) siteHosts() []site.Host {
	var hosts []site.Host
	index := map[string]int{}
	for _, n := range m.nodes {
		name := m.hosts.add(n.from)
		i, ok := index[name]
		if !ok {
			i = len(hosts)
			index[name] = i
			hosts = append(hosts, site.Host{Name: name})
		}
		h := &hosts[i]
		h.Address = cmp.Or(h.Address, n.Address)
		if n.Connect > 0 && (h.RTT == 0 || n.Connect < h.RTT) {
			h.RTT = round(n.Connect)
		}
	}
	return hosts
}

// wait returns the server's recorded think time, without the round trip to the host or to
// another host with the same address.
func (m *maker) wait(n *node) float64 {
	rtt := m.rtt[m.hosts.add(n.from)]
	if rtt == 0 && n.Address != "" {
		rtt = m.rtt[n.Address]
	}
	if rtt == 0 {
		return 0
	}
	return max(0, round(n.Wait-rtt))
}

// measureHosts records the round-trip times of hosts by name and by address.
func (m *maker) measureHosts(hosts []site.Host) {
	m.rtt = map[string]float64{}
	for _, h := range hosts {
		for _, name := range []string{h.Name, h.Address} {
			if h.RTT > 0 && (m.rtt[name] == 0 || h.RTT < m.rtt[name]) {
				m.rtt[name] = h.RTT
			}
		}
	}
}

// round rounds ms to microseconds.
func round(ms float64) float64 { return math.Round(ms*1000) / 1000 }
