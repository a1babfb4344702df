package critical

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
)

// never is the arrival time of a packet that does not arrive.
const never = math.MaxInt64

// direction is the direction of a packet.
type direction uint8

const (
	up   direction = iota // from the client
	down                  // to the client
)

// packet is one packet and its fate. Times are ns since the Unix epoch.
type packet struct {
	line      *line
	direction direction
	headers   capture.Headers
	length    int // octets at the IP layer
	sent      int64
	lost      bool
	arrived   int64 // or never
	late      int64 // emulator lateness in ns
	// When the link started and finished serialising it: see line.serve. Both
	// are never for a packet that did not arrive.
	begins, served int64
	number         int         // of the capture's packets, in the order in which they were sent
	connection     *connection // or nil
	carries        []*exchange // whose octets it holds, in the order of its connection
}

// carriesAnyOf reports whether a packet holds octets of an exchange.
func (p *packet) carriesAnyOf(x *exchange) bool {
	i, _ := slices.BinarySearchFunc(p.carries, x.number, func(c *exchange, number int) int { return cmp.Compare(c.number, number) })
	return i < len(p.carries) && p.carries[i] == x
}

// line is one direction of one access link, as far as its packets reveal it.
type line struct {
	least   int64     // ns: the least time that a packet took
	packets []*packet // those that arrived, as they were served
}

// serve works out when the link was busy. It serves packets one after the other:
// each from when it has been sent and the previous one has been served, until the
// least delay before its arrival at the far end.
func (l *line) serve() {
	if len(l.packets) == 0 {
		return
	}
	slices.SortStableFunc(l.packets, func(a, b *packet) int { return cmp.Compare(a.arrived, b.arrived) })
	l.least = never
	for _, p := range l.packets {
		l.least = min(l.least, max(0, p.arrived-p.sent))
	}
	free := int64(math.MinInt64)
	for _, p := range l.packets {
		p.served = p.arrived - l.least
		p.begins = min(p.served, max(p.sent, free))
		free = max(free, p.served)
	}
}

// serving returns the packet that the link serialises at a moment, or nil.
func (l *line) serving(at int64) *packet {
	i := sort.Search(len(l.packets), func(i int) bool { return l.packets[i].served > at })
	if i < len(l.packets) && l.packets[i].begins <= at {
		return l.packets[i]
	}
	return nil
}

// edges appends the moments within a span at which the link starts or finishes
// serialising a packet, seen a delay later.
func (l *line) edges(list []int64, s span, delay int64) []int64 {
	i := sort.Search(len(l.packets), func(i int) bool { return l.packets[i].served > s.from-delay })
	for ; i < len(l.packets) && l.packets[i].begins < s.to-delay; i++ {
		list = append(list, l.packets[i].begins+delay, l.packets[i].served+delay)
	}
	return list
}

// traffic holds what the packets of a load reveal.
type traffic struct {
	packets     []*packet // in the order in which they were sent
	late        []*packet // those that left the emulator late, in the order in which they arrived
	connections []*connection
	attempts    map[netip.AddrPort]*attempts
	latest      map[opening]*connection // the latest of each flow
	names       map[string]*connection  // packets of DNS look-ups, by name
	questions   map[asked]*lane
}

// opening identifies connections by their flow, or by flow and first sequence number.
type opening struct {
	flow     capture.Flow
	opens    bool
	sequence uint32
}

// asked identifies the packets of a DNS question.
type asked struct {
	direction direction
	text      string
}

// readTraffic reads a capture.
func readTraffic(e *evidence.Evidence) *traffic {
	t := &traffic{latest: map[opening]*connection{}, names: map[string]*connection{}, questions: map[asked]*lane{}}
	if e.Packets == nil {
		return t
	}
	lines := t.readPackets(e.Sightings())
	for _, l := range lines {
		l.serve()
	}
	keys := protection.ReadKeyLog(e.Packets.Secrets)
	for i, p := range t.packets {
		p.number = i
		t.assign(p)
		if p.arrived != never && p.late > 0 {
			t.late = append(t.late, p)
		}
	}
	slices.SortStableFunc(t.late, func(a, b *packet) int { return cmp.Compare(a.arrived, b.arrived) })
	for _, c := range t.connections {
		c.read(keys)
	}
	for _, c := range t.names {
		c.finish()
	}
	t.attempts = newAttempts(t.connections)
	return t
}

