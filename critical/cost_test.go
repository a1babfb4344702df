package critical

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/costtest"
	"wiretime/evidence"
)

// ofALoad is what an octet of a load's HAR and capture may cost.
var ofALoad = costtest.Limit{Fixed: 32 << 20, PerOctet: 512, Time: 2 * time.Microsecond}

// octets returns how large the files of a scene are.
func (s *scene) octets(t *testing.T) int {
	t.Helper()
	har, err := json.Marshal(&s.har)
	if err != nil {
		t.Fatal(err)
	}
	file := capture.AppendHeader(nil, s.packets.Header)
	for i := range s.packets.Records {
		file = capture.AppendPacket(file, &s.packets.Records[i])
	}
	return len(har) + len(file)
}

// requests adds n requests, each of which began when the one before it, its initiator, had ended.
func (s *scene) requests(n int, url func(i int) string, change func(i int, e *capture.Entry)) {
	step := s.har.Log.Pages[0].Timings.OnLoad / float64(n)
	for i := range n {
		e := s.entry(url(i), float64(i)*step, float64(i+1)*step, capture.Timings{Send: step / 4, Wait: step / 2, Receive: step / 4})
		e.Initiator.URL = url(i - 1)
		if change != nil {
			change(i, e)
		}
	}
}

// upload sends a text to the server.
func (s *scene) upload(text string) {
	const size = 50_000
	for from := 0; from < len(text); from += size {
		s.up(0, 50, fromClient(uint32(1+from), text[from:min(len(text), from+size)]))
	}
}

