package critical

import (
	"iter"
	"net/url"
	"slices"
	"sort"
	"strings"
)

// ledger explains what the time of a page's path was spent on.
type ledger struct {
	traffic   *traffic
	epoch     int64 // navigationStart, ns since the Unix epoch
	exchanges map[*resource]*exchange
}

// account says how the time of a link is split. With neither view nor setUp it is one step.
type account struct {
	step  Step
	span  span    // ns since the Unix epoch
	view  *view   // from the sending of the request on
	setUp *setUp  // before
	cuts  []int64 // where the kind may change, in ns since the Unix epoch
}

// kind returns what the link's time was spent on at a moment, in ns since the Unix epoch.
func (a *account) kind(at int64) Kind {
	switch {
	case a.view != nil:
		return a.view.kind(at)
	case a.setUp != nil:
		return a.setUp.kind(at)
	}
	return a.step.Kind
}

// explain splits a link of the chain into steps, each of one kind.
func (l *ledger) explain(k link) []Step {
	a := l.account(k)
	if a.view == nil && a.setUp == nil {
		return []Step{a.step}
	}
	return split(a.step, a.span, l.epoch, a.cuts, a.kind)
}

func (l *ledger) account(k link) account {
	a := account{
		step: Step{From: k.from, To: k.to, Phase: k.phase, Kind: Client, Seen: true},
		span: span{l.epoch + k.from, l.epoch + k.to},
	}
	if k.resource == nil {
		return a
	}
	a.step.URL = shortened(k.resource.url)
	if k.phase == ClientPhase || k.resource.entry.FromCache != "" {
		return a
	}
	x := l.exchanges[k.resource]
	switch k.phase {
	case Blocked, DNS, Connect, SSL:
		u := &setUp{otherwise: SetUp}
		lookUp := l.traffic.names[host(k.resource.url)]
		if lookUp != nil {
			u.add(lookUp)
		}
		if x != nil {
			u.add(x.connection)
		}
		if k.phase == Blocked {
			u.otherwise = Client
			if x != nil {
				u.addOthers(l.traffic.attempts[x.connection.flow.Destination], x.connection)
			}
		}
		a.step.Seen = k.phase == Blocked || x != nil || k.phase == DNS && lookUp != nil
		a.setUp, a.cuts = u, u.cuts(a.span)
		return a
	}
	if x == nil {
		a.step.Seen, a.step.Kind = false, guess(k.phase)
		return a
	}
	a.view = x.view()
	a.cuts = a.view.cuts(a.span)
	return a
}

