package metric

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/media/player"
	"wiretime/media/record"
)

func TestCheckFindsNothingInASoundStream(t *testing.T) {
	for _, c := range []struct {
		transport  string
		strategies []player.Strategy
	}{
		{"tcp", []player.Strategy{player.Reconnect}},
		{"tcp-clear", []player.Strategy{player.Reconnect}},
		{"mptcp", []player.Strategy{player.Reconnect, player.Multihome}},
		{"mptcp-clear", []player.Strategy{player.Reconnect, player.Multihome}},
		{"sctp", []player.Strategy{player.Reconnect, player.Multihome}},
		{"sctp-udp", []player.Strategy{player.Reconnect}},
		{"sctp-udp-dtls", []player.Strategy{player.Reconnect}},
		{"quic", []player.Strategy{player.Reconnect, player.ZeroRTT, player.Migrate}},
	} {
		for _, strategy := range c.strategies {
			if got := Check(download(t, c.transport, strategy).load(t)); len(got) != 0 {
				t.Errorf("%s, %s: %v", c.transport, strategy, got)
			}
		}
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
			shows := slices.ContainsFunc(got, func(v Violation) bool {
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
		want      []Violation
	}{
		{"another transport by the record", "tcp", player.Reconnect, func(s *streamScene) { s.record.Transport = "quic" }, []Violation{
			{1, "the stream's record is of the transport quic, not of tcp"}}},
		{"another transport by the server", "tcp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Protocol = "mptcp" }), []Violation{
			{1, "the server log shows 1 request as mptcp over TLS, not as tcp over TLS: " + item + "?offset=1000&length=0"}}},
		{"a session in the clear", "tcp", player.Reconnect, log(func(e *capture.ServerEntry) { e.TLS = "" }), []Violation{
			{1, "the server log shows 1 request as tcp without TLS, not as tcp over TLS: " + item + "?offset=1000&length=0"}}},
		{"a session of something else", "sctp", player.Reconnect, func(s *streamScene) { s.up(500, wireTCP.opening("10.0.0.2:9")) }, []Violation{
			{1, "the capture has sessions of TCP, not of SCTP alone: tcp 10.0.0.2:9 > " + server}}},
		{"what a load before has left behind", "sctp", player.Reconnect, func(s *streamScene) { s.up(5, wireTCP.carrying("10.0.0.2:9", server, 1)) }, nil},
		{"questions to a DNS server are no matter", "sctp", player.Reconnect, func(s *streamScene) { s.up(0, datagram("10.0.0.2:9", dns, 1, 1)) }, nil},

		{"a TLS session from before, by the record", "tcp", player.Reconnect, func(s *streamScene) { s.record.Sessions[0].Resumed = true }, []Violation{
			{2, "the first session resumed a TLS session from before the stream"}}},
		{"a TLS session from before, by the server", "quic", player.Reconnect, func(s *streamScene) { s.log[0].Resumed = true }, []Violation{
			{2, "the first session resumed a TLS session from before the stream"}}},
		{"early data from the beginning", "quic", player.ZeroRTT, func(s *streamScene) { s.record.Sessions[0].EarlyData = true }, []Violation{
			{2, "the first session began with early data, as if there had been one before the stream"}}},
		{"early data that was not asked for", "quic", player.Reconnect, func(s *streamScene) { s.record.Sessions[1].EarlyData = true }, []Violation{
			{2, "early data came with strategy reconnect: session 2"}}},
		{"early data that only the server saw", "quic", player.Reconnect, log(func(e *capture.ServerEntry) { e.EarlyData = true }), []Violation{
			{2, "early data came with strategy reconnect: connection 2 of the server log"}}},
		{"no early data", "quic", player.ZeroRTT, func(s *streamScene) { s.record.Sessions[1].EarlyData = false }, []Violation{
			{2, "1 session, opened after another had been answered, went without early data: session 2"}}},
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
		{"a session from before the capture", "tcp", player.Reconnect, func(s *streamScene) { s.records = s.records[2:] }, []Violation{
			{2, "1 session carried requests without an opening in the capture: tcp " + client + " > " + server}}},
		{"a handover without a new session", "tcp", player.Reconnect, func(s *streamScene) {
			s.record.Figures.Sessions, s.record.Sessions, s.log[1].Connection = s.record.Figures.Sessions[:1], s.record.Sessions[:1], 1
			s.log[1].Resumed = false
		}, []Violation{
			{2, "with strategy reconnect there is a new session after each handover, but the viewer had 1 handover and 1 session in all"}}},

		{"an answer that the server did not give", "tcp", player.Reconnect, func(s *streamScene) { s.log[0].BodyBytes, s.log = 3000, s.log[:1] }, []Violation{
			{4, "the viewer had 1 answer that the server log does not show: the file"}}},
		{"a request that the viewer did not make", "tcp", player.Reconnect, func(s *streamScene) { s.serve(2, moved, "", 9); s.log[2].URL = "media:clip/qhd/7" }, []Violation{
			{4, "the server answered 1 request that the viewer did not make: qhd/7"}}},
		{"a connection that the viewer did not have", "quic", player.Migrate, func(s *streamScene) {
			s.record.Figures.Timeline = append(s.record.Figures.Timeline, player.Entry{Event: player.Asked})
			s.serve(2, moved, "", 9)
		}, []Violation{{4, "the server answered on 2 connections, but the viewer had 1 session"}}},
		{"octets that the server did not send", "tcp", player.Reconnect, func(s *streamScene) { s.log[0].BodyBytes = 999 }, []Violation{
			{4, "the viewer received 3000 octets, but the server log adds up to 2999"}}},
		{"octets that did not pass", "tcp", player.Reconnect, func(s *streamScene) { s.records = s.records[:len(s.records)-2] }, []Violation{
			{4, "the viewer received 3000 octets, but only 1000 octets reached the client"}}},
		{"an address that the server alone knows of", "sctp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Client = "10.0.9.2:4002" }), []Violation{
			{4, "the server answered on 1 flow that the packets do not show: sctp 10.0.9.2:4002 > " + server}}},
		{"an address that is none", "sctp", player.Reconnect, log(func(e *capture.ServerEntry) { e.Client = "AP1" }), []Violation{
			{4, `the server log names the client "AP1": not an ip:port`}}},
		{"a session that the wire does not show", "quic", player.Migrate, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.9.2:4002")
		}, []Violation{{4, "the viewer had 1 session that the packets do not show: session 1 from 10.0.9.2:4002"}}},
		{"nothing at all on the wire", "sctp", player.Multihome, func(s *streamScene) {
			f := &s.record.Figures
			f.Received, f.Timeline, f.Sessions[0].Open, s.log, s.records = 0, nil, 0, nil, nil
		}, []Violation{{4, "the viewer tried to open 1 session, but nothing of that passed the client's interfaces"}}},
		{"packets of which none arrives", "sctp", player.Multihome, func(s *streamScene) {
			f := &s.record.Figures
			f.Received, f.Timeline, f.Sessions[0].Open, s.log, s.records = 0, nil, 0, nil, s.records[:1]
		}, nil},
		{"an address of several that nothing left from", "sctp", player.Multihome, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.8.2:4000")
		}, nil},
		{"a port that nothing left from", "sctp", player.Multihome, func(s *streamScene) {
			s.record.Sessions[0].Local = netip.MustParseAddrPort("10.0.0.2:4009")
		}, []Violation{{4, "the viewer had 1 session that the packets do not show: session 1 from 10.0.0.2:4009"}}},
		{"a session that was never opened needs no packets", "quic", player.Reconnect, func(s *streamScene) {
			s.record.Figures.Sessions = append(s.record.Figures.Sessions, player.Session{Asked: 1300 * ms})
			s.record.Sessions = append(s.record.Sessions, record.Session{})
		}, nil},
		{"sessions that nobody tells of", "quic", player.Reconnect, func(s *streamScene) { s.record.Sessions = s.record.Sessions[:1] }, []Violation{
			{4, "the viewer had 2 sessions, but the record tells of 1 of them how they went"}}},
		{"a handover to elsewhere", "quic", player.Migrate, func(s *streamScene) { s.record.Manager[1].Access = "AP3" }, []Violation{
			{4, "the network's manager planned handovers to AP3, but the viewer was told of AP2"}}},
		{"a handover that the viewer was not told of", "quic", player.Migrate, func(s *streamScene) {
			s.record.Figures.Duration = 4 * time.Second
			s.plan(2900*ms, "AP1")
			s.record.Epoch = 50 * ms
		}, []Violation{{4, "2 handovers of the network's manager came while the stream lasted, but the viewer was told of 1"}}},
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
			if got := Check(l); !slices.Equal(got, c.want) {
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
		want   []Violation
	}{
		{"sound as far as it goes", func(*streamScene) {}, nil},
		{"a flow that came later", func(s *streamScene) { s.log[0].Start, s.log[0].Client = ns(1051), moved }, nil},
		{"a flow that must be there", func(s *streamScene) { s.log[0].Client = moved }, []Violation{
			{4, "the server answered on 1 flow that the packets do not show: tcp " + moved + " > " + server}}},
		{"a session that must be there", func(s *streamScene) {
			s.record.Figures.Sessions[0].Closed, s.record.Sessions[0].Local = 150*ms, netip.MustParseAddrPort("10.0.0.2:4002")
		}, []Violation{{4, "the viewer had 1 session that the packets do not show: session 1 from 10.0.0.2:4002"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := download(t, "tcp", player.Reconnect)
			s.records = s.records[:6] // up to 200 ms
			c.change(s)
			l := s.load(t)
			l.CaptureCut = true
			if got := Check(l); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestCheckStreamNeedsAllParts(t *testing.T) {
	s := viewing()
	s.Figures.Timeline = []player.Entry{{Event: player.Answered}}
	got := Check(&Load{Protocol: "carrier pigeon", Stream: &s})
	want := []Violation{
		{1, `what packets of the transport "carrier pigeon" look like is not known`},
		{4, "the stream has no server log to compare the rest with"},
		{4, "the stream has no packets to compare the rest with"},
	}
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
	if got := Check(s.load(t)); len(got) > 0 {
		t.Error(got)
	}
}

// What TCP's options say of MPTCP.
func TestOpenedBySYN(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []byte
		want    wire
	}{
		{"none", nil, wireTCP},
		{"MP_CAPABLE behind others", []byte{2, 4, 5, 180, 1, 3, 3, 7, 30, 4, 0x01, 0}, wireMPTCP},
		{"MP_JOIN", []byte{30, 12, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ""},
		{"behind the end", []byte{0, 0, 0, 0, 30, 4, 0x01, 0}, wireTCP},
		{"of no length", []byte{30, 0, 0x01, 0}, wireTCP},
		{"longer than there is room", []byte{30, 40, 0x01, 0}, wireTCP},
	} {
		if got := openedBySYN(synWith(client, c.options...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
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
