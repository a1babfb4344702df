package flowcontrol

import (
	"fmt"
	"sort"
	"strings"

	"wiretime/protection"
)

// quicReader reads the frames of a QUIC version 1 connection, packet by packet.
type quicReader struct {
	spoken
	conversation *protection.Conversation
	ends         [2]quicEnd
	told         [2]bool // the side's transport parameters have been noted
	sealed       int     // packets that could not be decrypted
	frame        *packet // the packet being read
}

// quicEnd is one end of a connection: what it sent, and the acknowledgements that it got.
type quicEnd struct {
	packets []quicPacket // at the level Application, in the order of their numbers unless the capture is damaged
	acks    []quicAck    // that reached it
	streams map[uint64]*quicStream
	moves   []move
	arrived int64 // when the last octets of a stream had arrived
	resends bool  // octets of streams were lost, so old ones may be sent again
	gap     bool  // octets of streams are in no packet that could be read
}

// quicPacket is a packet that its receiver has to acknowledge.
type quicPacket struct {
	number     uint64
	size, sent int64
	lost       bool // it held octets of streams and did not arrive
}

// quicAck is an acknowledgement.
type quicAck struct {
	at     int64       // when it arrived
	ranges [][2]uint64 // of packet numbers, ends included, the highest first
}

// quicStream is what one end has sent on a stream.
type quicStream struct {
	reach uint64       // after the highest octet sent
	lost  []lostOctets // in the order of their offsets
	http  *http3Stream
}

// lostOctets are new octets [from, to) of a stream in a packet that did not arrive. Those that have arrived since are cut off.
type lostOctets struct {
	from, to uint64
	frames   []*frame // that end with them
}

// readQUIC reads a QUIC connection.
func (c *conversation) readQUIC(keys protection.KeyLog) {
	q := &quicReader{conversation: protection.NewConversation(keys)}
	for side := range q.ends {
		q.ends[side].streams = map[uint64]*quicStream{}
	}
	opened := false // by the client, since the capture began
	for _, p := range c.packets {
		const longHeader = 0x80 // of the handshake's packets (RFC 9000 section 17.2)
		opened = opened || p.sender == Client && len(p.headers.Payload) > 0 && p.headers.Payload[0]&longHeader != 0
		q.frame = p
		q.sealed += q.conversation.Datagram(int(p.sender), p.headers.Payload, q.packet)
		q.parameters()
	}
	c.Protocol = q.conversation.ALPN
	switch {
	case !opened:
		c.Unseen = append(c.Unseen, "the frames: the connection was opened before the capture began, so its keys cannot be applied")
	case !q.conversation.HasSecrets():
		c.Unseen = append(c.Unseen, "the frames: the key log lacks the secrets of this connection")
	case q.sealed > 0:
		c.Unseen = append(c.Unseen, fmt.Sprintf("%d packets stayed encrypted: early data, or packets from before their keys were known", q.sealed))
	}
	for side := range q.ends {
		if q.ends[side].gap && q.sealed == 0 {
			c.Unseen = append(c.Unseen, "octets of streams that the "+Side(side).String()+" sent: the capture lacks packets")
		}
	}
	granted := [2]transport{readTransport(q.conversation.Transport[Client]), readTransport(q.conversation.Transport[Server])}
	c.finish(&q.spoken, func(side Side) *sender {
		e := &q.ends[side]
		end := &sender{
			side: side, windows: granted[1-side].windows(side), moves: e.moves, busy: c.links[side], trip: c.trip,
			requests: map[uint64]int64{}, arrived: e.arrived, ends: c.packets[len(c.packets)-1].sent,
		}
		e.acknowledge(end)
		end.hear(&q.spoken)
		return end
	})
}

// packet reads the frames of a packet.
func (q *quicReader) packet(o protection.Opened) {
	p := q.frame
	e, other := &q.ends[p.sender], &q.ends[1-p.sender]
	elicits, carries := false, false
	for f := range protection.Frames(o.Payload) {
		if o.Level != protection.Application && f.Kind != protection.Close {
			continue
		}
		elicits = elicits || f.Kind != protection.Ack && f.Kind != protection.Close
		switch f.Kind {
		case protection.Ack:
			if p.arrived != Never {
				other.acks = append(other.acks, readAck(p.arrived, f))
			}
		case protection.Stream:
			carries = true
			q.stream(f)
		case protection.MaxData, protection.MaxStreamData:
			n := q.note(frame{kind: "MAX_DATA", updates: true, absolute: true, limit: int64(f.Offset)})
			if f.Kind == protection.MaxStreamData {
				n.kind, n.onStream, n.stream = "MAX_STREAM_DATA", true, f.StreamID
			}
		case protection.DataBlocked:
			q.note(frame{kind: "DATA_BLOCKED", detail: fmt.Sprint("at ", f.Offset)})
		case protection.StreamDataBlocked:
			q.note(frame{kind: "STREAM_DATA_BLOCKED", onStream: true, stream: f.StreamID, detail: fmt.Sprint("at ", f.Offset)})
		case protection.ResetStream:
			q.note(frame{kind: "RESET_STREAM", onStream: true, stream: f.StreamID, fin: true, detail: fmt.Sprintf("error %#x", f.Offset)})
		case protection.StopSending:
			q.note(frame{kind: "STOP_SENDING", onStream: true, stream: f.StreamID, reset: true, detail: fmt.Sprintf("error %#x", f.Offset)})
		case protection.Close:
			reason := f.Data[:min(len(f.Data), longestText)]
			q.note(frame{kind: "CONNECTION_CLOSE", detail: strings.TrimSpace(fmt.Sprintf("error %#x %s", f.Offset, strings.ToValidUTF8(string(reason), "")))})
		}
	}
	if elicits {
		size := int64(len(p.headers.Payload))
		e.packets = append(e.packets, quicPacket{number: o.Number, size: size, sent: p.sent, lost: carries && p.arrived == Never})
		e.moves = append(e.moves, move{at: p.sent, wire: size})
		e.resends = e.resends || carries && p.arrived == Never
	}
}

