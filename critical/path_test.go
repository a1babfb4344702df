package critical

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"wiretime/capture"
)

const page = "http://www.test/"

// ms makes a step of a scene, in ms.
func ms(from, to float64, p Phase, k Kind, url string) Step {
	return Step{From: at(from) - epoch, To: at(to) - epoch, Phase: p, Kind: k, URL: url, Seen: true}
}

func wantSteps(t *testing.T, p *Path, want ...Step) {
	t.Helper()
	if !slices.Equal(p.Steps, want) {
		for i, s := range p.Steps {
			t.Logf("step %d: %8.3f to %8.3f ms %s, %s, %s, seen %v", i, float64(s.From)/1e6, float64(s.To)/1e6, s.Phase, s.Kind, s.URL, s.Seen)
		}
		t.Errorf("unexpected path, want:\n%v", want)
	}
}

// single returns a page of one document over HTTP/1.1: 50 ms each way, 2 ms to
// serialise a packet of the response, 10 ms of server time. The first SYN and the
// third packet of the response are lost.
func single() *scene {
	s := newScene(1420)
	s.up(0, 50, datagram(asker, dns, question))
	s.down(50, 100, datagram(dns, asker, question))
	s.lose(0, 100, tcp(client, server, 0, capture.SYN, ""))
	s.up(1100, 1150, tcp(client, server, 0, capture.SYN, ""))
	s.down(1150, 1200, tcp(server, client, 0, capture.SYN|capture.ACK, ""))
	s.up(1200, 1250, fromClient(1, "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n"))
	head := "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n"
	n := uint32(len(head))
	body := strings.Repeat("x", 100)
	s.down(1260, 1312, fromServer(1, head+body))
	s.down(1260, 1314, fromServer(1+n+100, body))
	s.lose(1, 1260, fromServer(1+n+200, body))
	s.down(1260, 1316, fromServer(1+n+300, body))
	s.down(1365, 1417, fromServer(1+n+200, body))
	s.entry(page, 0, 1418, capture.Timings{DNS: 100, Connect: 1100, SSL: -1, Send: 0, Wait: 112, Receive: 106})
	return s
}

func TestOneDocumentByHand(t *testing.T) {
	p := single().path(t)
	wantSteps(t, p,
		ms(0, 100, DNS, SetUp, page),
		ms(100, 150, Connect, SetUp, page),
		ms(150, 1150, Connect, Loss, page), // from when the SYN would have arrived
		ms(1150, 1200, Connect, SetUp, page),
		ms(1200, 1300, Wait, Delay, page), // one round trip
		ms(1300, 1310, Wait, Server, page),
		ms(1310, 1312, Wait, Bandwidth, page),
		ms(1312, 1314, Receive, Bandwidth, page),
		ms(1314, 1417, Receive, Loss, page),
		ms(1417, 1418, Receive, Client, page),
		ms(1418, 1420, ClientPhase, Client, ""),
	)
	text, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(text), `"loss recovery":1103000000`) || !strings.Contains(string(text), `"onLoad":1420000000`) {
		t.Errorf("as JSON it is %s, %v", text, err)
	}
}

// TestWithoutPackets falls back on the phases, and marks the steps as not seen.
func TestWithoutPackets(t *testing.T) {
	s := single()
	s.packets.Records = nil
	unseen := func(step Step) Step { step.Seen = false; return step }
	wantSteps(t, s.path(t),
		unseen(ms(0, 100, DNS, SetUp, page)),
		unseen(ms(100, 1200, Connect, SetUp, page)),
		unseen(ms(1200, 1312, Wait, Server, page)),
		unseen(ms(1312, 1418, Receive, Bandwidth, page)),
		ms(1418, 1420, ClientPhase, Client, ""),
	)
}

// twoStreams returns two responses over one HTTP/2 connection. The first one's
// packet is lost; the second one's arrives and has to wait.
func twoStreams(t testing.TB, first string) *scene {
	s := newScene(207)
	s.down(-60, -10, fromServer(1, "")) // shows the least delay
	s.up(0, 50, fromClient(1, http2.ClientPreface+frames(t, func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: block("/a")})
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, EndStream: true, EndHeaders: true, BlockFragment: block("/b")})
	})))
	response := func(stream uint32) string {
		return frames(t, func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, BlockFragment: block("")})
			_ = f.WriteData(stream, true, make([]byte, 100))
		})
	}
	one, two := fromServer(1, response(1)), fromServer(1+uint32(len(response(1))), response(3))
	s.lose(1, 50, one)
	s.down(50, 102, two)
	s.down(155, 207, one)
	s.entry(page+first, 0, 207, capture.Timings{DNS: -1, Connect: -1, SSL: -1, Wait: 207})
	return s
}

