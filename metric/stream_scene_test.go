package metric

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/media/record"
)

const (
	ms = time.Millisecond

	moved = "10.0.9.2:4001" // where the client is after a handover
	item  = "media:file@3kB"
)

// streamScene is a stream with its captures.
type streamScene struct {
	scene
	record record.Stream
}

// load writes the scene down and reads it back.
func (s *streamScene) load(t *testing.T) *evidence.Evidence {
	t.Helper()
	l := s.scene.load(t, s.record.Transport)
	l.HAR, l.Timing, l.Stream = nil, capture.Timing{}, &s.record
	return l
}

// download is a file of 3000 octets, of which a third comes before the client moves to
// another address after 1 s, and the rest after 1.3 s. The player is the real one, the
// network is by the book: it takes 50 ms in each direction.
func download(t *testing.T, transport string, strategy player.Strategy) *streamScene {
	t.Helper()
	p, err := player.New(player.Config{Mode: player.File, OnHandover: strategy})
	if err != nil {
		t.Fatal(err)
	}
	row, known := transportOf(transport)
	if !known {
		t.Fatalf("%s is not known", transport)
	}
	s := &streamScene{record: record.Stream{
		Media: "file@3kB", Transport: transport, Player: "download", Strategy: string(strategy), Started: time.Unix(0, epoch),
		Sessions: []record.Session{{SetUp: 100 * ms, Local: netip.MustParseAddrPort(client)}},
	}}
	s.plan(0, "")
	s.plan(time.Second, "AP2")
	s.up(0, opening(row.wire, client))
	p.Connected(100*ms, 1)
	s.up(100, carrying(row.wire, client, server, 30))
	p.Answered(200*ms, 1, 3000, 1)
	p.Received(200*ms, 1, 1000)
	s.down(200, carrying(row.wire, server, client, 1000))
	p.Associate(time.Second, "AP2")
	switch strategy {
	case player.Migrate:
		s.up(1000, carrying(row.wire, moved, server, 20))
		p.Moved(1100*ms, 1)
		p.Received(1300*ms, 1, 2000)
		s.record.Sessions[0].Local = netip.MustParseAddrPort(moved)
		s.serve(1, client, "", 3000)
	case player.Multihome:
		p.Received(1300*ms, 1, 2000)
		s.serve(1, client, "", 3000)
	default:
		isEarly := strategy == player.ZeroRTT
		s.up(1000, opening(row.wire, moved))
		p.Connected(1100*ms, 2)
		s.up(1100, carrying(row.wire, moved, server, 30))
		p.Answered(1200*ms, 2, 3000, 1)
		p.Received(1300*ms, 2, 2000)
		s.record.Sessions = append(s.record.Sessions, record.Session{
			SetUp: 100 * ms, Local: netip.MustParseAddrPort(moved), Resumed: row.tls, EarlyData: isEarly,
		})
		s.serve(1, client, "", 1500) // of which 500 were lost with the session
		s.serve(2, moved, "?offset=1000&length=0", 2000)
		s.log[1].Resumed, s.log[1].EarlyData = row.tls, isEarly
	}
	s.down(1300, carrying(row.wire, server, moved, 2000))
	if !p.Over() {
		t.Fatal("the file is not whole")
	}
	s.record.Figures = p.Figures()
	return s
}

// plan adds to what the network's manager does; access is empty if the client stays
// where it is.
func (s *streamScene) plan(at time.Duration, access string) {
	n := len(s.record.Manager)
	s.record.Manager = slices.Grow(s.record.Manager, 1)[:n+1]
	e := &s.record.Manager[n]
	e.At, e.Delay, e.Access = at, 50*ms, access
}

// serve logs a request for the file, or a part of it.
func (s *streamScene) serve(connection int64, from, part string, octets int64) {
	row, _ := transportOf(s.record.Transport)
	e := capture.ServerEntry{
		Start: ns(50 + 1100*float64(connection-1)), Protocol: s.record.Transport, Method: "GET", URL: item + part,
		Status: 200, BodyBytes: octets, Client: from, Server: server, Connection: connection,
	}
	if row.tls {
		e.TLS = "TLS 1.3"
	}
	s.log = append(s.log, e)
}

