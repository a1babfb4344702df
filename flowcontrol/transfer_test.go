package flowcontrol

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	"wiretime/capture"
)

// begin opens a connection on which a client asks for a body, and returns when the server has the request.
func begin(settings ...http2.Setting) (*scene, float64) {
	s := newScene()
	return s, s.send(Client, 2*delay, asks(settings...))
}

// TestWhatHeldTheSender plays downloads whose limits are known, and compares what is found out with them. Times are ms.
func TestWhatHeldTheSender(t *testing.T) {
	large := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
	for _, c := range []struct {
		name string
		play func() *scene
		want map[Reason]float64
	}{
		{"the link alone", func() *scene {
			s, at := begin(large)
			s.send(Server, at, data(20_000, false))
			s.send(Server, at, data(20_000, true))
			return s
		}, map[Reason]float64{Link: 41.6 + delay}},
		{"the application pauses for 300 ms", func() *scene {
			s, at := begin(large)
			s.acknowledge(s.send(Server, at, data(10_000, false)))
			s.send(Server, at+300, data(10_000, true))
			return s
		}, map[Reason]float64{Link: 2*10.4 + delay, Application: 300 - 10.4}},
		{"a stream's window of 65,535 octets, granted anew once it is used up", func() *scene {
			s, at := begin()
			at = s.send(Client, at, update(0, 1<<20))
			for range 3 {
				at = s.send(Server, at, data(65_535, false))
				s.received[Client] = s.next[Server]
				at = s.send(Client, at, update(1, 65_535))
			}
			s.send(Server, at, data(0, true))
			return s
		}, map[Reason]float64{Link: 3*68.2 + delay, StreamWindow: 2 * 2 * delay}},
		{"the session's window of 65,535 octets, granted anew once it is used up", func() *scene {
			s, at := begin(large)
			for range 3 {
				at = s.send(Server, at, data(65_535, false))
				s.received[Client] = s.next[Server]
				at = s.send(Client, at, update(0, 65_535))
			}
			s.send(Server, at, data(0, true))
			return s
		}, map[Reason]float64{Link: 3*68.2 + delay, SessionWindow: 2 * 2 * delay}},
		{"a receive window of 20,000 octets", func() *scene {
			s, at := begin(large)
			body := data(60_000, true)
			s.window[Client] = 20_000
			at = s.acknowledge(at - delay) // the server learns of it
			for range 3 {
				n := min(20_000, len(body))
				at = s.acknowledge(s.send(Server, at, body[:n]))
				body = body[n:]
			}
			s.send(Server, at, body)
			return s
		}, map[Reason]float64{Link: 3*20.8 + 0.05 + delay, ReceiveWindow: 3 * 2 * delay}},
		{"a congestion window of 10, 20 and 40 segments", func() *scene {
			s, at := begin(large)
			body := data(69_991, true)
			for n := 10; len(body) > 0; n *= 2 {
				at = s.acknowledge(s.send(Server, at, body[:n*mss]))
				body = body[n*mss:]
			}
			return s
		}, map[Reason]float64{Link: 70*1.04 + delay, CongestionWindow: 2 * 2 * delay}},
		{"a segment is lost, and sent again after 400 ms", func() *scene {
			s, at := begin(large)
			body := data(4991, true)
			s.send(Server, at, body[:4000])
			s.packet(Server, at, capture.ACK, body[4000:], true)
			s.next[Server] -= 1000
			s.send(Server, at+400, body[4000:])
			return s
		}, map[Reason]float64{Link: 5*1.04 + delay, LossRecovery: 400 - 4*1.04}},
		{"the last segment is lost twice, and arrives after 1200 ms", func() *scene {
			s, at := begin(large)
			body := data(4991, true)
			s.send(Server, at, body[:4000])
			for _, later := range []float64{0, 400} {
				s.packet(Server, at+later, capture.ACK, body[4000:], true)
				s.next[Server] -= 1000
			}
			s.send(Server, at+1200, body[4000:])
			return s
		}, map[Reason]float64{Link: 5*1.04 + delay, LossRecovery: 1200 - 4*1.04}},
		{"a segment is lost, and the next request comes after it was sent again", func() *scene {
			s, at := begin(large)
			body := data(4991, true)
			s.send(Server, at, body[:4000])
			s.packet(Server, at, capture.ACK, body[4000:], true)
			s.next[Server] -= 1000
			s.send(Server, at+400, body[4000:])
			at = s.send(Client, at+600-delay, request(3, "GET", true))
			s.send(Server, at, dataOn(3, 991, true))
			return s
		}, map[Reason]float64{Link: 6*1.04 + delay, LossRecovery: 400 - 4*1.04, Application: 200 - 1.04}},
		{"the session's window is used up, and the next request comes with its update", func() *scene {
			s, at := begin(large)
			s.acknowledge(s.send(Server, at, data(65_535, false)))
			at = s.send(Client, at+1000-delay, slices.Concat(update(0, 1<<20), request(3, "GET", true)))
			s.send(Server, at, slices.Concat(dataOn(3, 491, true), data(491, true)))
			return s
		}, map[Reason]float64{Link: 68.2 + 1.04 + delay, SessionWindow: 1000 - 68.2}},
		{"a peer that never updates, until it gives up after 5 s", func() *scene {
			s, at := begin()
			s.acknowledge(s.send(Server, at, data(65_535, false)))
			s.send(Client, at+5000-delay-0.053, h2(func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) }))
			return s
		}, map[Reason]float64{Link: 68.2, SessionWindow: 5000 - 68.2}},
		{"a stream that is stuck until the capture ends", func() *scene {
			s, at := begin()
			at = s.send(Client, at, update(0, 1<<20))
			s.acknowledge(s.send(Server, at, data(65_535, false)))
			s.packet(Client, at+5000, capture.ACK, nil, false)
			return s
		}, map[Reason]float64{Link: 68.2, StreamWindow: 5000 - 68.2 + delay}},
		{"a window of 0, opened after a second", func() *scene {
			s, at := begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			s.send(Server, at, h2(func(f *http2.Framer) error {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header(":status", "200"), EndHeaders: true})
			}))
			at = s.send(Client, at+1000, update(1, 10_000))
			s.send(Server, at, data(10_000, true))
			return s
		}, map[Reason]float64{Link: 10.4 + delay}},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection := c.play().read(t)
			if len(connection.Transfers) != 1 || connection.Transfers[0].Sender != Server || len(connection.Unseen) > 0 {
				t.Fatalf("%d transfers, %q", len(connection.Transfers), connection.Unseen)
			}
			checkSums(t, connection.Transfers[0], c.want)
		})
	}
}

