package metric

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/media/record"
)

func expectOfStream(t *testing.T, l *evidence.Evidence, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		got, ok := valueOfStream(t, l, name)
		if ok == math.IsNaN(w) || ok && math.Abs(got-w) > 1e-6 {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, w)
		}
	}
}

func TestMetricsOfADownload(t *testing.T) {
	s := download(t, "tcp", player.Reconnect)
	expectOfStream(t, s.load(t), map[string]float64{
		"ttd": 1300, "set_up": 100, "recovery": 300, "recovery_max": 300,
		"goodput":    3000 * 8 / 1e6 / 1.2,
		"media_down": 3000, "wasted": 0, "handovers": 1, "sessions": 2, "early": none,
		"loading_delay": none, "loading_delay_max": none, "start_up": none, "stalls": none, "stalled": none, "rebuffer": none, "switches": none, "seeks": none,
		"bytes_up": 2*24 + 2*20 + 4*20 + 60, "bytes_down": 2*40 + 3000, "packets_up": 4, "packets_down": 2,
		"drops": 0, "retransmissions": 0, "late_max": 0.11,
	})
	s = download(t, "quic", player.ZeroRTT)
	expectOfStream(t, s.load(t), map[string]float64{"ttd": 1300, "early": 1, "sessions": 2, "retransmissions": none})
	s = download(t, "quic", player.Migrate)
	expectOfStream(t, s.load(t), map[string]float64{"ttd": 1300, "early": none, "sessions": 1, "recovery": 300})
	s = download(t, "sctp", player.Multihome)
	expectOfStream(t, s.load(t), map[string]float64{"ttd": 1300, "sessions": 1, "recovery": 300})
}

// A file of which a part has not come has no TTD, but a goodput.
func TestMetricsOfHalfADownload(t *testing.T) {
	for _, c := range []struct {
		name     string
		duration time.Duration
		goodput  float64
	}{
		{"that ends long after the last octet", 5 * time.Second, 1e6 * 8 / 1e6 / 1.75},
		{"that ends in the second of the last octet", 1250 * ms, 1e6 * 8 / 1e6 / 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &evidence.Evidence{Stream: &record.Stream{Player: "download", Figures: player.Figures{
				Duration: c.duration, Failure: "timed out after 1m0s without data", Received: 1_000_000, Held: 1_000_000, Goodput: []int64{0, 1_000_000},
				Loads: []player.Load{{Asked: 250 * ms, Requests: 1}}, Sessions: []player.Session{{Open: 250 * ms}},
			}}}
			expectOfStream(t, l, map[string]float64{"ttd": none, "goodput": c.goodput, "media_down": 1e6, "set_up": none, "sessions": 1})
		})
	}
}

func TestMetricsOfAViewing(t *testing.T) {
	s := viewing()
	expectOfStream(t, &evidence.Evidence{Stream: &s, ServerLost: -1}, map[string]float64{
		"ttd": none, "loading_delay": 750, "loading_delay_max": 900, "set_up": 90, "start_up": 600,
		"recovery": 350, "recovery_max": 500,
		"stalls": 2, "stalled": 3000, "rebuffer": 100 * 3.0 / 18, "switches": 4, "seeks": 5,
		"goodput": 9e6 * 8 / 1e6 / 3.9, "media_down": 9e6, "wasted": 1e6, "handovers": 3, "sessions": 2, "early": none, "slow_start_window": none,
		"bytes_up": none, "bytes_down": none, "packets_up": none, "packets_down": none, "drops": none, "retransmissions": none,
		"late_p50": none, "late_p99": none, "late_max": none,
	})
}

// A viewing for which nothing came has no figures of playback rather than good ones.
func TestMetricsOfAViewingThatNeverPlayed(t *testing.T) {
	p, err := player.New(player.Config{Mode: player.View, Segments: 10, Rule: player.Paper, OnHandover: player.Reconnect})
	if err != nil {
		t.Fatal(err)
	}
	for !p.Over() {
		at, ok := p.Next()
		if !ok {
			t.Fatal("it does not end")
		}
		p.Advance(at)
	}
	l := &evidence.Evidence{ServerLost: -1, Stream: &record.Stream{Player: "paper", Strategy: "0-rtt", Sessions: []record.Session{{}}, Figures: p.Figures()}}
	for _, m := range Streams().Metrics {
		v, ok := m.Of(l)
		if isCount := slices.Contains([]string{"seeks", "media_down", "wasted", "handovers", "sessions", "early"}, m.Name); ok != isCount || v != 0 {
			t.Errorf("%s = %v, %v", m.Name, v, ok)
		}
	}
}

// A capture that lacks packets has no sums, but the punctuality of those it has, and what the
// emulator counted.
func TestMetricsOfACutCapture(t *testing.T) {
	l := download(t, "tcp", player.Reconnect).load(t)
	l.CaptureCut = true
	expectOfStream(t, l, map[string]float64{
		"bytes_up": none, "bytes_down": none, "packets_up": none, "packets_down": none, "drops": none, "retransmissions": none,
		"late_max": 0.11, "ttd": 1300, "media_down": 3000,
	})
	l.Counted = &evidence.Counts{Up: 300, Down: 500, Drops: 7}
	expectOfStream(t, l, map[string]float64{"bytes_up": none, "packets_up": 300, "packets_down": 500, "drops": 7, "retransmissions": none})
}

