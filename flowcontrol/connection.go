package flowcontrol

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
)

// Connection holds the frames of both ends of a TCP or QUIC connection, and what held its senders.
type Connection struct {
	Flow     capture.Flow // from the client to the server
	Protocol string       // by its ALPN name, such as "http/1.1" or "h2"; empty if not known
	Opened   int64        // when its first packet left, in ns since the Unix epoch
	// Unseen says what could not be read of the connection, and why; empty if everything could.
	Unseen    []string
	Events    []Event // in the order in which they were sent
	Transfers []*Transfer
}

// Read reads the connections in a load's capture, in the order in which they were opened. The capture may lack packets or keys:
// Unseen says what could not be read. Without a capture there are no connections. Read may decrypt packets in their place.
func Read(e *evidence.Evidence) []*Connection {
	if e.Packets == nil {
		return nil
	}
	keys := protection.ReadKeyLog(e.Packets.Secrets)
	packets := readPackets(e.Sightings())
	links := [2][]span{busy(packets, Client), busy(packets, Server)}
	var list []*Connection
	for _, c := range gather(packets) {
		c.links, c.trip = links, leastTrip(c.packets)
		if c.Flow.Protocol == capture.TCP {
			c.readTCP(keys, e.Protocol)
		} else {
			c.readQUIC(keys)
		}
		list = append(list, c.Connection)
	}
	return list
}

// conversation is a connection that is being read.
type conversation struct {
	*Connection
	packets []*packet
	links   [2][]span // when each side's links serialised packets
	trip    int64     // the least round trip, in ns
}

// gather returns the packets of each connection. A flow is a connection, unless a SYN with another sequence number opens it again.
func gather(packets []*packet) []*conversation {
	var list []*conversation
	latest := map[capture.Flow]*conversation{}
	opened := map[capture.Flow]uint32{}
	for _, p := range packets {
		flow := p.headers.Flow
		if p.sender == Server {
			flow = flow.Reverse()
		}
		isTCP := flow.Protocol == capture.TCP && flow.Destination.Port() != evidence.PortDNS
		isQUIC := flow.Protocol == capture.UDP && flow.Destination.Port() == evidence.PortHTTPS
		if !isTCP && !isQUIC {
			continue
		}
		c := latest[flow]
		if isSYN := isTCP && p.sender == Client && p.headers.Flags.Has(capture.SYN); c == nil || isSYN && opened[flow] != p.headers.Sequence {
			c = &conversation{Connection: &Connection{Flow: flow, Opened: p.sent}}
			latest[flow], opened[flow] = c, p.headers.Sequence
			list = append(list, c)
		}
		c.packets = append(c.packets, p)
	}
	return list
}

// leastTrip returns the sum of the least delays of both directions, in ns; 0 if a direction has no packets.
func leastTrip(packets []*packet) int64 {
	least := [2]int64{Never, Never}
	for _, p := range packets {
		if p.arrived != Never {
			least[p.sender] = min(least[p.sender], max(0, p.arrived-p.sent))
		}
	}
	if least[Client] == Never || least[Server] == Never {
		return 0
	}
	return least[Client] + least[Server]
}

// acknowledgement is a packet of TCP as its receiver understands it. Positions are those of the receiver's own track.
type acknowledgement struct {
	at           int64 // when it arrived, in ns since the Unix epoch
	acked        int64 // the first position that is not acknowledged
	edge, window int64 // the first position beyond the receive window, and the window's size; 0 if the SYNs with its scale were not seen
	speaks       bool  // it carries octets of the peer
}

// mostScale is the largest shift of a receive window (RFC 7323 section 2.3).
const mostScale = 14

