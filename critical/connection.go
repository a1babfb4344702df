package critical

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
)

// connection is a TCP or QUIC connection, or the DNS queries for one name.
type connection struct {
	flow      capture.Flow // from the client, when the connection was opened
	syn       uint32       // TCP: sequence number of the client's SYN
	packets   []*packet
	lanes     []*lane
	exchanges []*exchange

	// Filled in by finish, by direction.
	missing [2][]span   // octets were missing
	stalled [2][]span   // QUIC: handshake octets were missing, without which no others can be read
	opening span        // from the first packet to the first request, or to the last DNS answer
	lost    []span      // octets of either direction were missing meanwhile
	least   [2]int64    // ns: the least delay of its first line
	flights [2][]flight // packets with data, in the order they were sent
}

// flight is a packet with data. Its sender may know that it and all before it
// have arrived once back has come.
type flight struct{ sent, back, latest int64 }

func (f *flight) sentAt() int64   { return f.sent }
func (f *flight) latestAt() int64 { return f.latest }

// read parses what the connection carries.
func (c *connection) read(keys protection.KeyLog) {
	if c.flow.Protocol == capture.TCP {
		c.readTCP(keys)
	} else {
		c.readQUIC(keys)
	}
	c.finish()
}

// finish prepares what was read for the ledger.
func (c *connection) finish() {
	for _, d := range []direction{up, down} {
		if i := slices.IndexFunc(c.packets, func(p *packet) bool { return p.direction == d }); i >= 0 {
			c.least[d] = c.packets[i].line.least
		}
	}
	var pieces [2]int
	for _, l := range c.lanes {
		pieces[l.direction] += len(l.pieces)
	}
	for d := range c.flights {
		c.flights[d] = make([]flight, 0, pieces[d])
	}
	for _, l := range c.lanes {
		l.finish()
		for _, s := range l.segments {
			c.missing[l.direction] = append(c.missing[l.direction], s.missing())
			if l.greets {
				c.stalled[l.direction] = append(c.stalled[l.direction], s.missing())
			}
		}
		for _, p := range l.pieces {
			if p.packet.arrived != never {
				back := p.packet.arrived + c.least[1-l.direction]
				c.flights[l.direction] = append(c.flights[l.direction], flight{sent: p.packet.sent, back: back})
			}
		}
	}
	for d := range c.missing {
		c.missing[d], c.stalled[d] = joined(c.missing[d]), joined(c.stalled[d])
		slices.SortStableFunc(c.flights[d], func(a, b flight) int { return cmp.Compare(a.sent, b.sent) })
		latest := int64(0)
		for i := range c.flights[d] {
			f := &c.flights[d][i]
			latest = max(latest, f.back)
			f.latest = latest
		}
	}
	for i, x := range c.exchanges {
		x.number = i
		x.finish()
	}
	c.opening = c.opened()
	c.lost = clipped(joined(slices.Concat(c.missing[up], c.missing[down])), c.opening)
}

// opened returns the span in which the connection was opened, or the name
// resolved.
func (c *connection) opened() span {
	s := span{never, never}
	for _, l := range c.lanes {
		if len(l.pieces) > 0 {
			s.from = min(s.from, l.pieces[0].packet.sent)
		}
	}
	if c.isLookUp() {
		s.to = s.from
		for _, l := range c.lanes {
			if n := len(l.segments); n > 0 && l.direction == down {
				s.to = max(s.to, l.segments[n-1].delivered)
			}
		}
		return s
	}
	for _, x := range c.exchanges {
		if begun, ok := x.begins(); ok {
			s.to = min(s.to, begun)
		}
	}
	return s
}

func (c *connection) isLookUp() bool { return c.flow.Destination.Port() == evidence.PortDNS }

// waits reports whether a sender has octets in flight whose arrival it cannot
// know yet at that moment.
func (c *connection) waits(d direction, at int64) bool {
	i := sort.Search(len(c.flights[d]), func(i int) bool { return c.flights[d][i].sent > at })
	return i > 0 && at < c.flights[d][i-1].latest
}

// exchange is a request with its response, or a pushed response.
type exchange struct {
	connection *connection
	number     int       // of its connection's exchanges
	url        string    // "": its request could not be read
	asked      int64     // ns since the Unix epoch: when a request was sent that could not be read
	lanes      [2]*lane  // for request and response
	parts      [2][]part // the octets they need from their lanes, in order
	needs      [2][]need // filled in by finish
}

// part is a run of octets that have to arrive. It is not the exchange's own if
// it only shares a TLS record with octets that are.
type part struct {
	span
	own bool
}

type need struct {
	*segment
	own bool
}

func (x *exchange) finish() {
	for d, parts := range x.parts {
		for _, part := range parts {
			for _, s := range x.lanes[d].overlapping(part.span) {
				if n := len(x.needs[d]); n > 0 && x.needs[d][n-1].segment == s {
					x.needs[d][n-1].own = x.needs[d][n-1].own || part.own
				} else {
					x.needs[d] = append(x.needs[d], need{s, part.own})
				}
			}
		}
		for _, n := range x.needs[d] {
			if !n.own {
				continue
			}
			for _, p := range n.packets {
				if last := len(p.carries) - 1; last < 0 || p.carries[last] != x {
					p.carries = append(p.carries, x)
				}
			}
		}
	}
}

