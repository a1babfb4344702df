package flowcontrol

import (
	"fmt"
	"strings"

	"wiretime/protection"
)

// quicReader reads the frames of a QUIC version 1 connection.
type quicReader struct {
	spoken
	conversation *protection.Conversation
	ends         [2]quicEnd
	told         [2]bool // whether transport parameters have been noted
	sealed       int     // packets that could not be decrypted
	frame        *packet // the packet being read
}

// quicEnd is what one end has sent.
type quicEnd struct {
	packets []quicPacket // at the level Application, in the order of their numbers unless the capture is damaged
	acks    []quicAck    // that reached it
	streams map[uint64]*quicStream
	moves   []move
	arrived int64 // when the last octets of a stream had arrived
	missing bool  // octets of streams were lost
}

// quicPacket is a packet that its receiver has to acknowledge.
type quicPacket struct {
	number     uint64
	size, sent int64
	lost       bool // with octets of streams
}

// quicAck is an acknowledgement with when it arrived.
type quicAck struct {
	at     int64
	ranges [][2]uint64
}

// quicStream is what one end has sent on a stream.
type quicStream struct {
	reach uint64 // after the highest octet sent
	http  *http3Stream
}

// readQUIC reads a QUIC connection.
func (c *conversation) readQUIC(keys protection.KeyLog) {
	q := &quicReader{conversation: protection.NewConversation(keys)}
	for side := range q.ends {
		q.ends[side].streams = map[uint64]*quicStream{}
	}
	for _, p := range c.packets {
		q.frame = p
		q.sealed += q.conversation.Datagram(int(p.sender), p.headers.Payload, q.packet)
		q.parameters()
	}
	c.Protocol = q.conversation.ALPN
	switch {
	case !q.conversation.HasSecrets():
		c.Unseen = append(c.Unseen, "the frames: the key log lacks the secrets of this connection")
	case q.sealed > 0:
		c.Unseen = append(c.Unseen, fmt.Sprintf("%d packets stayed encrypted: early data, or packets from before their keys were known", q.sealed))
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
		e.missing = e.missing || carries && p.arrived == Never
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

// stream takes in octets of a stream.
func (q *quicReader) stream(f protection.Frame) {
	p := q.frame
	e := &q.ends[p.sender]
	s := e.streams[f.StreamID]
	if s == nil {
		s = &quicStream{http: newHTTP3Stream(f.StreamID)}
		e.streams[f.StreamID] = s
	}
	end := f.Offset + uint64(len(f.Data))
	fresh := int64(0)
	if end > s.reach {
		fresh = int64(min(end-s.reach, uint64(len(f.Data)))) // a gap is of octets that the capture lacks
		s.reach = end
	}
	if p.arrived != Never && (fresh > 0 || e.missing) {
		e.arrived = max(e.arrived, p.arrived)
	}
	for _, said := range s.http.read(f.Offset, f.Data) {
		n := q.note(said)
		n.onStream, n.stream = true, f.StreamID
		n.opens = said.kind == "HEADERS" && p.sender == Client
	}
	if fresh == 0 && !f.Fin {
		return
	}
	n := q.note(frame{kind: "STREAM", run: true, onStream: true, stream: f.StreamID, octets: fresh, fin: f.Fin})
	if fresh > 0 {
		e.moves = append(e.moves, move{at: p.sent, frame: n, data: fresh})
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

// threshold is how many packets later an acknowledgement may be before a packet counts as lost (RFC 9002 section 6.1.1).
const threshold = 3

// acknowledge adds to a sender when its packets were acknowledged or given up for lost.
func (e *quicEnd) acknowledge(end *sender) {
	next := make([]int, len(e.packets)+1) // the first packet from there on that is under way, or a place on the way there
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
		low, high := 0, len(e.packets)
		for low < high {
			if middle := (low + high) / 2; e.packets[middle].number < number {
				low = middle + 1
			} else {
				high = middle
			}
		}
		return low
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