// readTCP reads a TCP connection. On a connection that negotiated no protocol, wanted tells SPDY/3 from SPDY/3.1.
func (c *conversation) readTCP(keys protection.KeyLog, wanted string) {
	var tracks [2]track
	var acks [2][]acknowledgement // by the side that they reach
	var scale [2]uint8            // of each side's receive window
	for _, p := range c.packets {
		h := &p.headers
		tracks[p.sender].add(p)
		isSYN := h.Flags.Has(capture.SYN)
		if isSYN {
			scale[p.sender] = min(h.Scale, mostScale)
		}
		other := &tracks[1-p.sender]
		if !h.Flags.Has(capture.ACK) || !other.began || p.arrived == Never {
			continue
		}
		a := acknowledgement{at: p.arrived, acked: other.position(h.Acknowledgment), speaks: len(h.Payload) > 0}
		if tracks[Client].opened && tracks[Server].opened {
			if a.window = int64(h.Window); !isSYN {
				a.window <<= scale[p.sender]
			}
			a.edge = a.acked + a.window
		}
		acks[1-p.sender] = append(acks[1-p.sender], a)
	}
	for side := range tracks {
		t := &tracks[side]
		t.finish()
		if t.gap != 0 {
			c.Unseen = append(c.Unseen, "the capture lacks octets that the "+Side(side).String()+" sent: what follows them could not be read")
		}
	}
	if !tracks[Client].opened {
		c.Unseen = append(c.Unseen, "TCP's receive windows: the connection was opened before the capture began, so their scale is not known")
	}
	s, w := c.interpret(&tracks, keys, wanted)
	c.finish(s, func(side Side) *sender {
		return c.sender(side, s, &tracks[side], acks[side], w[side])
	})
}

// interpret finds out which protocol the connection carries and reads its frames. It returns the windows that each side sends by.
func (c *conversation) interpret(tracks *[2]track, keys protection.KeyLog, wanted string) (*spoken, [2]*windows) {
	none := [2]*windows{newWindows(false, false, 0), newWindows(false, false, 0)}
	texts := [2]text{clear(&tracks[Client]), clear(&tracks[Server])}
	negotiated, early := "", false
	if warm(tracks) {
		c.Unseen = append(c.Unseen, "the frames: the connection was opened before the capture began, so its keys cannot be applied")
		return c.whole(&texts), none
	}
	if protection.IsTLS(tracks[Client].data) {
		unsealed, err := protection.Unseal(tracks[Client].data, tracks[Server].data, keys)
		if err != nil {
			c.Unseen = append(c.Unseen, "the frames: "+err.Error())
			return c.whole(&texts), none
		}
		negotiated, early = unsealed.ALPN, unsealed.Texts[Client].Early
		for side, from := range unsealed.Texts {
			texts[side] = text{track: &tracks[side], data: from.Data, records: from.Records, header: int64(from.Head)}
			if from.Unread > 0 {
				c.Unseen = append(c.Unseen, fmt.Sprintf("the last %d octets that the %s sent: they are an incomplete TLS record, or could not be decrypted", from.Unread, Side(side)))
			}
		}
	}
	head := texts[Client].data
	silent := len(head) == 0
	switch {
	case early:
		c.Protocol = cmp.Or(negotiated, "http/1.1")
		c.Unseen = append(c.Unseen, "the frames: the client's first octets are early data, whose keys are not in the capture")
		return c.whole(&texts), none
	case bytes.HasPrefix(head, []byte("PRI * HTTP/2.0\r\n")), silent && negotiated == "h2":
		c.Protocol = "h2"
		return readHTTP2(&texts), [2]*windows{newWindows(true, true, http2Window), newWindows(true, true, http2Window)}
	case len(head) > 1 && head[0] == 0x80 && (head[1] == 2 || head[1] == 3), silent && strings.HasPrefix(negotiated, "spdy/"):
		c.Protocol = cmp.Or(negotiated, "spdy/3.1")
		if negotiated == "" && wanted == "spdy/3" {
			c.Protocol = wanted
		}
		if !silent && head[1] == 2 {
			c.Protocol = "spdy/2"
		}
		fresh := func() *windows { return newWindows(c.Protocol != "spdy/2", c.Protocol == "spdy/3.1", spdyWindow) }
		return readSPDY(&texts, c.Protocol), [2]*windows{fresh(), fresh()}
	case negotiated == "h2" || strings.HasPrefix(negotiated, "spdy/"):
		c.Protocol = negotiated
		c.Unseen = append(c.Unseen, "the frames: the client's first octets do not begin a connection of "+negotiated)
		return c.whole(&texts), none
	}
	if len(head) > 0 {
		c.Protocol = "http/1.1"
	}
	return c.whole(&texts), none
}