// begins returns when the first octet of the exchange was sent, or false if
// none was.
func (x *exchange) begins() (int64, bool) {
	for _, needs := range x.needs {
		if len(needs) > 0 {
			return needs[0].first.sent, true
		}
	}
	return 0, false
}

// readTCP reassembles the octets of both directions, decrypts TLS, and reads the
// requests.
func (c *connection) readTCP(keys protection.KeyLog) {
	var packets, room [2]int
	for _, p := range c.packets {
		packets[p.direction]++
		room[p.direction] += len(p.headers.Payload)
	}
	var streams [2]octets
	for d := range streams {
		streams[d].lane = &lane{direction: direction(d), pieces: make([]piece, 0, packets[d])}
		streams[d].data = make([]byte, 0, room[d])
		c.lanes = append(c.lanes, streams[d].lane)
	}
	for _, p := range c.packets {
		streams[p.direction].add(p)
	}
	var texts [2]*text
	scheme := "http"
	if protection.IsTLS(streams[up].data) {
		scheme = "https"
		texts = unseal(streams[up].data, streams[down].data, keys)
	} else {
		texts = [2]*text{clear(streams[up].data), clear(streams[down].data)}
	}
	for d, t := range texts {
		t.lane = streams[d].lane
	}
	head := texts[up].data
	switch {
	case bytes.HasPrefix(head, []byte("PRI * HTTP/2.0\r\n")):
		c.exchanges = readHTTP2(texts)
	case len(head) > 1 && head[0] == 0x80 && (head[1] == 2 || head[1] == 3):
		c.exchanges = readSPDY(texts)
	default:
		c.exchanges = readHTTP1(texts, scheme)
	}
	for _, x := range c.exchanges {
		x.connection = c
	}
}

// octets is one direction of a TCP connection as its sender sent it. Position 0 is
// the SYN, position 1 the first octet of data.
type octets struct {
	lane  *lane
	began bool
	start uint32 // sequence number of position 0
	next  int64  // after the highest position sent
	data  []byte // from position 1 to the first gap
}

func (o *octets) add(p *packet) {
	h := &p.headers
	isSYN := h.Flags.Has(capture.SYN)
	if !o.began {
		if o.start = h.Sequence; !isSYN {
			o.start--
		}
		o.began, o.next = true, 1
	}
	if isSYN {
		o.lane.add(p, 0, 1)
		return
	}
	from := o.next + int64(int32(h.Sequence-o.start-uint32(o.next)))
	to := from + int64(h.PayloadLength)
	if from < 1 {
		return
	}
	// Only octets that were captured: how many a packet that was cut had before is its word alone.
	o.lane.add(p, from, from+int64(len(h.Payload)))
	o.next = max(o.next, to)
	if have := int64(len(o.data)) + 1; from <= have && have < from+int64(len(h.Payload)) {
		o.data = append(o.data, h.Payload[have-from:]...)
	}
}

// text is the plaintext of one direction of a connection.
type text struct {
	lane    *lane
	data    []byte
	records []record
}

// record says where a run of a text stands in its lane: after a header, and, if
// it is sealed, readable only when its last octet has arrived.
type record struct {
	text, wire span
	header     int64
	sealed     bool
}

// clear returns the text of a connection without TLS.
func clear(data []byte) *text {
	n := int64(len(data))
	return &text{data: data, records: []record{{text: span{0, n}, wire: span{1, 1 + n}}}}
}

// parts returns the parts of the lane that hold [from, to) of the text.
func (t *text) parts(from, to int) []part {
	want := span{int64(from), int64(to)}
	i := sort.Search(len(t.records), func(i int) bool { return t.records[i].text.to > want.from })
	var list []part
	for ; i < len(t.records) && t.records[i].text.from < want.to; i++ {
		r := t.records[i]
		own := r.wire
		if want.from > r.text.from {
			own.from = r.wire.from + r.header + want.from - r.text.from
		}
		if want.to < r.text.to {
			own.to = r.wire.from + r.header + want.to - r.text.from
		}
		list = append(list, part{own, true})
		if r.sealed && own.to < r.wire.to {
			list = append(list, part{span{own.to, r.wire.to}, false})
		}
	}
	return list
}

// add assigns [from, to) of a text to one direction of the exchange.
func (x *exchange) add(d direction, t *text, from, to int) {
	x.lanes[d] = t.lane
	for _, p := range t.parts(from, to) {
		// The rest of the same record may turn out to be the exchange's own.
		if n := len(x.parts[d]); n > 0 && x.parts[d][n-1].to > p.from {
			if x.parts[d][n-1].to = p.from; x.parts[d][n-1].from >= p.from {
				x.parts[d] = x.parts[d][:n-1]
			}
		}
		x.parts[d] = append(x.parts[d], p)
	}
}