// Octets count whether they were kept or not.
func TestMetricsOfCutPackets(t *testing.T) {
	for _, transport := range []string{"tcp", "mptcp-clear", "sctp", "sctp-udp", "quic"} {
		whole, cut := download(t, transport, player.Reconnect), download(t, transport, player.Reconnect)
		for i := range cut.records {
			p := &cut.records[i]
			p.Data = p.Data[:min(48, len(p.Data))]
		}
		a, b := whole.load(t), cut.load(t)
		for _, m := range Streams().Metrics {
			va, oka := m.Of(a)
			vb, okb := m.Of(b)
			if va != vb || oka != okb {
				t.Errorf("%s over %s: %v, %v of whole packets, %v, %v of their headers", m.Name, transport, va, oka, vb, okb)
			}
		}
		if got := Streams().Violations(b); len(got) > 0 {
			t.Errorf("%s: %v", transport, got)
		}
	}
}

func TestRetransmissionsOfStreams(t *testing.T) {
	const data, interleaved, selective = 0, 64, 3
	first := uint32(0xfffffffe) // the numbers wrap
	for _, c := range []struct {
		name, transport string
		sends           func(s *scene)
		want            float64
	}{
		{"none over SCTP", "sctp", func(s *scene) {
			for i := range uint32(5) {
				s.down(100+float64(i), sctp(server, client, chunk(data, first+i, 9)...))
			}
		}, 0},
		{"a chunk again", "sctp", func(s *scene) {
			s.lose(100, sctp(server, client, chunk(data, first, 9)...))
			s.down(201, sctp(server, client, chunk(data, first+1, 9)...))
			s.down(300, sctp(server, client, chunk(data, first, 9)...))
		}, 1},
		{"a chunk again to another address", "sctp", func(s *scene) {
			s.lose(100, sctp(server, "10.0.0.2:4000", chunk(data, first, 9)...))
			s.down(1200, sctp(server, "10.0.9.2:4000", chunk(data, first, 9)...))
		}, 1},
		{"behind an acknowledgment, with a new one after it", "sctp", func(s *scene) {
			s.down(100, sctp(server, client, slices.Concat(chunk(data, first, 9), chunk(data, first+1, 9))...))
			s.down(200, sctp(server, client, slices.Concat(chunk(selective, 77, 0), chunk(data, first+1, 9), chunk(data, first+2, 9))...))
		}, 1},
		{"another association", "sctp", func(s *scene) {
			s.down(100, sctp(server, client, chunk(data, first+1, 9)...))
			s.down(200, sctp(server, moved, chunk(data, first, 9)...))
		}, 0},
		{"over UDP, of chunks that interleave", "sctp-udp", func(s *scene) {
			for range 3 {
				s.down(100, capturetest.Datagram(server, client, append(make([]byte, 12), chunk(interleaved, first, 9)...)))
			}
		}, 2},
		{"over DTLS nobody knows", "sctp-udp-dtls", func(s *scene) { s.down(100, datagram(server, client, 23, 100)) }, none},
		{"over MPTCP on each subflow", "mptcp", func(s *scene) {
			s.down(100, segment(server, client, 1, 1, capture.ACK, 10))
			s.down(200, segment(server, moved, 1, 1, capture.ACK, 10))
			s.down(300, segment(server, moved, 1, 1, capture.ACK, 10))
		}, 1},
		{"of no transport that there is", "carrier pigeon", func(*scene) {}, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &streamScene{record: record.Stream{Transport: c.transport}}
			c.sends(&s.scene)
			expectOfStream(t, s.load(t), map[string]float64{"retransmissions": c.want})
		})
	}
	s := download(t, "quic", player.Migrate)
	l := s.load(t)
	l.ServerLost = 7
	expectOfStream(t, l, map[string]float64{"retransmissions": 7})
}

// A page has no figures of streams but those of its packets.
func TestNoMetricsOfStreamsOfAPage(t *testing.T) {
	ofPackets := []string{"bytes_up", "bytes_down", "packets_up", "packets_down", "drops", "late_p50", "late_p99", "late_max"}
	l := h3Scene().load(t, "h3")
	for _, m := range Streams().Metrics {
		if v, ok := m.Of(l); ok != slices.Contains(ofPackets, m.Name) {
			t.Errorf("%s = %v, %v", m.Name, v, ok)
		}
	}
}

func TestEveryMetricOfStreamsIsDefined(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Streams().Metrics {
		if names[m.Name] || m.Name == "" || m.Unit == "" || m.Title == "" || len(m.Definition) < 40 || m.Of == nil {
			t.Errorf("%+v is not fully defined, or a name is taken twice", m)
		}
		names[m.Name] = true
	}
	if len(names) != 30 {
		t.Errorf("%d metrics, want 30", len(names))
	}
}

// Whatever a capture of a stream holds, the figures come out or are absent.
func FuzzMetricsOfStreams(f *testing.F) {
	rows := []string{"tcp", "mptcp", "sctp", "sctp-udp", "sctp-udp-dtls", "quic"}
	for i, row := range rows {
		w, _ := transportOf(row)
		s := &scene{}
		s.up(0, opening(w.wire, client))
		s.down(200, carrying(w.wire, server, client, 100))
		file := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}})
		for i := range s.records {
			file = capture.AppendPacket(file, &s.records[i])
		}
		f.Add(i, file)
	}
	f.Fuzz(func(t *testing.T, row int, file []byte) {
		packets, _ := capture.ReadPcapng(bytes.NewReader(file))
		if packets == nil || row < 0 {
			return
		}
		s := viewing()
		s.Transport = rows[row%len(rows)]
		l := &evidence.Evidence{Protocol: s.Transport, Packets: packets, Server: []capture.ServerEntry{{URL: item}}, Stream: &s}
		Streams().Violations(l)
		for _, m := range Streams().Metrics {
			if v, ok := m.Of(l); ok && m.Unit != "ms" && v < 0 {
				t.Errorf("%s = %v", m.Name, v)
			}
		}
	})
}
