package critical

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"

	"wiretime/capture"
	"wiretime/evidence"
)

// Detail says more closely than a Kind what time was spent on.
type Detail uint8

// The details of SetUp, of Window, and of Bandwidth and Queueing: there they say whose packet the link served meanwhile.
const (
	NoDetail      Detail = iota
	LookUp               // a name was looked up
	TCPHandshake         // a TCP connection was opened, until the client's first octet
	TLSHandshake         // from then on, until the first request
	QUICHandshake        // a QUIC connection was opened, until the first request
	AfterLoss            // the sender had lost octets on the connection
	Own                  // it held octets of the request or response that was waited for
	Shared               // it was another one of the page's, without octets of less urgent responses only
	Overtook             // less urgent responses only, sent after the server had the request that was waited for
	Earlier              // less urgent responses only, sent before
	Foreign              // none of the page's
)

// Share is time of a path that was spent alike.
type Share struct {
	URL    string // as in Step
	Phase  Phase
	Kind   Kind
	Detail Detail
	Up     bool // Bandwidth, Queueing and Loss: on the way to the server; not known of handshakes
	Seen   bool // as in Step
	Time   int64
	Octets float64 // Bandwidth and Queueing: that the link served meanwhile, at the IP layer
}

// Breakdown says more closely than a Path what the time of a page was spent on.
type Breakdown struct {
	Page     string
	OnLoad   int64   // ns since navigationStart
	Shares   []Share // no two of the same URL, Phase, Kind, Detail, Up and Seen; their times add up to OnLoad
	Requests int     // resources on the path that came over the network
	// Up and Down are the octets at the IP layer of the load's packets that arrived between navigationStart and onLoad.
	Up, Down int64
}

// BreakDown breaks down the critical path of each page that has one. The sums by kind are those of the paths that Find
// computes.
func BreakDown(e *evidence.Evidence) []*Breakdown {
	var all []*Breakdown
	var o *owners
	eachPage(e, func(c *chain, l *ledger) {
		if o == nil {
			o = l.owners()
		}
		b := &breaking{Breakdown: Breakdown{Page: c.page.ID, OnLoad: c.onLoad}, ledger: l, owners: o, places: map[Share]int{}}
		sent := map[*resource]bool{}
		for _, link := range c.walk() {
			b.add(link)
			switch r := link.resource; link.phase {
			case Send, Wait, Receive:
				if r.entry.FromCache == "" && !sent[r] {
					sent[r] = true
					b.Requests++
				}
			}
		}
		within := span{l.epoch, l.epoch + c.onLoad}
		b.Up, b.Down = o.octets(up, within), o.octets(down, within)
		all = append(all, &b.Breakdown)
	})
	return all
}

// breaking is a Breakdown that is being made.
type breaking struct {
	Breakdown
	*ledger
	*owners
	places map[Share]int // in Shares, by a share without its sums
}

// add adds the time of a link of the chain.
func (b *breaking) add(k link) {
	a := b.account(k)
	for at := range pieces(a.span, a.cuts) {
		s := Share{URL: a.step.URL, Phase: a.step.Phase, Kind: a.kind(at.from), Seen: a.step.Seen}
		octets := 0.0
		switch {
		case s.Kind == SetUp && a.setUp != nil:
			s.Detail = a.setUp.detail(k.phase, at.from)
		case s.Kind == Loss && a.view != nil:
			d, _, _ := a.view.looksAt(at.from)
			s.Up = d == up
		case s.Kind == Window && a.view.hasLost(at.from):
			s.Detail = AfterLoss
		case (s.Kind == Bandwidth || s.Kind == Queueing) && a.view != nil:
			s.Detail, s.Up, octets = b.served(a.view, k.resource, at)
		}
		i, ok := b.places[s]
		if !ok {
			i = len(b.Shares)
			b.places[s] = i
			b.Shares = append(b.Shares, s)
		}
		b.Shares[i].Time += at.to - at.from
		b.Shares[i].Octets += octets
	}
}

// detail returns what was being opened at a moment, in ns since the Unix epoch.
func (u *setUp) detail(p Phase, at int64) Detail {
	switch {
	case u.lookUp != nil && u.lookUp.opening.from <= at && at < u.lookUp.opening.to, p == DNS:
		return LookUp
	case u.dial == nil:
		return NoDetail
	case u.dial.flow.Protocol == capture.UDP:
		return QUICHandshake
	case at < u.dial.spoken():
		return TCPHandshake
	}
	return TLSHandshake
}

