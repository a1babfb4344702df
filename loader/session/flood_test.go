package session

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
	"golang.org/x/net/http2/hpack"

	"wiretime/protocol"
	"wiretime/spdy"
)

// flood is what a hostile server sends after it has read a request, until the client hangs up.
type flood struct {
	name  string
	head  string             // sent once
	again func(i int) string // then sent again and again; "" means silence
	want  string             // part of the request's error
}

// TestFloods uses servers that never come to an end, each in another part of a response. Each request ends with an error
// that says why, or at the limit of its handler, and needs no more memory than the limits explain. A server that goes
// silent is left when the context ends.
func TestFloods(t *testing.T) {
	line := func(i int) string { return fmt.Sprintf("field-%d: %s\r\n", i, strings.Repeat("x", 1000)) }
	forever := func(s string) func(int) string { return func(int) string { return s } }
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, f := range []flood{
		{"status line", "HTTP/1.1 200 ", forever(strings.Repeat("O", 4000)), "more than 262144 octets"},
		{"fields", ok, line, "more than 262144 octets"},
		{"short fields", ok, forever("a:b\r\n"), "more than 262144 octets"},
		{"one field", ok + "a: ", forever(strings.Repeat("b", 4000)), "more than 262144 octets"},
		{"empty lines", "", forever("\r\n"), "read the response's head"},
		{"interim responses", "", forever("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), "more than 100 interim responses"},
		{"long interim responses", "", forever("HTTP/1.1 103 Early Hints\r\nLink: </" + strings.Repeat("a", 8000) + ">\r\n\r\n"), "more than 262144 octets"},
		{"body", ok + "\r\n", forever(strings.Repeat("x", 32<<10)), "the handler wants no more"},
		{"counted body", ok + "Content-Length: 9000000000000000000\r\n\r\n", forever(strings.Repeat("x", 32<<10)), "the handler wants no more"},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n", forever("1\r\nx\r\n"), "the handler wants no more"},
		{"one chunk", ok + "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", forever(strings.Repeat("x", 32<<10)), "the handler wants no more"},
		{"chunk extensions", ok + "Transfer-Encoding: chunked\r\n\r\n", forever("1;" + strings.Repeat("e", 3000) + "\r\nx\r\n"), "too much"},
		{"one chunk extension", ok + "Transfer-Encoding: chunked\r\n\r\n1;", forever(strings.Repeat("e", 4000)), "line too long"},
		{"trailers", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", line, "trailer"},
		{"silence before the head", "HTTP/1.1 2", nil, "cancelled by the test"},
		{"silence in the body", ok + "\r\nhalf", nil, "cancelled by the test"},
	} {
		for _, word := range []string{"browser", "pipelined"} {
			t.Run(f.name+", "+word, func(t *testing.T) {
				b := newBench(t, row(t, "http/1.1"))
				b.options.Strategy = strategy(t, word)
				silent := make(chan struct{}, 10)
				b.Handle(t, func(conn net.Conn) {
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
						return
					}
					_, err := io.WriteString(conn, f.head)
					for i := 0; err == nil && f.again != nil; i++ {
						_, err = io.WriteString(conn, f.again(i))
					}
					silent <- struct{}{}
					_, _ = io.Copy(io.Discard, conn)
				})
				withstand(t, b, f, silent)
			})
		}
	}
}

// withstand fetches from a hostile server, and checks the error and the memory.
func withstand(t *testing.T, b *bench, f flood, silent <-chan struct{}) {
	t.Helper()
	ctx, give := context.WithCancelCause(t.Context())
	defer give(nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := b.session(t)
	a := fetch(t, ctx, s, http.MethodGet, b.url(pageHost, "/"), Highest, &answer{most: 64 << 10})
	if f.again == nil {
		<-silent
		give(errors.New("cancelled by the test"))
	}
	a.wait(t)
	runtime.ReadMemStats(&after)
	if a.err == nil || !strings.Contains(a.err.Error(), f.want) {
		t.Errorf("the error is %v, want %q", a.err, f.want)
	}
	// All that was allocated, by the server too: more than was ever in use at a time.
	if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	must(t, s.Close())
}

// TestFloodsOverHTTP2 does the same with frames.
func TestFloodsOverHTTP2(t *testing.T) {
	frame := func(kind, flags byte, stream uint32, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}) + payload
	}
	block := func(fields ...hpack.HeaderField) string {
		var text bytes.Buffer
		e := hpack.NewEncoder(&text)
		e.SetMaxDynamicTableSize(0)
		for _, f := range fields {
			_ = e.WriteField(f)
		}
		return text.String()
	}
	const data, headers, settings, ping, continuation = 0, 1, 4, 6, 9
	const endHeaders = 4
	ok := frame(headers, endHeaders, 1, block(hpack.HeaderField{Name: ":status", Value: "200"}))
	forever := func(s string) func(int) string { return func(int) string { return s } }
	many := block(hpack.HeaderField{Name: "a", Value: strings.Repeat("b", 10_000)})
	for _, f := range []flood{
		{"CONTINUATION", frame(headers, 0, 1, block(hpack.HeaderField{Name: ":status", Value: "200"})), forever(frame(continuation, 0, 1, many)), "PROTOCOL_ERROR"},
		{"interim responses", "", forever(frame(headers, endHeaders, 1, block(hpack.HeaderField{Name: ":status", Value: "103"}))), "more than 100 interim responses"},
		{"DATA", ok, forever(frame(data, 0, 1, strings.Repeat("x", 16<<10))), "the handler wants no more"},
		{"DATA of an octet", ok, forever(strings.Repeat(frame(data, 0, 1, "x"), 1000)), "the handler wants no more"},
		{"a frame of 16 MiB", ok + string([]byte{0xff, 0xff, 0xff, headers, 0, 0, 0, 0, 1}), forever(strings.Repeat("x", 16<<10)), "frame too large"},
		{"silence", ok, nil, "cancelled by the test"},
	} {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, row(t, "h2"))
			silent := make(chan struct{}, 10)
			b.handleTLS(t, func(conn net.Conn) {
				_, err := io.WriteString(conn, frame(settings, 0, 0, ""))
				in := bufio.NewReader(conn)
				_, _ = in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
				for kind := byte(settings); err == nil && kind != headers; {
					var head []byte
					if head, err = in.Peek(9); err == nil {
						kind = head[3]
						_, err = in.Discard(9 + int(head[0])<<16 + int(head[1])<<8 + int(head[2]))
					}
				}
				go func() { _, _ = io.Copy(io.Discard, in) }()
				if err == nil {
					_, err = io.WriteString(conn, f.head)
				}
				for i := 0; err == nil && f.again != nil; i++ {
					_, err = io.WriteString(conn, f.again(i))
				}
				silent <- struct{}{}
				<-t.Context().Done()
			})
			withstand(t, b, f, silent)
		})
	}
}