func TestHeadOfLineBlockingByHand(t *testing.T) {
	wantSteps(t, twoStreams(t, "b").path(t),
		ms(0, 100, Wait, Delay, page+"b"),
		ms(100, 102, Wait, Bandwidth, page+"b"),
		ms(102, 207, Wait, HeadOfLine, page+"b"),
	)
	wantSteps(t, twoStreams(t, "a").path(t),
		ms(0, 100, Wait, Delay, page+"a"),
		ms(100, 207, Wait, Loss, page+"a"),
	)
}

// TestQueueAndWindow loads a response whose first packet waits behind one of
// another connection, and whose rest waits for an acknowledgement.
func TestQueueAndWindow(t *testing.T) {
	s := newScene(222)
	s.down(-60, -10, fromServer(1, ""))
	s.up(0, 50, fromClient(1, "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n"))
	s.down(48, 108, tcp("10.0.1.3:80", client, 1, capture.ACK, "other"))
	head := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
	s.down(50, 110, fromServer(1, head+strings.Repeat("x", 50)))
	s.down(170, 222, fromServer(1+uint32(len(head))+50, strings.Repeat("x", 50)))
	s.entry(page, 0, 222, capture.Timings{DNS: -1, Connect: -1, SSL: -1, Wait: 222})
	wantSteps(t, s.path(t),
		ms(0, 100, Wait, Delay, page),
		ms(100, 108, Wait, Queueing, page),
		ms(108, 110, Wait, Bandwidth, page),
		// Until the server can know that the first packet has arrived.
		ms(110, 210, Wait, Window, page),
		ms(210, 220, Wait, Server, page),
		ms(220, 222, Wait, Bandwidth, page),
	)
}

