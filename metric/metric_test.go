package metric

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

func value(t *testing.T, l *evidence.Evidence, name string) (float64, bool) {
	t.Helper()
	for _, m := range Pages().Metrics {
		if m.Name == name {
			return m.Of(l)
		}
	}
	t.Fatalf("no metric is called %q", name)
	return 0, false
}

// none is what a table says where a metric has no value.
var none = math.NaN()

func expect(t *testing.T, l *evidence.Evidence, want map[string]float64) {
	t.Helper()
	for name, w := range want {
		got, ok := value(t, l, name)
		if ok == math.IsNaN(w) || ok && math.Abs(got-w) > 1e-6 {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, w)
		}
	}
}

func TestMetricsOverTCP(t *testing.T) {
	const headers = 40
	expect(t, h2Scene().load(t, "h2"), map[string]float64{
		"dcl": none, "onload": 700, "plt": 412, "tow": 411, "ttfb": 301.5, "fcp": none, "lcp": none,
		"requests": 1, "connections": 1,
		"bytes_up":        8*headers + 100 + 58,
		"bytes_down":      7*headers + 3000 + 30 + 88,
		"packets_up":      9,
		"packets_down":    8,
		"drops":           1,
		"retransmissions": 1,
		"misses":          0,
		"inexact":         0,
		"unused":          0,
	})
}

// TestMetricsOverSPDY counts as over any protocol on TCP.
func TestMetricsOverSPDY(t *testing.T) {
	expect(t, h2Scene().load(t, "spdy/3.1"), map[string]float64{"plt": 412, "tow": 411, "connections": 1, "retransmissions": 1})
}

func TestMetricsOverQUIC(t *testing.T) {
	l := h3Scene().load(t, "h3")
	expect(t, l, map[string]float64{
		"plt": 312, "tow": 330, "requests": 1, "connections": 1, "drops": 0, "retransmissions": none,
		"packets_up": 5, "packets_down": 5,
		"bytes_up":   5*28 + 30 + 1200 + 100 + 30 + 30,
		"bytes_down": 5*28 + 60 + 3*1200 + 30,
	})
	l.ServerLost = 3
	expect(t, l, map[string]float64{"retransmissions": 3})
}

// Where the load ends on the wire.
func TestTimeOnWire(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *scene)
		base   func() *scene
		want   float64
	}{
		{"a delayed acknowledgment after the last entry's end counts", func(s *scene) {
			s.replaceUp(411, 451)
		}, h2Scene, 451},
		{"a lost look-up is the start", func(s *scene) {
			s.records[1] = capture.PacketRecord{Interface: 0, Time: ns(0), Comment: capture.DroppedPrefix + "random", Length: s.records[0].Length, Data: s.records[0].Data}
		}, h2Scene, 411},
		{"what an earlier load left behind is not the start", func(s *scene) {
			before := &scene{}
			before.up(-80, segment("10.0.0.2:3999", server, 9, 9, capture.FIN|capture.ACK, 0))
			before.down(-40, segment(server, "10.0.0.2:3999", 9, 10, capture.ACK, 5))
			s.records = append(before.records, s.records...)
		}, h2Scene, 411},
		{"data that arrives with FIN counts, its acknowledgment too", func(s *scene) {
			s.down(411.2, fromServer(3001, 101, capture.FIN|capture.ACK, 500))
			s.up(440, fromClient(101, 3502, capture.ACK, 0))
		}, h2Scene, 440},
		{"the acknowledgment of a FIN alone does not count", func(s *scene) {
			s.down(411.2, fromServer(3001, 101, capture.FIN|capture.ACK, 0))
			s.up(411.3, fromClient(101, 3002, capture.ACK, 0))
		}, h2Scene, 411},
		{"QUIC's close within 25 ms of the end may count", func(s *scene) {
			s.up(337, datagram(client, server, short, 30))
		}, h3Scene, 337},
		{"later it does not", func(s *scene) {
			s.up(337.1, datagram(client, server, short, 30))
		}, h3Scene, 330},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.base()
			c.change(s)
			protocol := s.log[0].Protocol
			expect(t, s.load(t, protocol), map[string]float64{"tow": c.want})
		})
	}
}