// readPackets joins the sightings of each packet. It returns the lines in the order
// of their first packets.
func (t *traffic) readPackets(sightings []evidence.Sighting) []*line {
	var lines []*line
	from := map[int]*line{} // by the sender's interface
	under := map[uint64]*packet{}
	sent := 0
	for i := range sightings {
		if !sightings[i].Inbound {
			sent++
		}
	}
	all := make([]packet, sent)
	t.packets = make([]*packet, 0, sent)
	for i := range sightings {
		r := &sightings[i]
		if r.Inbound {
			if p := under[r.ID]; p != nil {
				delete(under, r.ID)
				p.arrived, p.late = r.Time, r.Lateness
				p.line.packets = append(p.line.packets, p)
			}
			continue
		}
		l := from[r.Interface]
		if l == nil {
			l = &line{}
			from[r.Interface] = l
			lines = append(lines, l)
		}
		p := &all[len(t.packets)]
		*p = packet{
			line: l, direction: down, headers: r.Headers, length: max(r.Length, len(r.Data)), sent: r.Time, lost: r.Dropped(),
			arrived: never, begins: never, served: never,
		}
		if r.AtClient {
			p.direction = up
		}
		if !p.lost {
			under[r.ID] = p
		}
		t.packets = append(t.packets, p)
	}
	slices.SortStableFunc(t.packets, func(a, b *packet) int { return cmp.Compare(a.sent, b.sent) })
	return lines
}

// assign adds a packet to its connection.
func (t *traffic) assign(p *packet) {
	flow := p.headers.Flow
	if p.direction == down {
		flow = flow.Reverse()
	}
	switch {
	case flow.Destination.Port() == evidence.PortDNS:
		t.assignQuery(flow, p)
	case flow.Protocol == capture.TCP, flow.Protocol == capture.UDP && flow.Destination.Port() == evidence.PortHTTPS:
		p.connection = t.connection(flow, p)
		p.connection.packets = append(p.connection.packets, p)
	}
}

// connection finds the connection of a packet: the latest of its flow, unless the
// packet opens a new one.
func (t *traffic) connection(flow capture.Flow, p *packet) *connection {
	id := opening{flow: flow}
	if p.direction == up && p.headers.Flags.Has(capture.SYN) {
		id.opens, id.sequence = true, p.headers.Sequence
	}
	if c := t.latest[id]; c != nil {
		return c
	}
	c := &connection{flow: flow, syn: p.headers.Sequence}
	t.latest[opening{flow: flow}], t.latest[opening{flow, true, c.syn}] = c, c
	t.connections = append(t.connections, c)
	return c
}

// assignQuery adds a DNS packet to the look-up of its name, so that a loss shows.
// Each question is one octet of a sequence of its own.
func (t *traffic) assignQuery(flow capture.Flow, p *packet) {
	text, name := readQuestion(p.headers.Payload)
	if p.headers.Flow.Protocol != capture.UDP || text == "" {
		return
	}
	c := t.names[name]
	if c == nil {
		c = &connection{flow: flow}
		t.names[name] = c
	}
	l := t.questions[asked{p.direction, text}]
	if l == nil {
		l = &lane{direction: p.direction}
		t.questions[asked{p.direction, text}] = l
		c.lanes = append(c.lanes, l)
	}
	p.connection = c
	l.add(p, 0, 1)
}

// readQuestion reads the first question of a message (RFC 1035 section 4.1), and
// returns it in lower case with its name.
func readQuestion(message []byte) (question, name string) {
	const header = 12
	if len(message) < header {
		return "", ""
	}
	var labels []string
	for i := header; i < len(message); {
		n := int(message[i])
		if n == 0 {
			if i+5 > len(message) {
				return "", ""
			}
			return strings.ToLower(string(message[header : i+5])), strings.ToLower(strings.Join(labels, "."))
		}
		if n > 63 || i+1+n > len(message) {
			return "", ""
		}
		labels = append(labels, string(message[i+1:i+1+n]))
		i += 1 + n
	}
	return "", ""
}