// TestCostOfHostileLoads finds the paths of loads whose parts have very many elements, each of which has to be looked up
// among the others.
func TestCostOfHostileLoads(t *testing.T) {
	const onLoad = 100_000 // ms
	number := func(i int) string { return fmt.Sprint(page, i) }
	same := func(int) string { return page }
	for _, c := range []struct {
		name string
		load func(s *scene)
	}{
		{"requests without packets of their own, and late packets", func(s *scene) {
			s.requests(10_000, number, nil)
			for i := range 10_000 {
				s.down(float64(i*10), float64(i*10)+5, datagram("10.0.9.9:9", client, "x"))
				last := &s.packets.Records[len(s.packets.Records)-1]
				last.Lateness, last.HasLateness = 1000, true
			}
		}},
		{"a chain of initiators", func(s *scene) { s.requests(20_000, number, nil) }},
		{"a chain of redirects", func(s *scene) {
			s.requests(20_000, number, func(i int, e *capture.Entry) { e.Response.RedirectURL = number(i + 1) })
		}},
		{"requests held back on one connection", func(s *scene) {
			s.requests(20_000, number, func(i int, e *capture.Entry) {
				e.Protocol, e.Connection = []string{"http/1.1", "h2"}[i/10_000], "1"
				e.Timings = capture.Timings{Connect: e.Time / 4, Send: e.Time / 4}
			})
		}},
		{"requests of one URL, pipelined", func(s *scene) {
			s.requests(20_000, same, nil)
			position := uint32(1)
			for range 100 {
				text := strings.Repeat("GET / HTTP/1.1\r\nHost: www.test\r\n\r\n", 200)
				s.up(100, 150, fromClient(position, text))
				position += uint32(len(text))
			}
		}},
		{"requests on one connection with losses and many late packets", func(s *scene) {
			text := "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n"
			s.requests(10_000, same, nil)
			for i := range 10_000 {
				sent, segment := float64(i*10), fromClient(uint32(1+i*len(text)), text)
				s.lose(0, sent, segment)
				s.up(sent+1, onLoad, segment)
				last := &s.packets.Records[len(s.packets.Records)-1]
				last.Lateness, last.HasLateness = 1000, true
			}
		}},
		{"packets of QUIC from very many ports", func(s *scene) {
			for i := range 50_000 {
				s.lose(0, float64(i), datagram(fmt.Sprintf("10.0.0.%d:%d", 2+i/50_000, 1+i%50_000), serverUDP, "\x40x"))
			}
		}},
		{"dial attempts that are not answered, and blocked requests", func(s *scene) {
			for i := range 20_000 {
				segment := capturetest.Segment(fmt.Sprintf("10.0.0.2:%d", 10_000+i), server, 1, 0, capture.SYN, nil, nil)
				s.lose(0, 0.001*float64(i), segment)
				s.up(onLoad-1, onLoad, segment)
			}
			text := "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n"
			for i := range 10_000 {
				s.up(float64(i*10)+5, float64(i*10)+6, fromClient(uint32(1+i*len(text)), text))
			}
			s.requests(10_000, same, func(_ int, e *capture.Entry) { e.Timings = capture.Timings{Blocked: e.Time / 2, Send: e.Time / 2} })
		}},
		{"an access link for each packet", func(s *scene) {
			s.requests(1, same, nil)
			text := "POST / HTTP/1.1\r\nHost: www.test\r\nContent-Length: 10000\r\n\r\n"
			s.up(0, 1, fromClient(1, text))
			for i := range 10_000 {
				s.packets.Interfaces = append(s.packets.Interfaces, capture.Interface{Name: "client.x"})
				s.pass(2+i, 1, float64(i*10), float64(i*10)+5, fromClient(uint32(1+len(text)+i), "x"))
			}
		}},
		{"a long URL that HPACK repeats", func(s *scene) {
			s.requests(1, same, nil)
			path := "/" + strings.Repeat("x", 50_000)
			var fields wire
			e := hpack.NewEncoder(&fields)
			e.SetMaxDynamicTableSizeLimit(1 << 16)
			e.SetMaxDynamicTableSize(1 << 16)
			var text strings.Builder
			text.WriteString(http2.ClientPreface)
			for i := range 20_000 {
				fields = fields[:0]
				for _, f := range [][2]string{{":scheme", "http"}, {":authority", fmt.Sprint(i)}, {":path", path}} {
					_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: f[0] == ":authority"})
				}
				text.WriteString(frames(t, func(f *http2.Framer) {
					_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: fields, EndHeaders: true})
				}))
			}
			s.upload(text.String())
		}},
		{"a long table of HPACK that each field moves", func(s *scene) {
			s.requests(1, same, nil)
			var fields wire
			e := hpack.NewEncoder(&fields)
			e.SetMaxDynamicTableSizeLimit(1 << 20)
			e.SetMaxDynamicTableSize(1 << 20)
			_ = e.WriteField(hpack.HeaderField{Name: ":path", Value: "/"})
			text := http2.ClientPreface
			for range 40 {
				fields = append(fields, strings.Repeat("\x40\x00\x00", 5000)...)
				text += frames(t, func(f *http2.Framer) {
					_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields, EndHeaders: true})
				})
				fields = fields[:0]
			}
			s.upload(text)
		}},
		{"a long URL of a request with very many steps", func(s *scene) {
			url := page + strings.Repeat("x", 1<<20)
			s.entry(url, 0, onLoad, capture.Timings{Receive: onLoad})
			s.upload("GET " + url + " HTTP/1.1\r\nHost: www.test\r\n\r\n")
			s.down(100, 150, fromServer(1, "HTTP/1.1 200 OK\r\n\r\n"))
			for i := range 10_000 {
				s.down(float64(i*10), float64(i*10)+5+3*float64(i%2), fromServer(20+uint32(i), "x"))
			}
		}},
		{"pages one after the other", func(s *scene) {
			s.har.Log.Pages = nil
			for i := range 5000 {
				id := fmt.Sprint(i)
				s.har.Log.Pages = append(s.har.Log.Pages, capture.Page{ID: id, Started: time.Unix(0, at(float64(i*20))), Timings: capture.PageTimings{OnLoad: 20}})
				s.entry(number(i), float64(i*20), float64(i*20)+10, capture.Timings{Wait: 10}).Page = id
			}
			for i := range 10_000 {
				s.down(float64(i*10), float64(i*10)+5, datagram(serverUDP, clientUDP, "x"))
				last := &s.packets.Records[len(s.packets.Records)-1]
				last.Lateness, last.HasLateness = 1000, true
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(onLoad)
			c.load(s)
			n := s.octets(t)
			costtest.Check(t, n, ofALoad, func() {
				text, err := json.Marshal(Find(&evidence.Evidence{HAR: &s.har, Packets: &s.packets}))
				if err != nil || len(text) > 64*n {
					t.Errorf("%d octets of JSON, %v", len(text), err)
				}
			})
		})
	}
}