// handleTLS serves connections of the page's host, secured and with the bench's protocol.
func (b *bench) handleTLS(t *testing.T, serve func(net.Conn)) {
	t.Helper()
	certificate, err := b.Authority.Certificate(pageHost)
	must(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{b.options.Protocol.ALPN}}
	b.Handle(t, func(conn net.Conn) {
		secured := tls.Server(conn, config)
		if secured.Handshake() == nil {
			serve(secured)
		}
	})
}

// TestFloodsOverHTTP3 does the same over QUIC.
func TestFloodsOverHTTP3(t *testing.T) {
	frame := func(kind uint64, payload string) string {
		return string(quicvarint.Append(quicvarint.Append(nil, kind), uint64(len(payload)))) + payload
	}
	const data, headers, unknown = 0, 1, 0x21
	head := func(fields ...qpack.HeaderField) string {
		var text bytes.Buffer
		e := qpack.NewEncoder(&text)
		for _, f := range fields {
			_ = e.WriteField(f)
		}
		return frame(headers, text.String())
	}
	ok := head(qpack.HeaderField{Name: ":status", Value: "200"})
	forever := func(s string) func(int) string { return func(int) string { return s } }
	for _, f := range []flood{
		{"a long head", head(qpack.HeaderField{Name: ":status", Value: "200"}, qpack.HeaderField{Name: "a", Value: strings.Repeat("b", 1<<20)}), forever(""), "too large"},
		{"an endless head", string(quicvarint.Append(quicvarint.Append(nil, headers), 1<<60)), forever(strings.Repeat("x", 16<<10)), "too large"},
		{"interim responses", "", forever(head(qpack.HeaderField{Name: ":status", Value: "103"})), "more than 100 interim responses"},
		{"DATA", ok, forever(frame(data, strings.Repeat("x", 16<<10))), "the handler wants no more"},
		{"DATA of an octet", ok, forever(strings.Repeat(frame(data, "x"), 1000)), "the handler wants no more"},
		{"frames of a reserved type", ok, nil, "cancelled by the test"},
		{"silence", ok, nil, "cancelled by the test"},
	} {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, row(t, "h3"))
			silent := make(chan struct{}, 10)
			b.handleQUIC(t, func(stream *quic.Stream) {
				_, err := io.WriteString(stream, f.head)
				if f.name == "frames of a reserved type" {
					for i := 0; err == nil && i < 1000; i++ {
						_, err = io.WriteString(stream, frame(unknown, strings.Repeat("x", 1000)))
					}
				}
				for i := 0; err == nil && f.again != nil; i++ {
					_, err = io.WriteString(stream, f.again(i))
				}
				silent <- struct{}{}
			})
			withstand(t, b, f, silent)
		})
	}
}