// TestTimeOnWireToTheLastPacket follows a connection to its end.
func TestTimeOnWireToTheLastPacket(t *testing.T) {
	nothing := func(*scene) {}
	cut := func(packets int) func(s *scene) { // the last packets of the scene, each twice: as sent and as received
		return func(s *scene) { s.records = s.records[:len(s.records)-2*packets] }
	}
	for _, c := range []struct {
		name   string
		change func(s *scene)
		base   func() *scene
		asked  bool
		want   float64
	}{
		{"both ends close, and the last acknowledgment counts", nothing, h2Scene, true, 701},
		{"the study did not ask", nothing, h2Scene, false, none},
		{"the client has not closed", cut(2), h2Scene, true, none},
		{"the server has not closed", func(s *scene) {
			cut(3)(s)
			s.up(601, fromClient(101, 3031, capture.FIN|capture.ACK, 0))
		}, h2Scene, true, none},
		{"a reset closes both", func(s *scene) {
			cut(3)(s)
			s.up(601, fromClient(101, 3031, capture.RST, 0))
		}, h2Scene, true, 601},
		{"a connection without an answer need not be closed", func(s *scene) {
			s.up(702, segment("10.0.0.2:4001", server, 7, 0, capture.SYN, 0))
		}, h2Scene, true, 702},
		{"one with an answer must be", func(s *scene) {
			s.up(702, segment("10.0.0.2:4001", server, 7, 0, capture.SYN, 0))
			s.down(802, segment(server, "10.0.0.2:4001", 7, 8, capture.SYN|capture.ACK, 0))
		}, h2Scene, true, none},
		{"of QUIC the last packet counts, whenever it comes", func(s *scene) { s.up(900, datagram(client, server, short, 30)) }, h3Scene, true, 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.base()
			c.change(s)
			ev := s.load(t, s.log[0].Protocol)
			ev.TearDown = c.asked
			expect(t, ev, map[string]float64{"tow_closed": c.want})
		})
	}
}

// replaceUp makes the client send what it sent at one time at another.
func (s *scene) replaceUp(from, to float64) {
	for i := range s.records {
		if s.records[i].Time == ns(from) {
			s.records[i].Time = ns(to)
		}
	}
}

func TestRetransmissions(t *testing.T) {
	for _, c := range []struct {
		name  string
		sends func(s *scene)
		want  float64
	}{
		{"a new connection on the same ports is none", func(s *scene) {
			s.up(0, segment(client, server, 1000, 0, capture.SYN, 0))
			s.up(1, segment(client, server, 1001, 1, capture.ACK, 10))
			s.up(9, segment(client, server, 500, 0, capture.SYN, 0))
			s.up(10, segment(client, server, 501, 1, capture.ACK, 10))
		}, 0},
		{"a repeated SYN is one", func(s *scene) {
			s.up(0, segment(client, server, 1000, 0, capture.SYN, 0))
			s.up(1000, segment(client, server, 1000, 0, capture.SYN, 0))
		}, 1},
		{"octets sent again in a larger segment are one", func(s *scene) {
			s.down(100, segment(server, client, 1, 1, capture.ACK, 10))
			s.down(200, segment(server, client, 1, 1, capture.ACK, 25))
			s.down(300, segment(server, client, 26, 1, capture.ACK, 25))
		}, 1},
		{"acknowledgments are none", func(s *scene) {
			s.up(0, segment(client, server, 7, 1, capture.ACK, 0))
			s.up(1, segment(client, server, 7, 1, capture.ACK, 0))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scene{}
			c.sends(s)
			expect(t, s.load(t, "h2"), map[string]float64{"retransmissions": c.want})
		})
	}
}

func TestConnections(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *scene)
		want   float64
	}{
		{"a port taken again is another", func(s *scene) {
			for i, number := range []uint32{1, 1000} {
				s.up(300+200*float64(i), segment("10.0.0.2:4001", server, number, 0, capture.SYN, 0))
				s.up(350+200*float64(i), segment("10.0.0.2:4001", server, number, 0, capture.SYN, 0))
				s.down(400+200*float64(i), segment(server, "10.0.0.2:4001", 1, number+1, capture.SYN|capture.ACK, 0))
			}
		}, 3},
		{"an unanswered SYN is none", func(s *scene) { s.up(300, segment("10.0.0.2:4001", server, 1, 0, capture.SYN, 0)) }, 1},
		{"a connection that was never used is one", func(s *scene) {
			s.up(300, segment("10.0.0.2:4001", server, 1, 0, capture.SYN, 0))
			s.down(400, segment(server, "10.0.0.2:4001", 1, 2, capture.SYN|capture.ACK, 0))
		}, 2},
		{"a QUIC connection that moved to another address is none", func(s *scene) {
			s.up(300, datagram("10.0.9.2:4001", server, short, 30))
			s.down(400, datagram(server, "10.0.9.2:4001", short, 30))
		}, 1},
		{"DNS over TCP is none", func(s *scene) {
			s.up(300, segment("10.0.0.2:4001", dns, 1, 0, capture.SYN, 0))
			s.down(400, segment(dns, "10.0.0.2:4001", 1, 2, capture.SYN|capture.ACK, 0))
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h2Scene()
			c.change(s)
			expect(t, s.load(t, "h2"), map[string]float64{"connections": c.want})
		})
	}
}

func TestLateness(t *testing.T) {
	s := &scene{}
	for i := range 200 {
		s.up(float64(i), segment(client, server, uint32(i), 1, capture.ACK, 1))
	}
	for i := range s.records {
		if p := &s.records[i]; p.HasLateness {
			p.Lateness = int64(200-p.ID/2) * 1000 // 1 to 200 us, once each
		}
	}
	expect(t, s.load(t, "h2"), map[string]float64{"late_p50": 0.1, "late_p99": 0.198, "late_max": 0.2})
	expect(t, (&scene{}).load(t, "h2"), map[string]float64{"late_p50": none, "late_p99": none, "late_max": none})
}

