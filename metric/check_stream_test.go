package metric

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/media/record"
	media "wiretime/media/transport"
	"wiretime/study"
)

func TestCheckFindsNothingInASoundStream(t *testing.T) {
	for _, row := range media.All() {
		for _, strategy := range []player.Strategy{player.Reconnect, player.ZeroRTT, player.Migrate, player.Multihome} {
			if row.Supports(media.Strategy(strategy)) != nil {
				continue
			}
			if got := Streams().Violations(download(t, row.Name, strategy).load(t)); len(got) != 0 {
				t.Errorf("%s, %s: %v", row.Name, strategy, got)
			}
		}
	}
}

// TestTransports holds what captures are to show of the transports to what package transport says of them.
func TestTransports(t *testing.T) {
	numbers := map[string]uint8{"tcp": capture.TCP, "udp": capture.UDP, "sctp": capture.SCTP}
	for _, row := range media.All() {
		got, ok := transportOf(row.Name)
		if !ok || got.wire.Protocol() != numbers[row.Protocol] || got.tls != (row.Encrypted && got.wire != evidence.WireDTLS) {
			t.Errorf("%s: %+v, %v, but the row is %+v", row.Name, got, ok, row)
		}
	}
	if len(transports()) != len(media.All()) {
		t.Errorf("%d transports, want %d", len(transports()), len(media.All()))
	}
}

// TestCheckTellsTransportsApart has the packets of each transport taken for those of each
// other one.
func TestCheckTellsTransportsApart(t *testing.T) {
	rows := []string{"tcp", "mptcp", "sctp", "sctp-udp", "sctp-udp-dtls", "quic"}
	for _, asked := range rows {
		for _, had := range rows {
			s := download(t, had, player.Reconnect)
			s.record.Transport = asked
			for i := range s.log {
				s.log[i].Protocol = asked
			}
			got := checkTransport(s.load(t))
			was, _ := transportOf(had)
			shows := slices.ContainsFunc(got, func(v study.Violation) bool {
				return v.Rule == 1 && strings.HasPrefix(v.Detail, "the capture has sessions of "+string(was.wire)+",")
			})
			if shows != (asked != had) {
				t.Errorf("%s in place of %s: %v", had, asked, got)
			}
		}
	}
}