// guess returns the kind that a phase's name suggests.
func guess(p Phase) Kind {
	switch p {
	case Wait:
		return Server
	case Receive:
		return Bandwidth
	}
	return Client
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// split cuts a step where its kind may change. All times but the step's are ns
// since the Unix epoch.
func split(step Step, s span, epoch int64, cuts []int64, kind func(at int64) Kind) []Step {
	var steps []Step
	for at := range pieces(s, cuts) {
		step.From, step.To, step.Kind = at.from-epoch, at.to-epoch, kind(at.from)
		steps = append(steps, step)
	}
	return merged(steps)
}

// pieces cuts a span. It changes the order of cuts.
func pieces(s span, cuts []int64) iter.Seq[span] {
	cuts = append(slices.DeleteFunc(cuts, func(c int64) bool { return c <= s.from || c >= s.to }), s.from, s.to)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	return func(yield func(span) bool) {
		for i, from := range cuts[:len(cuts)-1] {
			if !yield(span{from, cuts[i+1]}) {
				return
			}
		}
	}
}

// view is an exchange on its way through the network, seen from the waiting ends:
// first until the request reaches the server, then until the response reaches the
// client. Each part begins with the path's least delay. After that, each moment
// shows what the link did one least delay earlier.
type view struct {
	*exchange
	begun, heard int64 // the first octet was sent; the server had the request
	delay        [2]int64
}

func (x *exchange) view() *view {
	v := &view{exchange: x}
	v.begun, _ = x.begins()
	if x.asked != 0 {
		v.begun = x.asked
	}
	v.heard = v.begun
	if n := len(x.needs[up]); n > 0 {
		v.heard = x.needs[up][n-1].delivered
	}
	if len(x.needs[down]) > 0 {
		v.heard = max(v.begun, min(v.heard, x.needs[down][0].first.sent))
	}
	for d := range v.delay {
		if v.delay[d] = x.connection.least[d]; len(x.needs[d]) > 0 {
			v.delay[d] = x.needs[d][0].first.line.least
		}
	}
	if x.asked != 0 {
		v.heard = min(v.begun+v.delay[up], x.needs[down][0].first.sent)
	}
	return v
}

// opening returns the direction in which the exchange began.
func (v *view) opening() direction {
	if len(v.needs[up]) > 0 {
		return up
	}
	return down
}

// kind returns what the exchange waits for at a moment, in ns since the Unix
// epoch.
func (v *view) kind(at int64) Kind {
	switch {
	case at < v.begun:
		return v.holding(v.opening(), at, v.needs[v.opening()][0].first.line)
	case at < v.heard && at-v.begun < v.delay[up]:
		return Delay
	case at < v.heard:
		return v.waiting(up, at)
	case at-v.heard < v.delay[down]:
		return Delay
	}
	return v.waiting(down, at)
}

// waiting returns what the exchange waits for at a moment in one direction.
func (v *view) waiting(d direction, at int64) Kind {
	needs := v.needs[d]
	i := sort.Search(len(needs), func(i int) bool { return needs[i].delivered > at })
	if i == len(needs) {
		return Client
	}
	n := needs[i]
	if n.arrived <= at {
		return HeadOfLine
	}
	p := n.first
	then := at - p.line.least
	switch {
	case p.lost && then >= p.sent && n.own:
		return Loss
	case p.lost && then >= p.sent:
		return HeadOfLine
	case then < p.sent:
		return v.holding(d, then, p.line)
	case then < p.begins:
		if q := p.line.serving(then); q != nil && q.carriesAnyOf(v.exchange) {
			return Bandwidth
		}
		return Queueing
	}
	return Bandwidth
}

// holding returns why a sender had not yet sent the octets that are waited for.
func (v *view) holding(d direction, then int64, l *line) Kind {
	switch {
	case l.serving(then) != nil:
		return Bandwidth
	case within(v.connection.missing[d], then+l.least), within(v.connection.stalled[1-d], then):
		return Loss
	case v.connection.waits(d, then):
		return Window
	case d == down:
		return Server
	}
	return Client
}

// cuts returns the moments within a span at which kind may change.
func (v *view) cuts(s span) []int64 {
	cuts := []int64{v.begun, v.begun + v.delay[up], v.heard, v.heard + v.delay[down]}
	for d, needs := range v.needs {
		since := s.from // octets that need i holds are waited for from since until they are delivered
		for i, n := range needs {
			l := n.first.line
			cuts = append(cuts, n.arrived, n.delivered, n.first.sent+l.least, n.first.begins+l.least, n.first.served+l.least)
			if i+1 < len(needs) && needs[i+1].first.line == l {
				continue
			}
			if during := (span{since, min(s.to, n.delivered)}); during.from < during.to {
				cuts = v.connection.cuts(cuts, direction(d), l, during, l.least)
				since = during.to
			}
		}
	}
	if before := (span{s.from, min(s.to, v.begun)}); before.from < before.to {
		d := v.opening()
		cuts = v.connection.cuts(cuts, d, v.needs[d][0].first.line, before, 0)
	}
	return cuts
}

// cuts appends the moments within a span at which the sender's reason for holding
// octets back may change, seen a delay later.
func (c *connection) cuts(list []int64, d direction, l *line, s span, delay int64) []int64 {
	list = l.edges(list, s, delay)
	for _, moment := range []func(*flight) int64{(*flight).sentAt, (*flight).latestAt} {
		i := sort.Search(len(c.flights[d]), func(i int) bool { return moment(&c.flights[d][i]) > s.from-delay })
		for ; i < len(c.flights[d]) && moment(&c.flights[d][i]) < s.to-delay; i++ {
			list = append(list, moment(&c.flights[d][i])+delay)
		}
	}
	list = appendEdges(list, c.missing[d], s, delay-l.least)
	return appendEdges(list, c.stalled[1-d], s, delay)
}

// appendEdges appends where spans, which are joined, begin and end, if they have a part
// within a span. All are seen a delay later.
func appendEdges(list []int64, spans []span, within span, delay int64) []int64 {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= within.from-delay })
	for ; i < len(spans) && spans[i].from <= within.to-delay; i++ {
		list = append(list, spans[i].from+delay, spans[i].to+delay)
	}
	return list
}

// shortened cuts a URL after 2 KiB and marks the cut: each of a resource's steps names it.
func shortened(url string) string {
	const most = 2 << 10
	if len(url) <= most {
		return url
	}
	return strings.ToValidUTF8(url[:most], "") + "…"
}