// warm reports whether a TLS connection was opened before the capture began: it does not begin with a ClientHello.
func warm(tracks *[2]track) bool {
	client, server := tracks[Client].data, tracks[Server].data
	return isRecord(client) && !protection.IsTLS(client) || len(client) == 0 && isRecord(server)
}

// isRecord reports whether octets begin like a TLS record of any kind (RFC 8446 section 5.1).
func isRecord(data []byte) bool {
	return len(data) > 1 && data[0] >= 20 && data[0] <= 23 && data[1] == 3
}

// whole returns all octets of each side as DATA of one stream without windows.
func (c *conversation) whole(texts *[2]text) *spoken {
	s := &spoken{}
	for side := range texts {
		t := &texts[side]
		if len(t.data) == 0 {
			continue
		}
		s.pieces[side] = t.pieces(nil, 0, len(t.data), &frame{sender: Side(side), initial: -1})
	}
	return s
}

// sender gathers what happens at one end of a TCP connection.
func (c *conversation) sender(side Side, s *spoken, t *track, acks []acknowledgement, w *windows) *sender {
	end := &sender{side: side, windows: w, busy: c.links[side], trip: c.trip, requests: map[uint64]int64{}, ends: c.packets[len(c.packets)-1].sent}
	pieces := s.pieces[side]
	for i := range t.segments {
		g := &t.segments[i]
		end.moves = append(end.moves, move{at: g.sent, wire: g.to - g.from, reach: g.to})
		if g.lost {
			end.lost = append(end.lost, span{g.sent, g.again})
		}
		for len(pieces) > 0 && pieces[0].from < g.to {
			p := &pieces[0]
			if from, to := max(p.from, g.from), min(p.to, g.to); from < to {
				end.moves = append(end.moves, move{at: g.sent, frame: p.frame, data: to - from, size: g.to - g.from})
				if g.delivered != Never {
					end.arrived = max(end.arrived, g.delivered)
				}
			}
			if p.to > g.to {
				break
			}
			pieces = pieces[1:]
		}
	}
	end.lost = joined(end.lost)
	acked := int64(1)
	for _, a := range acks {
		end.moves = append(end.moves, move{at: a.at, arrives: true, acked: max(0, a.acked-acked), edge: a.edge, window: a.window, speaks: a.speaks})
		acked = max(acked, a.acked)
	}
	end.hear(s)
	return end
}

// hear adds the frames of both sides that change what a sender may send.
func (s *sender) hear(said *spoken) {
	s.framed = len(said.frames[Client])+len(said.frames[Server]) > 0
	for _, f := range said.frames[1-s.side] {
		if f.received == Never {
			continue
		}
		if f.updates || f.reset || f.initial >= 0 {
			s.moves = append(s.moves, move{at: f.received, arrives: true, frame: f})
		}
		if _, known := s.requests[f.stream]; f.opens && !known {
			s.requests[f.stream] = f.received
		}
	}
	for _, f := range said.frames[s.side] {
		if (f.reset || f.fin) && f.sent != Never {
			s.moves = append(s.moves, move{at: max(f.sent, f.left), frame: f})
		}
	}
}

// finish works out the transfers of both sides, which set the frames' windows, and then the events.
func (c *conversation) finish(s *spoken, end func(Side) *sender) {
	for _, side := range []Side{Client, Server} {
		if s.broken[side] != "" {
			c.Unseen = append(c.Unseen, "what the "+side.String()+" sent at the end: "+s.broken[side])
		}
		if t := end(side).transfer(); t != nil {
			c.Transfers = append(c.Transfers, t)
		}
	}
	frames := slices.Concat(s.frames[Client], s.frames[Server])
	slices.SortStableFunc(frames, func(a, b *frame) int { return cmp.Compare(a.sent, b.sent) })
	c.Events = events(frames)
}

// joined sorts spans and joins those that touch.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}
