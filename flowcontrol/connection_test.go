package flowcontrol

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/spdy"
)

// lines describes events for comparison: who, which stream, what, and what the windows have left.
func lines(events []Event) []string {
	var list []string
	for i := range events {
		e := &events[i]
		line := fmt.Sprintf("%s %d %s", e.Sender, e.Stream, e)
		for _, left := range []int64{e.StreamLeft, e.SessionLeft} {
			if left != NoWindow {
				line += fmt.Sprintf(" > %d", left)
			}
		}
		list = append(list, line)
	}
	return list
}

// TestSequence reads what both ends said, with the windows that the sender of the DATA has left.
func TestSequence(t *testing.T) {
	h2ByDefault, at := begin()
	at = h2ByDefault.send(Server, at, slices.Concat(h2(func(f *http2.Framer) error { return f.WriteSettings() }), data(30_000, false), data(10_000, false)))
	at = h2ByDefault.send(Client, at, slices.Concat(h2(func(f *http2.Framer) error { return f.WriteSettingsAck() }), update(1, 20_000), update(0, 40_000)))
	h2ByDefault.send(Server, at, slices.Concat(data(5000, true), h2(func(f *http2.Framer) error { return f.WriteGoAway(1, http2.ErrCodeNo, nil) })))

	spdyByDefault := newScene()
	at = spdyByDefault.send(Client, 2*delay, spdyFrames(t,
		&spdy.Settings{Entries: []spdy.Setting{{ID: spdy.SettingInitialWindowSize, Value: 10 << 20}}},
		&spdy.SynStream{StreamID: 1, Fin: true, Fields: []spdy.Field{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":host", Value: "a.test"}, {Name: ":path", Value: "/"}, {Name: ":version", Value: "HTTP/1.1"}}}))
	at = spdyByDefault.send(Server, at, spdyFrames(t,
		&spdy.SynReply{StreamID: 1, Fields: []spdy.Field{{Name: ":status", Value: "200"}, {Name: ":version", Value: "HTTP/1.1"}}},
		&spdy.Data{StreamID: 1, Payload: make([]byte, 40_000)}))
	at = spdyByDefault.send(Client, at, spdyFrames(t, &spdy.WindowUpdate{Delta: 40_000}, &spdy.WindowUpdate{StreamID: 1, Delta: 40_000}))
	spdyByDefault.send(Server, at, spdyFrames(t, &spdy.Data{StreamID: 1, Payload: make([]byte, 100)}, &spdy.RstStream{StreamID: 1, Status: spdy.FlowControlError}))

	// A client that heard of the server's table begins its second block with the table's size, and names what both requests share by an
	// index into it.
	tables := newScene()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	ask := func(stream uint32, path string) []byte {
		block.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "www.page.test"}, {":path", path}} {
			must(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
		}
		return h2(func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		})
	}
	at = tables.send(Client, 2*delay, slices.Concat([]byte(http2.ClientPreface), h2(func(f *http2.Framer) error { return f.WriteSettings() }), ask(1, "/")))
	at = tables.send(Server, at, h2(func(f *http2.Framer) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 4096})
	}))
	encoder.SetMaxDynamicTableSize(4096)
	tables.send(Client, at, ask(3, "/next"))

	overflow, at := begin()
	at = overflow.send(Server, at, data(10, false))
	overflow.send(Client, at, slices.Concat(update(1, maxWindow), update(0, maxWindow)))

	zero, at := begin()
	at = zero.send(Server, at, data(10, false))
	zero.send(Client, at, append(make([]byte, 0, 26), "\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x07"...))

	for _, c := range []struct {
		name   string
		scene  *scene
		lines  []string
		unseen string
	}{
		{"HTTP/2", h2ByDefault, []string{
			"client 0 SETTINGS",
			"client 1 HEADERS FIN GET http://a.test/big",
			"server 0 SETTINGS",
			"server 1 DATA 40000 octets in 2 frames > 25535 > 25535",
			"client 0 SETTINGS ACK",
			"client 1 WINDOW_UPDATE +20000 > 45535",
			"client 0 WINDOW_UPDATE +40000 > 65535",
			"server 1 DATA 5000 octets FIN > 40535 > 60535",
			"server 0 GOAWAY last stream 1, NO_ERROR",
		}, ""},
		{"SPDY", spdyByDefault, []string{
			"client 0 SETTINGS INITIAL_WINDOW_SIZE 10485760",
			"client 1 SYN_STREAM FIN GET http://a.test/",
			"server 1 SYN_REPLY 200",
			"server 1 DATA 40000 octets > 10445760 > 25536",
			"client 0 WINDOW_UPDATE +40000 > 65536",
			"client 1 WINDOW_UPDATE +40000 > 10485760",
			"server 1 DATA 100 octets > 10485660 > 65436",
			"server 1 RST_STREAM FLOW_CONTROL_ERROR",
		}, ""},
		{"HTTP/2's table of fields", tables, []string{
			"client 0 SETTINGS",
			"client 1 HEADERS FIN GET https://www.page.test/",
			"server 0 SETTINGS HEADER_TABLE_SIZE 4096",
			"client 3 HEADERS FIN GET https://www.page.test/next",
		}, ""},
		{"updates that overflow", overflow, []string{
			"client 0 SETTINGS",
			"client 1 HEADERS FIN GET http://a.test/big",
			"server 1 DATA 10 octets > 65525 > 65525",
			"client 1 WINDOW_UPDATE +2147483647 (beyond 2^31-1, which the protocol forbids) > 2147549172",
			"client 0 WINDOW_UPDATE +2147483647 (beyond 2^31-1, which the protocol forbids) > 2147549172",
		}, ""},
		{"an update by 0", zero, []string{
			"client 0 SETTINGS",
			"client 1 HEADERS FIN GET http://a.test/big",
			"server 1 DATA 10 octets > 65525 > 65525",
			"client 1 INVALID stream error: stream ID 1; PROTOCOL_ERROR",
			"client 1 WINDOW_UPDATE +7 > 65532",
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.scene.read(t)
			if !slices.Equal(lines(got.Events), c.lines) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines(got.Events), "\n"), strings.Join(c.lines, "\n"))
			}
			if strings.Join(got.Unseen, "; ") != c.unseen {
				t.Errorf("unseen: %q, want %q", got.Unseen, c.unseen)
			}
		})
	}
}

// TestReceiveWindow reads TCP's windows as they are announced.
func TestReceiveWindow(t *testing.T) {
	s, at := begin()
	s.window[Client] = 5000
	at = s.acknowledge(at)
	s.send(Server, at, data(4000, false))
	s.send(Server, at+10, data(100, true))
	points := s.read(t).Transfers[0].Points
	if p := points[0]; p.Receive != 5000 || p.Flight != 4009 || p.Stream != 61_535 || p.Session != 61_535 {
		t.Errorf("%+v", p)
	}
}
