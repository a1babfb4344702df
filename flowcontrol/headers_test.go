package flowcontrol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/quic-go/qpack"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wiretime/evidence"
	"wiretime/protection"
	"wiretime/spdy"
)

// What follows is one request and its response in the plain form, and their fields in SPDY's and HTTP/2's.
const (
	plainRequest  = "GET /a?b HTTP/1.1\r\nHost: www.page.test\r\nCookie: one\r\nCookie: two\r\n\r\n"
	plainResponse = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
)

func spdyFields() (request, response []spdy.Field) {
	request = []spdy.Field{{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/a?b"}, {Name: ":version", Value: "HTTP/1.1"},
		{Name: ":host", Value: "www.page.test"}, {Name: ":scheme", Value: "https"}, {Name: "cookie", Value: "one\x00two"}}
	response = []spdy.Field{{Name: ":status", Value: "200 OK"}, {Name: ":version", Value: "HTTP/1.1"}, {Name: "content-length", Value: "3"}}
	return request, response
}

func http2Fields() (request, response [][2]string) {
	request = [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "www.page.test"}, {":path", "/a?b"}, {"cookie", "one"}, {"cookie", "two"}}
	response = [][2]string{{":status", "200"}, {"content-length", "3"}}
	return request, response
}

func check(t *testing.T, got evidence.HeaderSum, sections, plain, least, most int) {
	t.Helper()
	if got.Sections != sections || got.Plain != int64(plain) || got.Sent < int64(least) || got.Sent > int64(most) {
		t.Errorf("%+v, want %d sections, plain %d octets, and %d to %d as sent", got, sections, plain, least, most)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHeadersOfHTTP1 counts heads only, not bodies, and interim responses too.
func TestHeadersOfHTTP1(t *testing.T) {
	h := &headers{}
	early := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	h.readHTTP1([2][]byte{
		[]byte(plainRequest + plainRequest + "GET /incomp"),
		[]byte(early + plainResponse + "abc" + plainResponse + "abc" + "HTTP/1.1 200"),
	})
	check(t, h.sums[Client], 2, 2*len(plainRequest), 2*len(plainRequest), 2*len(plainRequest))
	all := len(early) + 2*len(plainResponse)
	check(t, h.sums[Server], 3, all, all, all)
}

// TestHeadersOfSPDY: a second equal block takes a few octets, and frames without fields do not count.
func TestHeadersOfSPDY(t *testing.T) {
	request, response := spdyFields()
	for _, version := range []spdy.Version{spdy.V2, spdy.V31} {
		t.Run(strings.ReplaceAll(version.String(), "/", "-"), func(t *testing.T) {
			var up, down bytes.Buffer
			client, server := spdy.NewFramer(version, &up, nil, spdy.CompressSafe), spdy.NewFramer(version, &down, nil, spdy.CompressSafe)
			before := 0
			for stream := uint32(1); stream < 5; stream += 2 {
				before = up.Len()
				must(t, client.WriteFrame(&spdy.SynStream{StreamID: stream, Fin: true, Fields: request}))
				must(t, client.WriteFrame(&spdy.Ping{ID: stream}))
				must(t, server.WriteFrame(&spdy.SynReply{StreamID: stream, Fields: response}))
				must(t, server.WriteFrame(&spdy.Data{StreamID: stream, Payload: []byte("abc"), Fin: true}))
			}
			h := &headers{}
			must(t, h.readSPDY(Client, up.Bytes(), version))
			must(t, h.readSPDY(Server, down.Bytes(), version))
			first := before - 12 - 18 // without the heads of PING and SYN_STREAM
			check(t, h.sums[Client], 2, 2*len(plainRequest), first+1, first+len(plainRequest)/2)
			check(t, h.sums[Server], 2, 2*len(plainResponse), 10, 2*len(plainResponse))
			if err := h.readSPDY(Client, up.Bytes()[:up.Len()-5], version); err != nil {
				t.Errorf("a connection that was cut off: %v", err)
			}
		})
	}
}

// TestHeadersOfHTTP2: CONTINUATION belongs to its section, padding and priorities do not count.
func TestHeadersOfHTTP2(t *testing.T) {
	request, response := http2Fields()
	var up, down bytes.Buffer
	blocks := 0
	write := func(to *bytes.Buffer, encoder *hpack.Encoder, block *bytes.Buffer, stream uint32, fields [][2]string) {
		block.Reset()
		for _, f := range fields {
			must(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
		}
		framer := http2.NewFramer(to, nil)
		half := block.Len() / 2
		must(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes()[:half], PadLength: 9, Priority: http2.PriorityParam{Weight: 7}}))
		must(t, framer.WriteContinuation(stream, true, block.Bytes()[half:]))
		must(t, framer.WriteData(stream, true, []byte("abc")))
		blocks += block.Len()
	}
	var upBlock, downBlock bytes.Buffer
	client, server := hpack.NewEncoder(&upBlock), hpack.NewEncoder(&downBlock)
	for stream := uint32(1); stream < 5; stream += 2 {
		write(&up, client, &upBlock, stream, request)
		write(&down, server, &downBlock, stream, response)
	}
	h := &headers{}
	must(t, h.readHTTP2(Client, up.Bytes()))
	must(t, h.readHTTP2(Server, down.Bytes()))
	check(t, h.sums[Client], 2, 2*len(plainRequest), 1, blocks)
	check(t, h.sums[Server], 2, 2*len(plainResponse), 1, blocks)
	if sent := h.sums[Client].Sent + h.sums[Server].Sent; sent != int64(blocks) {
		t.Errorf("%d octets were sent, want %d", sent, blocks)
	}
	if h.readHTTP2(Client, []byte("\x00\x00\x01\x01\x04\x00\x00\x00\x01\xff")) == nil {
		t.Error("a block that cannot be decoded was counted")
	}
}

// TestHeadersOfHTTP3 gives the frames of a stream octet by octet.
func TestHeadersOfHTTP3(t *testing.T) {
	request, _ := http2Fields()
	var block bytes.Buffer
	encoder := qpack.NewEncoder(&block)
	for _, f := range request {
		must(t, encoder.WriteField(qpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	said := append([]byte{http3Headers, byte(block.Len())}, block.Bytes()...)
	said = append(said, http3Data, 3, 'a', 'b', 'c')
	h, s := &headers{}, &headerStream{}
	for i := range said {
		must(t, s.read(h, Client, protection.Frame{Kind: protection.Stream, Offset: uint64(i), Data: said[i : i+1]}))
	}
	check(t, h.sums[Client], 1, len(plainRequest), block.Len(), block.Len())
	dynamic := []byte{http3Headers, 3, 2, 0, 0x80} // it needs an insertion, and refers to it (RFC 9204 section 4.5)
	if err := (&headerStream{}).read(h, Client, protection.Frame{Kind: protection.Stream, Data: dynamic}); err == nil {
		t.Error("a section that needs the dynamic table was counted")
	}
}

func TestStatusLines(t *testing.T) {
	for status, want := range map[string]string{"200": "HTTP/1.1 200 OK", "404 Gone fishing": "HTTP/1.1 404 Gone fishing", "799": "HTTP/1.1 799 ", "": ""} {
		var s section
		s.note(":status", status)
		plain := len(want) + len("\r\n\r\n")
		if want == "" {
			plain = len("\r\n")
		}
		if got := s.plain(); got != int64(plain) {
			t.Errorf("status %q takes %d octets, want %d", status, got, plain)
		}
	}
	if got := fmt.Sprint(number("20x"), number("1000000")); got != "0 0" {
		t.Errorf("numbers of statuses that are none: %s", got)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add([]byte(plainRequest), []byte(plainResponse), uint8(0))
	f.Add([]byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82"), []byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"), uint8(1))
	f.Add([]byte("\x80\x03\x00\x01\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"), []byte("\x80\x03\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01"), uint8(2))
	f.Fuzz(func(_ *testing.T, up, down []byte, kind uint8) {
		h := &headers{}
		switch kind % 4 {
		case 0:
			h.readHTTP1([2][]byte{up, down})
		case 1:
			_, _ = h.readHTTP2(Client, up), h.readHTTP2(Server, down)
		case 2:
			_, _ = h.readSPDY(Client, up, spdy.V31), h.readSPDY(Server, down, spdy.V2)
		default:
			_ = (&headerStream{}).read(h, Client, protection.Frame{Kind: protection.Stream, Data: up})
		}
	})
}