// opening is the packet with which a client begins a session.
func opening(w evidence.Wire, from string) []byte {
	switch w {
	case evidence.WireTCP:
		return synWith(from, 4, 2) // SACK is permitted
	case evidence.WireMPTCP:
		return synWith(from, 1, 1, 30, 4, 0x01, 0)
	case evidence.WireSCTP:
		return sctp(from, server, 1, 0, 0, 4)
	case evidence.WireSCTPOverUDP:
		return capturetest.Datagram(from, server, append(make([]byte, 12), 1, 0, 0, 4))
	case evidence.WireDTLS:
		return capturetest.Datagram(from, server, []byte{22, 0xfe, 0xff})
	}
	return datagram(from, server, long, 1200)
}

// carrying is a packet with so many octets of content.
func carrying(w evidence.Wire, from, to string, octets int) []byte {
	switch w.Protocol() {
	case capture.TCP:
		return segment(from, to, 1, 1, capture.ACK, octets)
	case capture.SCTP:
		return sctp(from, to, make([]byte, octets)...)
	}
	return datagram(from, to, short, octets)
}

// synWith is a SYN with options.
func synWith(from string, options ...byte) []byte {
	return capturetest.Segment(from, server, 0, 0, capture.SYN, options, nil)
}

// sctp is a packet of SCTP.
func sctp(from, to string, chunks ...byte) []byte {
	return capturetest.Packet(capture.SCTP, from, to, append(make([]byte, 12), chunks...))
}

// chunk is a chunk of SCTP with a number after its length.
func chunk(kind byte, number uint32, octets int) []byte {
	b := make([]byte, (16+octets+3)&^3)
	b[0] = kind
	binary.BigEndian.PutUint16(b[2:], uint16(16+octets))
	binary.BigEndian.PutUint32(b[4:], number)
	return b
}

// viewing is a record of 20 s by hand, with all that may come to pass.
func viewing() record.Stream {
	const second = time.Second
	return record.Stream{
		Media: "clip", Transport: "tcp", Player: "paper", Strategy: "reconnect", Started: time.Unix(0, epoch),
		Sessions: []record.Session{{SetUp: 90 * ms}, {}, {SetUp: 80 * ms}, {}},
		Figures: player.Figures{
			Duration: 20 * second, Started: true, StartUp: 600 * ms,
			Times:  player.Times{Starting: 600 * ms, Playing: 15 * second, Stalled: 3 * second, Seeking: 1400 * ms},
			Stalls: 2, Rebuffer: 3.0 / 18, Switches: 4, Seeks: 5,
			Received: 9_000_000, Played: 5_000_000, Wasted: 1_000_000, Held: 3_000_000,
			Goodput: []int64{1_000_000, 0, 0, 8_000_000},
			Loads: []player.Load{
				{Segment: 0, Asked: 100 * ms, Ended: 600 * ms, Whole: true, Requests: 1},
				{Segment: 1, Wanted: 600 * ms, Asked: 700 * ms, Ended: 1500 * ms, Whole: true, Requests: 2},
				{Segment: 2, Wanted: 1500 * ms, Asked: 1500 * ms, Ended: 9 * second, Requests: 1}, // was cancelled
				{Segment: 70, Wanted: 9 * second, Asked: 9 * second, Requests: 1},                 // is under way
			},
			Sessions: []player.Session{{Open: 90 * ms, Closed: 2 * second}, {Asked: 2 * second, Closed: 3 * second}, {Asked: 3 * second, Open: 3080 * ms, Closed: 19 * second}, {Asked: 19 * second, Closed: 20 * second}},
			Handovers: []player.Handover{
				{At: 2 * second, Access: "AP2", Ready: 2100 * ms, Recovered: 2200 * ms},
				{At: 3 * second, Access: "AP1", Ready: 3080 * ms, Recovered: 3500 * ms},
				{At: 19 * second, Access: "AP2"},
			},
		},
	}
}

// valueOfStream returns the value of a metric of streams.
func valueOfStream(t *testing.T, l *evidence.Evidence, name string) (float64, bool) {
	t.Helper()
	all := Streams().Metrics
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no metric of streams is called %q", name)
	}
	return all[i].Of(l)
}