func TestCheckStreamFinds(t *testing.T) {
	log := func(change func(e *capture.ServerEntry)) func(s *streamScene) {
		return func(s *streamScene) { change(&s.log[len(s.log)-1]) }
	}
	for _, c := range []struct {
		name      string
		transport string
		strategy  player.Strategy
		change    func(s *streamScene)
		want      []study.Violation
	}{
		{"another transport by the record", "tcp", player.Reconnect, func(s *streamScene) { s.record.Transport = "quic" }, []study.Violation{
			{Rule: 1, Detail: "the stream's record is of the transport quic, not of tcp"}}},
		{"another transport by the server", "tcp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Protocol = "mptcp" }), []study.Violation{
			{Rule: 1, Detail: "the server log shows 1 request as mptcp over TLS, not as tcp over TLS: " + item + "?offset=1000&length=0"}}},
		{"a session in the clear", "tcp", player.Reconnect, log(func(e *capture.ServerEntry) { e.TLS = "" }), []study.Violation{
			{Rule: 1, Detail: "the server log shows 1 request as tcp without TLS, not as tcp over TLS: " + item + "?offset=1000&length=0"}}},
		{"a session of something else", "sctp", player.Reconnect, func(s *streamScene) { s.up(500, opening(evidence.WireTCP, "10.0.0.2:9")) }, []study.Violation{
			{Rule: 1, Detail: "the capture has sessions of TCP, not of SCTP alone: tcp 10.0.0.2:9 > " + server}}},
		{"what a load before has left behind", "sctp", player.Reconnect, func(s *streamScene) { s.up(5, carrying(evidence.WireTCP, "10.0.0.2:9", server, 1)) }, nil},
		{"questions to a DNS server are no matter", "sctp", player.Reconnect, func(s *streamScene) { s.up(0, datagram("10.0.0.2:9", dns, 1, 1)) }, nil},

		{"a TLS session from before, by the record", "tcp", player.Reconnect, func(s *streamScene) { s.record.Sessions[0].Resumed = true }, []study.Violation{
			{Rule: 2, Detail: "the first session resumed a TLS session from before the stream"}}},
		{"a TLS session from before, by the server", "quic", player.Reconnect, func(s *streamScene) { s.log[0].Resumed = true }, []study.Violation{
			{Rule: 2, Detail: "the first session resumed a TLS session from before the stream"}}},
		{"early data from the beginning", "quic", player.ZeroRTT, func(s *streamScene) { s.record.Sessions[0].EarlyData = true }, []study.Violation{
			{Rule: 2, Detail: "the first session began with early data, as if there had been one before the stream"}}},
		{"early data that was not asked for", "quic", player.Reconnect, func(s *streamScene) { s.record.Sessions[1].EarlyData = true }, []study.Violation{
			{Rule: 2, Detail: "early data came with strategy reconnect: session 2"}}},
		{"early data that only the server saw", "quic", player.Reconnect, log(func(e *capture.ServerEntry) { e.EarlyData = true }), []study.Violation{
			{Rule: 2, Detail: "early data came with strategy reconnect: connection 2 of the server log"}}},
		{"no early data", "quic", player.ZeroRTT, func(s *streamScene) { s.record.Sessions[1].EarlyData = false }, []study.Violation{
			{Rule: 2, Detail: "1 session, opened after another had been answered, went without early data: session 2"}}},
		{"no early data before there was an answer", "quic", player.ZeroRTT, func(s *streamScene) {
			s.record.Sessions[1].EarlyData = false
			s.record.Figures.Timeline = slices.DeleteFunc(s.record.Figures.Timeline, func(e player.Entry) bool {
				return e.Event == player.Answered && e.Request == 1
			})
		}, nil},
		{"no early data in a session that was never answered", "quic", player.ZeroRTT, func(s *streamScene) {
			s.record.Sessions[1].EarlyData = false
			s.record.Figures.Timeline = slices.DeleteFunc(s.record.Figures.Timeline, func(e player.Entry) bool {
				return e.Event == player.Answered && e.Request == 2
			})
		}, nil},
		{"a session from before the capture", "tcp", player.Reconnect, func(s *streamScene) { s.records = s.records[2:] }, []study.Violation{
			{Rule: 2, Detail: "1 session carried requests without an opening in the capture: tcp " + client + " > " + server}}},
		{"a handover without a new session", "tcp", player.Reconnect, func(s *streamScene) {
			s.record.Figures.Sessions, s.record.Sessions, s.log[1].Connection = s.record.Figures.Sessions[:1], s.record.Sessions[:1], 1
			s.log[1].Resumed = false
		}, []study.Violation{
			{Rule: 2, Detail: "with strategy reconnect there is a new session after each handover, but the viewer had 1 handover and 1 session in all"}}},

		{"an answer that the server did not give", "tcp", player.Reconnect, func(s *streamScene) { s.log[0].BodyBytes, s.log = 3000, s.log[:1] }, []study.Violation{
			{Rule: 4, Detail: "the viewer had 1 answer that the server log does not show: the file"}}},
		{"a request that the viewer did not make", "tcp", player.Reconnect, func(s *streamScene) { s.serve(2, moved, "", 9); s.log[2].URL = "media:clip/qhd/7" }, []study.Violation{
			{Rule: 4, Detail: "the server answered 1 request that the viewer did not make: qhd/7"}}},
		{"a connection that the viewer did not have", "quic", player.Migrate, func(s *streamScene) {
			s.record.Figures.Timeline = append(s.record.Figures.Timeline, player.Entry{Event: player.Asked})
			s.serve(2, moved, "", 9)
		}, []study.Violation{{Rule: 4, Detail: "the server answered on 2 connections, but the viewer had 1 session"}}},
		{"octets that the server did not send", "tcp", player.Reconnect, func(s *streamScene) { s.log[0].BodyBytes = 999 }, []study.Violation{
			{Rule: 4, Detail: "the viewer received 3000 octets, but the server log adds up to 2999"}}},
		{"octets that did not pass", "tcp", player.Reconnect, func(s *streamScene) { s.records = s.records[:len(s.records)-2] }, []study.Violation{
			{Rule: 4, Detail: "the viewer received 3000 octets, but only 1000 octets reached the client"}}},
		{"an address that the server alone knows of", "sctp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Client = "10.0.9.2:4002" }), []study.Violation{
			{Rule: 4, Detail: "the server answered on 1 flow that the packets do not show: sctp 10.0.9.2:4002 > " + server}}},
		{"an address that is none", "sctp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Client = "AP1" }), []study.Violation{
			{Rule: 4, Detail: `the server log names the client "AP1": not an ip:port`}}},
		{"a session that the wire does not show", "quic", player.Migrate, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.9.2:4002")
		}, []study.Violation{{Rule: 4, Detail: "the viewer had 1 session that the packets do not show: session 1 from 10.0.9.2:4002"}}},
		{"nothing at all on the wire", "sctp", player.Multihome, func(s *streamScene) {
			f := &s.record.Figures
			f.Received, f.Timeline, f.Sessions[0].Open, s.log, s.records = 0, nil, 0, nil, nil
		}, []study.Violation{{Rule: 4, Detail: "the viewer tried to open 1 session, but nothing of that passed the client's interfaces"}}},
		{"packets of which none arrives", "sctp", player.Multihome, func(s *streamScene) {
			f := &s.record.Figures
			f.Received, f.Timeline, f.Sessions[0].Open, s.log, s.records = 0, nil, 0, nil, s.records[:1]
		}, nil},
		{"an address of several that nothing left from", "sctp", player.Multihome, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.8.2:4000")
		}, nil},
		{"a port that nothing left from", "sctp", player.Multihome, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.0.2:4009")
		}, []study.Violation{{Rule: 4, Detail: "the viewer had 1 session that the packets do not show: session 1 from 10.0.0.2:4009"}}},
		{"a session that was never opened needs no packets", "quic", player.Reconnect, func(s *streamScene) {
			s.record.Figures.Sessions = append(s.record.Figures.Sessions, player.Session{Asked: 1300 * ms})
			s.record.Sessions = append(s.record.Sessions, record.Session{})
		}, nil},
		{"sessions that nobody tells of", "quic", player.Reconnect, func(s *streamScene) { s.record.Sessions = s.record.Sessions[:1] }, []study.Violation{
			{Rule: 4, Detail: "the viewer had 2 sessions, but the record tells of 1 of them how they went"}}},
		{"a handover to elsewhere", "quic", player.Migrate, func(s *streamScene) { s.record.Manager[1].Access = "AP3" }, []study.Violation{
			{Rule: 4, Detail: "the network's manager planned handovers to AP3, but the viewer was told of AP2"}}},
		{"a handover that the viewer was not told of", "quic", player.Migrate, func(s *streamScene) {
			s.record.Figures.Duration = 4 * time.Second
			s.plan(2900*ms, "AP1")
			s.record.Epoch = 50 * ms
		}, []study.Violation{{Rule: 4, Detail: "2 handovers of the network's manager came while the stream lasted, but the viewer was told of 1"}}},
		{"a handover that was to come later", "quic", player.Migrate, func(s *streamScene) {
			s.record.Figures.Duration = 4 * time.Second
			s.plan(2950*ms, "AP1")
			s.record.Epoch = 50 * ms
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := download(t, c.transport, c.strategy)
			c.change(s)
			l := s.load(t)
			l.Protocol = c.transport
			if got := Streams().Violations(l); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A capture that lacks packets can only contradict what happened while it was whole.
func TestCheckACutCapture(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *streamScene)
		want   []study.Violation
	}{
		{"sound as far as it goes", func(*streamScene) {}, nil},
		{"a flow that came later", func(s *streamScene) { s.log[0].Start, s.log[0].Client = ns(1051), moved }, nil},
		{"a flow that must be there", func(s *streamScene) { s.log[0].Client = moved }, []study.Violation{
			{Rule: 4, Detail: "the server answered on 1 flow that the packets do not show: tcp " + moved + " > " + server}}},
		{"a session that must be there", func(s *streamScene) {
			s.record.Figures.Sessions[0].Closed, s.record.Sessions[0].Local = 150*ms, netip.MustParseAddrPort("10.0.0.2:4002")
		}, []study.Violation{{Rule: 4, Detail: "the viewer had 1 session that the packets do not show: session 1 from 10.0.0.2:4002"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := download(t, "tcp", player.Reconnect)
			s.records = s.records[:6] // up to 200 ms
			c.change(s)
			l := s.load(t)
			l.CaptureCut = true
			if got := Streams().Violations(l); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestCheckStreamNeedsAllParts(t *testing.T) {
	s := viewing()
	s.Figures.Timeline = []player.Entry{{Event: player.Answered}}
	got := Streams().Violations(&evidence.Evidence{Protocol: "carrier pigeon", Stream: &s})
	want := []study.Violation{
		{Rule: 1, Detail: `what packets of the transport "carrier pigeon" look like is not known`},
		{Rule: 4, Detail: "the stream has no server log to compare the rest with"},
		{Rule: 4, Detail: "the stream has no packets to compare the rest with"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCheckStreamNeedsARecord(t *testing.T) {
	got := Streams().Violations(&evidence.Evidence{Protocol: "tcp"})
	want := []study.Violation{{Rule: 4, Detail: "the stream has no record to compare the rest with"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A session of QUIC that has come along from another address is none of SCTP, whatever
// its octets are like.
func TestCheckAllWaysThatQUICMayLook(t *testing.T) {
	s := download(t, "quic", player.Migrate)
	for i := range s.records {
		p := &s.records[i]
		if h, err := capture.Dissect(p.Data); err == nil && h.Flow.Source == netip.MustParseAddrPort(moved) {
			copy(h.Payload, []byte{0x41, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1})
		}
	}
	if got := Streams().Violations(s.load(t)); len(got) > 0 {
		t.Error(got)
	}
}

func TestPieceOf(t *testing.T) {
	for url, want := range map[string]string{
		"media:clip/hd/7":                      "hd/7",
		"media:a/b/qhd/0?offset=9&length=0":    "qhd/0",
		"media:file@1GB":                       "the file",
		"media:file@1GB?offset=100&length=0":   "the file",
		"media:folder/with/parts":              "the file",
		"media:folder/hd/seven?offset=1/fhd/8": "the file",
	} {
		if got := pieceOf(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
