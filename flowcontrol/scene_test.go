package flowcontrol

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/spdy"
)

// A scene is a connection in the clear over a link of 1,000 octets a ms and 50 ms in each direction. Times are ms.
type scene struct {
	packets  capture.Packets
	free     [2]float64 // when the link has served what was sent
	next     [2]uint32  // sequence numbers
	received [2]uint32  // what each end has acknowledged
	window   [2]uint16  // that each end announces
	ids      uint64
}

const (
	perMS = 1000.0
	delay = 50.0
	mss   = 1000 // octets of payload
)

var ends = [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.2:4000"), netip.MustParseAddrPort("10.0.1.2:80")}

func newScene() *scene {
	s := &scene{window: [2]uint16{65535, 65535}}
	s.packets.Interfaces = []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}
	s.next = [2]uint32{100, 900}
	s.packet(Client, 0, capture.SYN, nil, false)
	s.packet(Server, delay, capture.SYN|capture.ACK, nil, false)
	return s
}

// packet has a side send a packet, and returns when it arrives.
func (s *scene) packet(side Side, at float64, flags capture.TCPFlags, payload []byte, lost bool) float64 {
	be := binary.BigEndian
	b := make([]byte, 40, 40+len(payload))
	b[0], b[9], b[32], b[33] = 0x45, capture.TCP, 5<<4, byte(flags)
	be.PutUint16(b[2:], uint16(40+len(payload)))
	from, to := ends[side], ends[1-side]
	copy(b[12:], from.Addr().AsSlice())
	copy(b[16:], to.Addr().AsSlice())
	be.PutUint16(b[20:], from.Port())
	be.PutUint16(b[22:], to.Port())
	be.PutUint32(b[24:], s.next[side])
	be.PutUint32(b[28:], s.received[side])
	be.PutUint16(b[34:], s.window[side])
	b = append(b, payload...)
	s.next[side] += uint32(len(payload))
	if flags.Has(capture.SYN) {
		s.next[side]++
	}
	s.ids++
	record := capture.PacketRecord{Interface: int(side), Time: int64(at * 1e6), ID: s.ids, Length: len(b), Data: b}
	if lost {
		record.Comment = capture.DroppedPrefix + "random loss"
		s.packets.Records = append(s.packets.Records, record)
		return 0
	}
	s.packets.Records = append(s.packets.Records, record)
	s.free[side] = max(s.free[side], at) + float64(len(b))/perMS
	arrives := s.free[side] + delay
	record.Interface, record.Inbound, record.Time = int(1-side), true, int64(arrives*1e6)
	s.packets.Records = append(s.packets.Records, record)
	return arrives
}

// send has a side send octets at once, and returns when the last of them arrive.
func (s *scene) send(side Side, at float64, octets []byte) (arrives float64) {
	for len(octets) > 0 {
		n := min(len(octets), mss)
		arrives = s.packet(side, at, capture.ACK, octets[:n], false)
		octets = octets[n:]
	}
	return arrives
}

// acknowledge has the client acknowledge all that the server has sent, and returns when that arrives.
func (s *scene) acknowledge(at float64) float64 {
	s.received[Client] = s.next[Server]
	return s.packet(Client, at, capture.ACK, nil, false)
}

// read returns the scene's only connection, after a look at what it adds up to.
func (s *scene) read(t *testing.T) *Connection {
	t.Helper()
	list := Read(&evidence.Evidence{Packets: &s.packets})
	if len(list) != 1 {
		t.Fatalf("%d connections, want 1", len(list))
	}
	for _, transfer := range list[0].Transfers {
		checkWhole(t, transfer)
	}
	return list[0]
}

// checkWhole fails the test unless what held a sender is a partition of its transfer.
func checkWhole(t *testing.T, transfer *Transfer) {
	t.Helper()
	at := transfer.From
	for i, h := range transfer.Held {
		if h.From != at || h.To <= h.From || i > 0 && transfer.Held[i-1].Reason == h.Reason {
			t.Fatalf("stretch %d of %v is %v", i, transfer.Held, h)
		}
		at = h.To
	}
	if at != transfer.To {
		t.Fatalf("the stretches end at %d, the transfer at %d", at, transfer.To)
	}
}

// h2 returns the octets of HTTP/2 frames.
func h2(write func(*http2.Framer) error) []byte {
	var b bytes.Buffer
	if err := write(http2.NewFramer(&b, nil)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// asks returns what a client of HTTP/2 sends first: its settings, and a request on stream 1.
func asks(settings ...http2.Setting) []byte {
	return slices.Concat([]byte(http2.ClientPreface), h2(func(f *http2.Framer) error {
		return f.WriteSettings(settings...)
	}), request(1, "GET", true))
}

// request returns the HEADERS frame of a request for /big.
func request(stream uint32, method string, end bool) []byte {
	return h2(func(f *http2.Framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header(":method", method, ":scheme", "http", ":authority", "a.test", ":path", "/big"), EndStream: end, EndHeaders: true})
	})
}

func header(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

func data(octets int, end bool) []byte { return dataOn(1, octets, end) }

func dataOn(stream uint32, octets int, end bool) []byte {
	return h2(func(f *http2.Framer) error { return f.WriteData(stream, end, make([]byte, octets)) })
}

func update(stream, delta uint32) []byte {
	return h2(func(f *http2.Framer) error { return f.WriteWindowUpdate(stream, delta) })
}

func spdyFrames(t *testing.T, frames ...spdy.Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	framer := spdy.NewFramer(spdy.V31, &b, nil, spdy.CompressSafe)
	for _, f := range frames {
		if err := framer.WriteFrame(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
