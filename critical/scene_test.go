package critical

import (
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/evidence"
)

// epoch is 0 ms of every scene, in ns since the Unix epoch.
const epoch = 1_700_000_000_000_000_000

const (
	client = "10.0.0.2:4000"
	server = "10.0.1.2:80"
	asker  = "10.0.0.2:5353"
	dns    = "10.0.1.1:53"
)

// scene makes a load packet by packet. Times are ms since navigationStart.
type scene struct {
	packets capture.Packets
	har     capture.HAR
	next    uint64
}

func newScene(onLoad float64) *scene {
	s := &scene{}
	s.packets.Interfaces = []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}
	s.har.Log.Pages = []capture.Page{{ID: "page_1", Started: time.Unix(0, epoch), Timings: capture.PageTimings{OnLoad: onLoad}}}
	return s
}

func (s *scene) up(sent, arrived float64, packet []byte)   { s.pass(0, 1, sent, arrived, packet) }
func (s *scene) down(sent, arrived float64, packet []byte) { s.pass(1, 0, sent, arrived, packet) }

func (s *scene) pass(from, to int, sent, arrived float64, packet []byte) {
	s.next++
	s.packets.Records = append(s.packets.Records,
		capture.PacketRecord{Interface: from, Time: at(sent), ID: s.next, Data: packet},
		capture.PacketRecord{Interface: to, Time: at(arrived), ID: s.next, Inbound: true, Data: packet})
}

// lose sends a packet that is dropped, from the client (0) or the server (1).
func (s *scene) lose(from int, sent float64, packet []byte) {
	s.next++
	s.packets.Records = append(s.packets.Records, capture.PacketRecord{
		Interface: from, Time: at(sent), ID: s.next, Comment: capture.DroppedPrefix + "random loss", Data: packet,
	})
}

// entry adds a request to the HAR. The time that timings leave is Blocked.
func (s *scene) entry(url string, from, to float64, t capture.Timings) *capture.Entry {
	s.har.Log.Entries = append(s.har.Log.Entries, capture.Entry{
		Page: "page_1", Started: time.Unix(0, at(from)), Time: to - from, Timings: t,
		Request: capture.Request{Method: "GET", URL: url}, Response: capture.Response{Status: 200},
	})
	return &s.har.Log.Entries[len(s.har.Log.Entries)-1]
}

func (s *scene) path(t *testing.T) *Path {
	t.Helper()
	paths := Find(&evidence.Evidence{HAR: &s.har, Packets: &s.packets})
	if len(paths) != 1 {
		t.Fatalf("%d paths, want 1", len(paths))
	}
	checkWhole(t, paths[0])
	return paths[0]
}

// checkWhole checks that the steps of a path are a partition of its time.
func checkWhole(t *testing.T, p *Path) {
	t.Helper()
	end, total := int64(0), int64(0)
	for i, s := range p.Steps {
		if s.From != end || s.To <= s.From || s.Kind >= kinds {
			t.Fatalf("step %d is %+v; the one before ends at %d", i, s, end)
		}
		end = s.To
	}
	for _, sum := range p.Sums() {
		total += sum
	}
	if end != p.OnLoad || total != p.OnLoad {
		t.Fatalf("the steps end at %d and add up to %d, want onLoad, %d", end, total, p.OnLoad)
	}
}

// breakdown breaks the scene's path down, and checks that it is the path that Find finds.
func (s *scene) breakdown(t *testing.T) *Breakdown {
	t.Helper()
	all := BreakDown(&evidence.Evidence{HAR: &s.har, Packets: &s.packets})
	if len(all) != 1 {
		t.Fatalf("%d breakdowns, want 1", len(all))
	}
	checkBreakdown(t, s.path(t), all[0])
	return all[0]
}

func checkBreakdown(t *testing.T, p *Path, b *Breakdown) {
	t.Helper()
	var sums [kinds]int64
	for _, s := range b.Shares {
		if s.Time <= 0 || s.Octets < 0 {
			t.Errorf("share %+v", s)
		}
		sums[s.Kind] += s.Time
	}
	if b.OnLoad != p.OnLoad || sums != p.Sums() {
		t.Errorf("the breakdown has %v of %d ns, the path %v of %d ns", sums, b.OnLoad, p.Sums(), p.OnLoad)
	}
}

func at(ms float64) int64 { return epoch + int64(ms*1e6) }

// tcp returns a TCP segment. Its sequence numbers wrap soon.
func tcp(source, destination string, position uint32, flags capture.TCPFlags, payload string) []byte {
	return capturetest.Segment(source, destination, 0xfffffff0+position, 0, flags, nil, []byte(payload))
}

func fromClient(position uint32, payload string) []byte {
	return tcp(client, server, position, capture.ACK, payload)
}

func fromServer(position uint32, payload string) []byte {
	return tcp(server, client, position, capture.ACK, payload)
}

func datagram(source, destination, payload string) []byte {
	return capturetest.Datagram(source, destination, []byte(payload))
}

// question is a DNS message that queries the address of www.test, or answers.
const question = "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x04test\x00\x00\x01\x00\x01"

// frames returns the HTTP/2 frames that write writes.
func frames(t testing.TB, write func(f *http2.Framer)) string {
	t.Helper()
	var b wire
	write(http2.NewFramer(&b, nil))
	return string(b)
}

type wire []byte

func (w *wire) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

// block returns the fields of a request, or of a response if there is no path,
// as a field block without a dynamic table.
func block(path string) []byte {
	var b wire
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	fields := [][2]string{{":status", "200"}}
	if path != "" {
		fields = [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "www.test"}, {":path", path}}
	}
	for _, f := range fields {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return b
}
