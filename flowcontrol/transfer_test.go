package flowcontrol

import (
	"math"
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
			transfer := connection.Transfers[0]
			sums := transfer.Sums()
			total := 0.0
			for _, r := range Reasons() {
				total += c.want[r]
				if got := float64(sums[r]) / 1e6; math.Abs(got-c.want[r]) > 0.3 {
					t.Errorf("held by %s for %.3f ms, want %.3f", r, got, c.want[r])
				}
			}
			if took := float64(transfer.To-transfer.From) / 1e6; math.Abs(took-total) > total/100 {
				t.Errorf("the transfer took %.3f ms, the limits add up to %.3f", took, total)
			}
		})
	}
}
