package critical

import (
	"cmp"
	"net/url"
	"slices"
	"sort"
	"strings"

	"wiretime/evidence"
)

// ledger explains what the time of a page's path was spent on.
type ledger struct {
	traffic   *traffic
	epoch     int64 // navigationStart, ns since the Unix epoch
	exchanges map[*resource]*exchange
}

// match assigns an exchange to each resource: among the unassigned ones of its
// URL, the one that began closest to when the resource was sent.
func (t *traffic) match(resources []*resource, epoch int64) map[*resource]*exchange {
	byURL := map[string][]*exchange{}
	for _, c := range t.connections {
		for _, x := range c.exchanges {
			if _, ok := x.begins(); ok && x.url != "" {
				byURL[x.url] = append(byURL[x.url], x)
			}
		}
	}
	found := map[*resource]*exchange{}
	taken := map[*exchange]bool{}
	for _, r := range resources {
		if r.entry.FromCache != "" {
			continue
		}
		var best *exchange
		var nearest int64
		for _, x := range byURL[evidence.Address(r.url)] {
			began, _ := x.begins()
			gap := began - epoch - r.phases[atSend].from
			if gap = max(gap, -gap); !taken[x] && began-epoch <= r.end+slack && (best == nil || gap < nearest) {
				best, nearest = x, gap
			}
		}
		if best != nil {
			found[r], taken[best] = best, true
		}
	}
	t.matchUnread(resources, found, epoch)
	return found
}

// matchUnread assigns responses whose requests could not be read, because they were
// sent as early data, to the remaining HTTP/3 resources, both in their order.
func (t *traffic) matchUnread(resources []*resource, found map[*resource]*exchange, epoch int64) {
	for _, c := range t.connections {
		for _, x := range c.exchanges {
			began, ok := x.begins()
			if !ok || x.url != "" || x.asked != 0 || len(x.needs[up]) > 0 {
				continue
			}
			i := slices.IndexFunc(resources, func(r *resource) bool {
				sent := epoch + r.phases[atSend].from
				return r.entry.Protocol == "h3" && r.entry.FromCache == "" && found[r] == nil && sent < began && began <= epoch+r.end
			})
			if i >= 0 {
				x.asked = epoch + resources[i].phases[atSend].from
				found[resources[i]] = x
			}
		}
	}
}

// explain splits a link of the chain into steps, each of one kind.
func (l *ledger) explain(k link) []Step {
	step := Step{From: k.from, To: k.to, Phase: k.phase, Kind: Client, Seen: true}
	if k.resource == nil {
		return []Step{step}
	}
	step.URL = k.resource.url
	if k.phase == ClientPhase || k.resource.entry.FromCache != "" {
		return []Step{step}
	}
	s := span{l.epoch + k.from, l.epoch + k.to}
	x := l.exchanges[k.resource]
	switch k.phase {
	case Blocked, DNS, Connect, SSL:
		u := setUp{otherwise: SetUp}
		if k.phase == Blocked {
			u.otherwise = Client
		}
		if c := l.traffic.names[host(k.resource.url)]; c != nil {
			u.connections = append(u.connections, c)
		}
		if x != nil {
			u.connections = append(u.connections, l.traffic.opening(x.connection, k.phase == Blocked)...)
		}
		step.Seen = k.phase == Blocked || x != nil || k.phase == DNS && len(u.connections) > 0
		return split(step, s, l.epoch, u.cuts(), u.kind)
	}
	if x == nil {
		step.Seen, step.Kind = false, guess(k.phase)
		return []Step{step}
	}
	v := x.view()
	return split(step, s, l.epoch, v.cuts(s), v.kind)
}

// opening returns a connection. If the browser may have tried others before it,
// opening returns all to its address, because a failed dial attempt is replaced and
// leaves no trace in HAR.
func (t *traffic) opening(c *connection, others bool) []*connection {
	list := []*connection{c}
	for _, o := range t.connections {
		if others && o != c && o.flow.Destination == c.flow.Destination && o.opening.from < c.opening.from {
			list = append(list, o)
		}
	}
	return list
}

// setUp is what a resource waits for before it is sent: a DNS look-up and a
// connection. Octets of these may be missing while they are being opened.
type setUp struct {
	connections []*connection
	otherwise   Kind // while none is being opened
}

func (u setUp) kind(at int64) Kind {
	kind := u.otherwise
	for _, c := range u.connections {
		if at < c.opening.from || at >= c.opening.to {
			continue
		}
		if within(c.missing[up], at) || within(c.missing[down], at) {
			return Loss
		}
		kind = SetUp
	}
	return kind
}

// cuts returns the moments at which kind may change.
func (u setUp) cuts() []int64 {
	var cuts []int64
	for _, c := range u.connections {
		cuts = append(cuts, c.opening.from, c.opening.to)
		for _, m := range slices.Concat(c.missing[up], c.missing[down]) {
			cuts = append(cuts, m.from, m.to)
		}
	}
	return cuts
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
	cuts = append(slices.DeleteFunc(cuts, func(c int64) bool { return c <= s.from || c >= s.to }), s.from, s.to)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var steps []Step
	for i, from := range cuts[:len(cuts)-1] {
		step.From, step.To, step.Kind = from-epoch, cuts[i+1]-epoch, kind(from)
		steps = append(steps, step)
	}
	return merged(steps)
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
		if q := p.line.serving(then); q != nil && slices.Contains(q.carries, v.exchange) {
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
		var lines []*line
		for _, n := range needs {
			l := n.first.line
			cuts = append(cuts, n.arrived, n.delivered, n.first.sent+l.least, n.first.begins+l.least, n.first.served+l.least)
			if !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
		for _, l := range lines {
			cuts = v.connection.cuts(cuts, direction(d), l, s, l.least)
			if s.from < v.begun {
				cuts = v.connection.cuts(cuts, direction(d), l, s, 0)
			}
		}
	}
	return cuts
}

// cuts appends the moments within a span at which the sender's reason for holding
// octets back may change, seen a delay later.
func (c *connection) cuts(list []int64, d direction, l *line, s span, delay int64) []int64 {
	list = l.edges(list, s, delay)
	i, _ := slices.BinarySearchFunc(c.flights[d], s.from-delay, func(f *flight, at int64) int { return cmp.Compare(f.latest, at) })
	for ; i < len(c.flights[d]) && c.flights[d][i].sent <= s.to-delay; i++ {
		list = append(list, c.flights[d][i].sent+delay, c.flights[d][i].latest+delay)
	}
	for _, m := range c.missing[d] {
		list = append(list, m.from-l.least+delay, m.to-l.least+delay)
	}
	for _, m := range c.stalled[1-d] {
		list = append(list, m.from+delay, m.to+delay)
	}
	return list
}