// checkSums compares what held the sender with what is wanted, in ms, and its sum with the length of the transfer.
func checkSums(t *testing.T, transfer *Transfer, want map[Reason]float64) {
	t.Helper()
	sums := transfer.Sums()
	total := 0.0
	for _, r := range Reasons() {
		total += want[r]
		if got := float64(sums[r]) / 1e6; math.Abs(got-want[r]) > 0.3 {
			t.Errorf("held by %s for %.3f ms, want %.3f", r, got, want[r])
		}
	}
	if took := float64(transfer.To-transfer.From) / 1e6; math.Abs(took-total) > total/100 {
		t.Errorf("the transfer took %.3f ms, the limits add up to %.3f", took, total)
	}
}

// TestWhatHeldAnUpload: updates that come with acknowledgements do not make the congestion window look like the application.
func TestWhatHeldAnUpload(t *testing.T) {
	s := newScene()
	s.send(Client, 2*delay, slices.Concat([]byte(http2.ClientPreface), h2(func(f *http2.Framer) error { return f.WriteSettings() }), request(1, "POST", false)))
	const start = 1000
	body := data(29_991, true)
	arrives := s.send(Client, start, body[:10*mss])
	s.received[Server] = s.next[Client]
	s.send(Client, s.send(Server, arrives, update(1, 10*mss)), body[10*mss:])
	transfers := s.read(t).Transfers
	if len(transfers) != 1 || transfers[0].Sender != Client {
		t.Fatalf("%d transfers", len(transfers))
	}
	checkSums(t, transfers[0], map[Reason]float64{Link: 30*1.04 + delay, CongestionWindow: 2 * delay})
}

// TestServersAtDifferentDistances: the way to a server behind the link does not keep the link busy, whatever its packets wait for.
func TestServersAtDifferentDistances(t *testing.T) {
	const near, far = "10.0.1.2:443", "10.0.1.3:443"
	at := func(sender Side, server string, sent, arrived int64) *packet {
		flow := capture.Flow{Protocol: capture.TCP, Source: ends[Client], Destination: netip.MustParseAddrPort(server)}
		if sender == Server {
			flow = flow.Reverse()
		}
		return &packet{sender: sender, line: int(sender), headers: capture.Headers{Flow: flow}, sent: sent, arrived: arrived}
	}
	packets := []*packet{
		at(Client, near, 0, 10), at(Server, near, 10, 20), at(Client, far, 5, 45),
		at(Server, near, 100, 112), at(Server, far, 101, 147), // the second waits 1 for the first, then takes 5
	}
	serve(packets)
	if got := busy(packets, Client); got != nil {
		t.Errorf("the link up is busy in %v", got)
	}
	if got, want := busy(packets, Server), []span{{100, 107}}; !slices.Equal(got, want) {
		t.Errorf("the link down is busy in %v, want %v", got, want)
	}
}

// TestRepeatsInAnyOrder loses a segment, which arrives in two parts, the second part first.
func TestRepeatsInAnyOrder(t *testing.T) {
	var k track
	send := func(sent, arrived int64, from, to int) {
		k.add(&packet{sent: sent, arrived: arrived, headers: capture.Headers{Sequence: uint32(from), Payload: make([]byte, to-from), PayloadLength: to - from}})
	}
	send(0, Never, 1, 1001)
	send(1, 50, 1001, 1500)
	send(100, 150, 501, 1200)
	send(110, Never, 1, 501)
	send(200, 250, 1, 501)
	k.finish()
	if s := k.segments[0]; s.delivered != 250 || s.again != 200 {
		t.Errorf("the lost segment was whole at %d by a packet of %d, want 250 and 200", s.delivered, s.again)
	}
	if s := k.segments[1]; s.arrived != 50 || s.delivered != 250 {
		t.Errorf("the next segment arrived at %d and was delivered at %d, want 50 and 250", s.arrived, s.delivered)
	}
}