// note adds a frame of the packet that is being read.
func (q *quicReader) note(f frame) *frame {
	p := q.frame
	f.sender, f.sent, f.left, f.received = p.sender, p.sent, p.sent, p.arrived
	f.initial, f.streamLeft, f.sessionLeft = -1, NoWindow, NoWindow
	q.frames[p.sender] = append(q.frames[p.sender], &f)
	return &f
}

// stream reads a STREAM frame.
func (q *quicReader) stream(f protection.Frame) {
	p := q.frame
	e := &q.ends[p.sender]
	s := e.streams[f.StreamID]
	if s == nil {
		s = &quicStream{http: newHTTP3Stream(f.StreamID)}
		e.streams[f.StreamID] = s
	}
	end := f.Offset + uint64(len(f.Data))
	e.gap = e.gap || f.Offset > s.reach
	before, fresh := s.reach, int64(0)
	if end > s.reach {
		fresh = int64(min(end-s.reach, uint64(len(f.Data))))
		s.reach = end
	}
	if p.arrived != Never {
		if fresh > 0 || e.resends {
			e.arrived = max(e.arrived, p.arrived)
		}
		s.arrive(f.Offset, end, p.arrived)
	}
	var ending []*frame
	for _, said := range s.http.read(f.Offset, f.Data) {
		n := q.note(said)
		n.onStream, n.stream = true, f.StreamID
		n.opens = said.kind == "HEADERS" && p.sender == Client
		ending = append(ending, n)
	}
	if fresh > 0 || f.Fin {
		n := q.note(frame{kind: "STREAM", run: true, onStream: true, stream: f.StreamID, octets: fresh, fin: f.Fin})
		if fresh > 0 {
			e.moves = append(e.moves, move{at: p.sent, frame: n, data: fresh})
		}
		ending = append(ending, n)
	}
	if p.arrived == Never && fresh > 0 {
		s.lost = append(s.lost, lostOctets{max(before, f.Offset), end, ending})
	}
}

// arrive notes that octets [from, to) arrived at a moment, and with the last of those that had been lost the frames that they end.
func (s *quicStream) arrive(from, to uint64, at int64) {
	i := sort.Search(len(s.lost), func(i int) bool { return s.lost[i].to > from })
	for ; i < len(s.lost) && s.lost[i].from < to; i++ {
		l := &s.lost[i]
		switch {
		case from <= l.from:
			l.from = min(to, l.to)
		case to >= l.to:
			l.to = from
		}
		if l.from < l.to {
			continue
		}
		for _, f := range l.frames {
			f.received = min(f.received, at)
		}
		l.frames = nil
	}
}

// parameters notes the transport parameters of a side once they have been read.
func (q *quicReader) parameters() {
	for side, raw := range q.conversation.Transport {
		if raw != nil && !q.told[side] && Side(side) == q.frame.sender {
			q.told[side] = true
			q.note(frame{kind: "TRANSPORT_PARAMETERS", detail: readTransport(raw).String()})
		}
	}
}

func readAck(at int64, f protection.Frame) quicAck {
	a := quicAck{at: at}
	for from, to := range protection.AckRanges(f) {
		a.ranges = append(a.ranges, [2]uint64{from, to})
	}
	return a
}

// threshold is the packet reordering threshold: a packet counts as lost once one sent so many packets later is acknowledged (RFC 9002
// section 6.1.1).
const threshold = 3

// acknowledge tells a sender when its packets were acknowledged or declared lost.
func (e *quicEnd) acknowledge(end *sender) {
	next := make([]int, len(e.packets)+1) // a disjoint-set forest that leads from each packet to the first one from it on that is under way
	for i := range next {
		next[i] = i
	}
	under := func(i int) int {
		for next[i] != i {
			next[i] = next[next[i]]
			i = next[i]
		}
		return i
	}
	place := func(number uint64) int {
		return sort.Search(len(e.packets), func(i int) bool { return e.packets[i].number >= number })
	}
	for _, a := range e.acks {
		acked := int64(0)
		take := func(from, to int) {
			for i := under(from); i < to; i = under(i) {
				acked += e.packets[i].size
				if e.packets[i].lost {
					end.lost = append(end.lost, span{e.packets[i].sent, a.at})
				}
				next[i] = i + 1
			}
		}
		for _, r := range a.ranges {
			take(place(r[0]), place(r[1]+1))
		}
		if len(a.ranges) > 0 && a.ranges[0][1] >= threshold {
			take(0, place(a.ranges[0][1]-threshold+1))
		}
		end.moves = append(end.moves, move{at: a.at, arrives: true, acked: acked})
	}
	for i := under(0); i < len(e.packets); i = under(i + 1) {
		if e.packets[i].lost {
			end.lost = append(end.lost, span{e.packets[i].sent, Never})
		}
	}
	end.lost = joined(end.lost)
}