func TestRequestsAndPLT(t *testing.T) {
	s := h2Scene()
	s.fetch(412, 500.25, "https://www.example.test/a.png", "h2")
	s.fetch(412, 900, "data:image/png;base64,AAAA", "")
	s.fetch(412, 501, "https://www.example.test/a.png", "h2")
	s.entries[3].FromCache = "memory"
	s.fetch(412, 950, "https://www.example.test/other-page.png", "h2")
	s.entries[4].Page = "page_2"
	s.log[1].Miss = true
	s.log[2].Near = "https://www.example.test/a.png?v=2"
	expect(t, s.load(t, "h2"), map[string]float64{"requests": 2, "plt": 501, "misses": 1, "inexact": 1})
}

// TestUnusedPushes counts what was pushed beyond what the page asked for, by URL: of the
// style sheet, which it asked for once, one of two; the script; and nothing of the image,
// which it asked for.
func TestUnusedPushes(t *testing.T) {
	const style, script, image = "https://www.example.test/style.css", "https://www.example.test/script.js", "https://www.example.test/image.png"
	s := h2Scene()
	for _, url := range []string{style, script, image, style} {
		s.fetch(412, 500, url, "h2")
		s.log[len(s.log)-1].Pushed = true
	}
	s.entries = slices.Delete(s.entries, 4, 5)
	s.entries = slices.Delete(s.entries, 2, 3)
	l := s.load(t, "h2")
	expect(t, l, map[string]float64{"requests": 3, "unused": 2})
	if got := Pages().Violations(l); len(got) > 0 {
		t.Error(got)
	}
	// A response that nobody asked for, and that was not pushed, is one too many.
	l.Server[2].Pushed = false
	if got, want := Pages().Violations(l), (study.Violation{Rule: 4, Detail: "the server answered 1 request that the browser does not report: GET " + script}); len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestUnusedHints counts what the browser asked for on Early Hints beyond what the page did:
// the style sheet, which the page asked for again; the script, for which it did not; and
// nothing of the font, which it asked for once.
func TestUnusedHints(t *testing.T) {
	const style, script, font = "https://www.example.test/style.css", "https://www.example.test/script.js", "https://cdn.example.test/font.woff2"
	s := h2Scene()
	s.log[0].Early = []string{"</style.css>; rel=preload; as=style, <script.js>;rel=preload", "<" + font + ">; rel=preload; as=font; crossorigin", "<%zz>", "none"}
	for _, url := range []string{style, style, script, font} {
		s.fetch(412, 500, url, "h2")
		s.log[len(s.log)-1].BodyBytes = 100
	}
	s.entries = slices.Delete(s.entries, 2, 4)
	l := s.load(t, "h2")
	expect(t, l, map[string]float64{"requests": 3, "unused": 2})
	if got := Pages().Violations(l); len(got) > 0 {
		t.Error(got)
	}
	l.Server[0].Early = l.Server[0].Early[1:]
	if got, want := Pages().Violations(l), "the server answered 2 requests that the browser does not report: GET "+script+", GET "+style; len(got) != 1 || got[0].Detail != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A part that was not captured gives no figures rather than zeros.
func TestNothingCaptured(t *testing.T) {
	l := &evidence.Evidence{Protocol: "h2", ServerLost: -1, Timing: capture.Timing{DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1}}
	for _, m := range Pages().Metrics {
		if got, ok := m.Of(l); ok {
			t.Errorf("%s = %v without any capture", m.Name, got)
		}
	}
}

func TestEveryMetricIsDefined(t *testing.T) {
	for workload, set := range map[string]Set{"pages": Pages(), "uploads": Uploads(), "streams": Streams(), "crowds": Crowds()} {
		names := map[string]bool{}
		for _, m := range set.Metrics {
			if names[m.Name] || m.Name == "" || m.Unit == "" || m.Title == "" || len(m.Definition) < 40 || m.Of == nil {
				t.Errorf("%s: %+v is not fully defined, or a name is taken twice", workload, m)
			}
			names[m.Name] = true
		}
		if len(names) == 0 {
			t.Errorf("%s have no metrics", workload)
		}
	}
}

// Whatever a capture holds, the figures come out or are absent.
func FuzzMetrics(f *testing.F) {
	for _, s := range []*scene{h2Scene(), h3Scene()} {
		file := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}})
		for i := range s.records {
			file = capture.AppendPacket(file, &s.records[i])
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		packets, _ := capture.ReadPcapng(bytes.NewReader(file))
		if packets == nil {
			return
		}
		s := h2Scene()
		l := &evidence.Evidence{Protocol: "h2", Packets: packets, Server: s.log, HAR: &capture.HAR{Log: capture.Log{Entries: s.entries}}}
		Pages().Violations(l)
		for _, m := range Pages().Metrics {
			if v, ok := m.Of(l); ok && m.Unit != "ms" && v < 0 {
				t.Errorf("%s = %v", m.Name, v)
			}
		}
	})
}