// handleQUIC serves the requests to the page's host over QUIC, after an HTTP/3 control stream.
func (b *bench) handleQUIC(t *testing.T, serve func(*quic.Stream)) {
	t.Helper()
	certificate, err := b.Authority.Certificate(pageHost)
	must(t, err)
	socket, err := b.ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	must(t, err)
	transport := &quic.Transport{Conn: socket}
	l, err := transport.Listen(&tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"h3"}}, nil)
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept(context.Background())
			if err != nil {
				return // closed
			}
			serving.Go(func() {
				control, err := c.OpenUniStream()
				if err == nil {
					_, err = control.Write([]byte{0, 4, 0}) // SETTINGS without any
				}
				for err == nil {
					var stream *quic.Stream
					if stream, err = c.AcceptStream(context.Background()); err == nil {
						serving.Go(func() { serve(stream) })
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		must(t, errors.Join(l.Close(), transport.Close(), socket.Close()))
		serving.Wait()
	})
}

// TestFloodsOverSPDY does the same with frames of SPDY, pushes among them.
func TestFloodsOverSPDY(t *testing.T) {
	eachSPDY(t, func(t *testing.T, p protocol.Protocol, v spdy.Version) {
		status := func(code string) []spdy.Field {
			return []spdy.Field{{Name: pseudo(v, "status"), Value: code}, {Name: pseudo(v, "version"), Value: "HTTP/1.1"}}
		}
		reply := &spdy.SynReply{StreamID: 1, Fields: status("200 OK")}
		forever := func(frames ...spdy.Frame) func(int) []spdy.Frame { return func(int) []spdy.Frame { return frames } }
		for _, f := range []struct {
			name  string
			head  []spdy.Frame
			again func(i int) []spdy.Frame
			want  string
		}{
			{"interim replies", nil, forever(&spdy.SynReply{StreamID: 1, Fields: status("103 Early Hints")}), "exceed 65536 octets"},
			{"HEADERS after an interim reply", []spdy.Frame{&spdy.SynReply{StreamID: 1, Fields: status("103 Early Hints")}},
				forever(&spdy.Headers{StreamID: 1, Fields: status("103 Early Hints")}), "exceed 65536 octets"},
			{"a long head", []spdy.Frame{&spdy.SynReply{StreamID: 1, Fields: append(status("200 OK"), spdy.Field{Name: "a", Value: strings.Repeat("b", 40_000)}, spdy.Field{Name: "c", Value: strings.Repeat("d", 40_000)})}},
				nil, "header block"},
			{"DATA", []spdy.Frame{reply}, forever(&spdy.Data{StreamID: 1, Payload: make([]byte, 16<<10)}), "the handler wants no more"},
			{"DATA of an octet", []spdy.Frame{reply}, forever(&spdy.Data{StreamID: 1, Payload: make([]byte, 1)}), "the handler wants no more"},
			{"empty DATA", []spdy.Frame{reply}, forever(&spdy.Data{StreamID: 1}), "floods"},
			{"pushes without content", nil, func(i int) []spdy.Frame { return []spdy.Frame{push(v, i, status("200 OK"))} }, "floods"},
			{"silence", []spdy.Frame{reply}, nil, "cancelled by the test"},
		} {
			t.Run(f.name, func(t *testing.T) {
				b := newBench(t, p)
				b.options.Push = true
				silent := make(chan struct{}, 10)
				b.handleTLS(t, func(conn net.Conn) {
					framer := spdy.NewFramer(v, conn, conn, spdy.CompressSafe)
					var err error
					for asked := false; err == nil && !asked; {
						var frame spdy.Frame
						frame, err = framer.ReadFrame()
						_, asked = frame.(*spdy.SynStream)
					}
					go func() { _, _ = io.Copy(io.Discard, conn) }()
					for i := -1; err == nil && (i < 0 || f.again != nil); i++ {
						frames := f.head
						if i >= 0 {
							frames = f.again(i)
						}
						for _, frame := range frames {
							err = errors.Join(err, framer.WriteFrame(frame))
						}
					}
					silent <- struct{}{}
					<-t.Context().Done()
				})
				again := func(int) string { return "" }
				if f.again == nil && f.name == "silence" {
					again = nil
				}
				withstand(t, b, flood{name: f.name, again: again, want: f.want}, silent)
			})
		}
	})
}

// push is the i-th push that belongs to the first request.
func push(v spdy.Version, i int, fields []spdy.Field) *spdy.SynStream {
	path := fmt.Sprint("/pushed/", i)
	if v == spdy.V2 {
		path = "https://" + pageHost + path
	}
	return &spdy.SynStream{StreamID: uint32(2*i + 2), AssociatedID: 1, Unidirectional: true, Fields: append([]spdy.Field{
		{Name: pseudo(v, "scheme"), Value: "https"}, {Name: pseudo(v, "host"), Value: pageHost}, {Name: pseudo(v, "path"), Value: path},
	}, fields...)}
}