// spoken returns when the client sent the first octet after the SYN of a TCP connection, or never.
func (c *connection) spoken() int64 {
	for _, l := range c.lanes {
		for _, p := range l.pieces {
			if l.direction == up && p.from > 0 {
				return p.packet.sent
			}
		}
	}
	return never
}

// hasLost reports whether the sender that an exchange waits for at a moment had lost octets on the connection.
func (v *view) hasLost(at int64) bool {
	d, l, delay := v.looksAt(at)
	missing := v.connection.missing[d]
	return len(missing) > 0 && missing[0].from <= at-delay+l.least
}

// served says whose packet the link served while an exchange waited for it, in which direction, and how many of the
// packet's octets.
func (b *breaking) served(v *view, r *resource, during span) (d Detail, isUp bool, octets float64) {
	direction, l, delay := v.looksAt(during.from)
	q := l.serving(during.from - delay)
	if q == nil {
		return Foreign, direction == up, 0
	}
	if whole := q.served - q.begins; whole > 0 {
		octets = float64(q.length) * float64(during.to-during.from) / float64(whole)
	}
	switch {
	case q.carriesAnyOf(v.exchange):
		d = Own
	case !b.owns(q):
		d = Foreign
	case direction == up || !b.lessUrgent(q, r):
		d = Shared
	case q.sent >= v.heard:
		d = Overtook
	default:
		d = Earlier
	}
	return d, direction == up, octets
}

// looksAt returns the line that decides what an exchange waits for at a moment, and how much earlier: see kind.
func (v *view) looksAt(at int64) (d direction, l *line, delay int64) {
	if at < v.begun {
		d = v.opening()
		return d, v.needs[d][0].first.line, 0
	}
	if d = down; at < v.heard {
		d = up
	}
	needs := v.needs[d]
	i := sort.Search(len(needs), func(i int) bool { return needs[i].delivered > at })
	l = needs[min(i, len(needs)-1)].first.line
	return d, l, l.least
}

// owners says to whom packets belong.
type owners struct {
	asked   map[*exchange]*resource
	servers map[netip.Addr]bool // that the load had responses of
	arrived [2][]arrival        // the load's own packets by direction, in the order in which they arrived
}

// arrival is when a packet arrived, and how many octets had arrived by then.
type arrival struct{ at, octets int64 }

func (l *ledger) owners() *owners {
	o := &owners{asked: map[*exchange]*resource{}, servers: map[netip.Addr]bool{}}
	for r, x := range l.exchanges {
		o.asked[x] = r
		o.servers[x.connection.flow.Destination.Addr()] = true
	}
	for _, p := range l.traffic.packets {
		if p.arrived != never && o.owns(p) {
			o.arrived[p.direction] = append(o.arrived[p.direction], arrival{p.arrived, int64(p.length)})
		}
	}
	for _, list := range o.arrived {
		slices.SortStableFunc(list, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(list); i++ {
			list[i].octets += list[i-1].octets
		}
	}
	return o
}

// owns reports whether a packet is the load's: of a look-up, or exchanged with a server that the load had responses of.
func (o *owners) owns(p *packet) bool {
	c := p.connection
	return c != nil && (c.isLookUp() || o.servers[c.flow.Destination.Addr()])
}

// lessUrgent reports whether a packet holds octets of responses that are all less urgent than a resource, by the
// priorities of the HAR.
func (o *owners) lessUrgent(p *packet, than *resource) bool {
	urgency := than.urgency()
	for _, x := range p.carries {
		r := o.asked[x]
		if r == nil || r.urgency() == 0 || r.urgency() >= urgency {
			return false
		}
	}
	return len(p.carries) > 0
}

// octets returns how many octets of the load's packets arrived in one direction within a span.
func (o *owners) octets(d direction, within span) int64 {
	until := func(at int64) int64 {
		if i := sort.Search(len(o.arrived[d]), func(i int) bool { return o.arrived[d][i].at > at }); i > 0 {
			return o.arrived[d][i-1].octets
		}
		return 0
	}
	return until(within.to) - until(within.from)
}
