package flowcontrol

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
)

// Connection holds what both ends of a TCP or QUIC connection said.
type Connection struct {
	Flow     capture.Flow // from the client to the server
	Protocol string       // "http/1.1", "spdy/3.1", "h2", "h3"; empty if it could not be read
	Opened   int64        // when its first packet left, in ns since the Unix epoch
	// Unseen says what of the connection could not be read, and why; empty if everything could.
	Unseen    []string
	Events    []Event // in the order in which they were sent
	Transfers []*Transfer
}

// Read reads the connections in a load's capture, in the order in which they were opened. The capture may be missing, and may lack
// packets or keys: Unseen says what could not be read.
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
	trip    int64     // the least round trip
}

// gather returns the packets of each connection: of a flow, unless a SYN with another sequence number opens the flow again.
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

// leastTrip returns the shortest round trip that packets show.
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

// acknowledgement is what a packet of TCP tells its receiver about what that has sent.
type acknowledgement struct {
	at, acked, edge, window int64
	speaks                  bool
}

// readTCP reads a TCP connection. Which protocol is wanted tells SPDY/3 from SPDY/3.1 where the connection was not negotiated.
func (c *conversation) readTCP(keys protection.KeyLog, wanted string) {
	var tracks [2]track
	var acks [2][]acknowledgement // by the side that they reach
	scale := [2]int{-1, -1}
	for _, p := range c.packets {
		h := &p.headers
		tracks[p.sender].add(p)
		isSYN := h.Flags.Has(capture.SYN)
		if isSYN {
			scale[p.sender] = windowScale(p.data)
		}
		other := &tracks[1-p.sender]
		if !h.Flags.Has(capture.ACK) || !other.began || p.arrived == Never {
			continue
		}
		a := acknowledgement{at: p.arrived, acked: other.position(h.Acknowledgment), window: tcpWindow(p.data), speaks: len(h.Payload) > 0}
		if !isSYN && scale[Client] >= 0 && scale[Server] >= 0 {
			a.window <<= scale[p.sender]
		}
		a.edge = a.acked + a.window
		acks[1-p.sender] = append(acks[1-p.sender], a)
	}
	for side := range tracks {
		t := &tracks[side]
		t.finish()
		if t.gap != 0 {
			c.Unseen = append(c.Unseen, "the capture lacks octets that the "+Side(side).String()+" sent: what follows them could not be read")
		}
	}
	s, w := c.interpret(&tracks, keys, wanted)
	c.finish(s, func(side Side) *sender {
		return c.sender(side, s, &tracks[side], acks[side], w[side])
	})
}

// interpret finds out what the connection carries, and reads it. It returns the windows that each side sends by.
func (c *conversation) interpret(tracks *[2]track, keys protection.KeyLog, wanted string) (*spoken, [2]*windows) {
	none := [2]*windows{newWindows(false, false, 0), newWindows(false, false, 0)}
	texts := [2]text{clear(&tracks[Client]), clear(&tracks[Server])}
	negotiated := ""
	if isRecord(tracks[Client].data) && !protection.IsTLS(tracks[Client].data) || isRecord(tracks[Server].data) && len(tracks[Client].data) == 0 {
		c.Unseen = append(c.Unseen, "the frames: the connection was opened before the capture began, so that its keys cannot be applied")
		return c.whole(&texts), none
	}
	if protection.IsTLS(tracks[Client].data) {
		unsealed, err := protection.Unseal(tracks[Client].data, tracks[Server].data, keys)
		if err != nil {
			c.Unseen = append(c.Unseen, "the frames: "+err.Error())
			return c.whole(&texts), none
		}
		negotiated = unsealed.ALPN
		for side, from := range unsealed.Texts {
			texts[side] = text{track: &tracks[side], data: from.Data, records: from.Records, header: protection.RecordHeader}
		}
	}
	head := texts[Client].data
	silent := len(head) == 0
	switch {
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
		c.Unseen = append(c.Unseen, "the frames: the client's first octets are early data, whose keys are not in the capture")
		return c.whole(&texts), none
	}
	if len(head) > 0 {
		c.Protocol = "http/1.1"
	}
	return c.whole(&texts), none
}

// isRecord reports whether octets begin like a TLS record of any kind (RFC 8446 section 5.1).
func isRecord(data []byte) bool {
	return len(data) > 1 && data[0] >= 20 && data[0] <= 23 && data[1] == 3
}

// whole takes all that each side sends for DATA of one stream without windows.
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

// hear adds the frames of both sides that matter to what a sender may ss.
func (s *sender) hear(said *spoken) {
	for _, f := range said.frames[1-s.side] {
		if f.received == Never {
			continue
		}
		if f.updates || f.reset || f.initial >= 0 {
			s.moves = append(s.moves, move{at: f.received, arrives: true, frame: f})
		}
		if _, known := s.requests[f.stream]; f.opens && !known {
			s.requests[f.stream], s.streams = f.received, true
		}
	}
	for _, f := range said.frames[s.side] {
		if (f.reset || f.fin) && f.sent != Never {
			s.moves = append(s.moves, move{at: max(f.sent, f.left), frame: f})
		}
	}
}

// finish works out the transfers of both sides, and then the events, which tell of their windows.
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