// TestChain follows causes without packets.
func TestChain(t *testing.T) {
	const none = -1.0
	request := func(wait, receive float64) capture.Timings {
		return capture.Timings{DNS: none, Connect: none, SSL: none, Wait: wait, Receive: receive}
	}
	links := func(s *scene) []string {
		var list []string
		for _, step := range s.path(t).Steps {
			name := string(step.Phase) + " " + strings.TrimPrefix(step.URL, page)
			if len(list) == 0 || list[len(list)-1] != name {
				list = append(list, name)
			}
		}
		return list
	}
	tests := []struct {
		name string
		make func() *scene
		want []string
	}{
		{"a resource requested while its initiator arrived", func() *scene {
			s := newScene(200)
			s.entry(page+"doc", 0, 150, request(50, 100))
			s.entry(page+"a", 80, 200, request(100, 20)).Initiator.URL = page + "doc#top"
			return s
		}, []string{"wait doc", "receive doc", "wait a", "receive a"}},
		{"time between a script and its request", func() *scene {
			s := newScene(300)
			s.entry(page+"doc", 0, 50, request(50, 0))
			s.entry(page+"s", 50, 100, request(50, 0)).Initiator.URL = page + "doc"
			s.entry(page+"a", 130, 290, request(160, 0)).Initiator.URL = page + "s"
			return s
		}, []string{"wait doc", "wait s", "client a", "wait a", "client "}},
		{"a parser that waited for a style sheet", func() *scene {
			s := newScene(300)
			s.entry(page+"doc", 0, 50, request(50, 0))
			s.entry(page+"css", 50, 120, request(70, 0)).ResourceType = "stylesheet"
			s.entry(page+"a", 120, 300, request(180, 0)).Initiator.URL = page + "doc"
			return s
		}, []string{"wait doc", "wait css", "wait a"}},
		{"a redirect", func() *scene {
			s := newScene(200)
			s.entry(page+"old", 0, 100, request(100, 0)).Response.RedirectURL = "/new"
			s.entry(page+"new", 100, 200, request(100, 0))
			return s
		}, []string{"wait old", "wait new"}},
		{"a request that waited for a connection", func() *scene {
			s := newScene(300)
			add := func(name string, from, to float64, t capture.Timings) {
				e := s.entry(page+name, from, to, t)
				e.Connection, e.Protocol, e.Initiator.URL = "7", "http/1.1", page+"doc"
			}
			add("doc", 0, 50, request(50, 0))
			add("a", 50, 150, request(100, 0))
			add("b", 50, 300, request(100, 50))
			return s
		}, []string{"wait doc", "wait a", "wait b", "receive b"}},
		{"a request that waited for a connection to be opened", func() *scene {
			s := newScene(300)
			t := request(50, 0)
			t.Connect = 100
			s.entry(page+"a", 0, 150, t).Connection = "7"
			s.entry(page+"b", 20, 300, request(200, 0)).Connection = "7"
			return s
		}, []string{"connect a", "wait b"}},
		{"a request that does not delay onLoad", func() *scene {
			s := newScene(100)
			s.entry(page+"doc", 0, 60, request(60, 0))
			s.entry(page+"api", 60, 90, request(30, 0)).ResourceType = "fetch"
			return s
		}, []string{"wait doc", "client "}},
		{"a page without requests", func() *scene { return newScene(5) }, []string{"client "}},
		{"requests that name each other as initiators", func() *scene {
			s := newScene(200)
			s.entry(page+"a", 100, 200, request(100, 0)).Initiator.URL = page + "b"
			s.entry(page+"b", 100, 200, request(100, 0)).Initiator.URL = page + "a"
			return s
		}, []string{"client a", "wait a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := links(test.make()); !slices.Equal(got, test.want) {
				t.Errorf("the chain is %q, want %q", got, test.want)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		sums map[Kind]int64 // ms
		want string
	}{
		{map[Kind]int64{Loss: 1103, SetUp: 200, Delay: 100}, "The biggest cause is lost packets, 1103 ms of 1403 ms (79 %), all of it loss recovery."},
		{map[Kind]int64{Bandwidth: 100, Loss: 60, HeadOfLine: 90}, "The biggest cause is lost packets, 150 ms of 250 ms (60 %), 60 ms of it loss recovery and 90 ms head-of-line blocking."},
		{map[Kind]int64{Bandwidth: 100, HeadOfLine: 90}, "The biggest cause is bandwidth, 100 ms of 190 ms (53 %). Then there are lost packets, 90 ms of 190 ms (47 %), all of it head-of-line blocking."},
		{map[Kind]int64{SetUp: 75, Window: 25}, "The biggest cause is set-up, 75 ms of 100 ms (75 %); after what the distance costs, it is window, 25 ms of 100 ms (25 %)."},
		{map[Kind]int64{Delay: 75, Loss: 25}, "The biggest cause is path delay, 75 ms of 100 ms (75 %); after what the distance costs, it is lost packets, 25 ms of 100 ms (25 %), all of it loss recovery."},
		{map[Kind]int64{SetUp: 100}, "The biggest cause is set-up, 100 ms of 100 ms (100 %)."},
	}
	for _, test := range tests {
		p := &Path{}
		for k, sum := range test.sums {
			p.Steps = append(p.Steps, Step{From: p.OnLoad, To: p.OnLoad + sum*1e6, Kind: k})
			p.OnLoad += sum * 1e6
		}
		if got := p.Verdict(); got != test.want {
			t.Errorf("%v: %q, want %q", test.sums, got, test.want)
		}
	}
}

// TestEarlyData loads an HTTP/3 response whose request could not be read.
func TestEarlyData(t *testing.T) {
	l := &line{least: 50}
	p := &packet{line: l, sent: 1060, begins: 1060, served: 1062, arrived: 1112}
	answer := &lane{direction: down}
	answer.add(p, 0, 100)
	c := &connection{packets: []*packet{p}, lanes: []*lane{answer}}
	x := &exchange{connection: c, parts: [2][]part{nil, {{span{0, never}, true}}}}
	x.lanes[down], c.exchanges = answer, []*exchange{x}
	c.finish()
	e := &capture.Entry{Started: time.Unix(0, 1000), Time: 112e-6, Protocol: "h3", Timings: capture.Timings{Wait: 112e-6}}
	r := newResource(e, e.Started)
	found := (&traffic{connections: []*connection{c}}).match([]*chain{{resources: []*resource{r}}})
	if found[r] != x || x.view().begun != 1000 || x.view().kind(1000) != Delay || x.view().kind(1110) != Bandwidth {
		t.Errorf("found %+v", found[r])
	}
}

// TestCachedScriptsOfOneMoment walks back from scripts that came from a cache at the same moment, and
// finds that the document decided, not the browser.
func TestCachedScriptsOfOneMoment(t *testing.T) {
	s := newScene(160.1)
	s.entry(page, 0, 160, capture.Timings{DNS: -1, Connect: -1, SSL: -1, Wait: 160})
	cached := func(url, by string, at float64) {
		e := s.entry(page+url, at, at, capture.Timings{DNS: -1, Connect: -1, SSL: -1})
		e.FromCache, e.ResourceType, e.Initiator = "memory", "script", capture.Initiator{Type: "script", URL: page + by}
	}
	cached("first.js", "", 160.003)
	cached("one.js", "first.js", 160.01)
	cached("other.js", "first.js", 160.01)
	p := s.path(t)
	if first := p.Steps[0]; first.Phase != Wait || first.URL != page || first.To-first.From != 160_000_000 {
		t.Errorf("the path begins with %+v, want the document's 160 ms", first)
	}
}
