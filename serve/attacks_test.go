package serve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// dial opens a connection, with TLS unless the protocol has none.
func (v *victim) dial() (net.Conn, error) {
	c, err := net.Dial("tcp", v.address())
	if err != nil {
		return nil, err
	}
	v.open = append(v.open, c)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if strings.HasPrefix(v.over, "spdy/") || v.over == "h2" {
		secure := tls.Client(c, insecure(v.over))
		return secure, secure.Handshake()
	}
	return c, nil
}

// drain reads what the server sends until it ends the connection, or is silent for two
// seconds: net/http closes connections of HTTP/2 a second after GOAWAY.
func drain(c net.Conn) (ended int) {
	for {
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				return 0
			}
			return 1
		}
	}
}

// flood sends octets that f makes, and reads answers meanwhile.
func (v *victim) flood(times int, f func(w io.Writer, i int) error) (ended int, err error) {
	c, err := v.dial()
	if err != nil {
		return 0, err
	}
	done := make(chan int)
	go func() { done <- drain(c) }()
	for i := 0; i < times && f(c, i) == nil; i++ { // an error means that the server has ended it
	}
	return <-done, nil
}

// many opens connections and sends the same octets on each.
func many(n int, octets string) func(*victim) (int, error) {
	return func(v *victim) (ended int, err error) {
		var all []net.Conn
		for range n {
			c, err := v.dial()
			if err != nil {
				return 0, err
			}
			_, _ = io.WriteString(c, octets) // countEnded sees connections that were ended meanwhile
			all = append(all, c)
		}
		return countEnded(all), nil
	}
}

// unread sends the same octets on many connections, and reads nothing until the server has ended
// them, or five seconds have passed.
func unread(n int, octets string) func(*victim) (int, error) {
	return func(v *victim) (ended int, err error) {
		var all []net.Conn
		for range n {
			c, err := v.dial()
			if err != nil {
				return 0, err
			}
			if _, err := io.WriteString(c, octets); err != nil {
				return 0, err
			}
			all = append(all, c)
		}
		until := time.Now().Add(5 * time.Second)
		for _, c := range all {
			for err = nil; err == nil && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
				_, err = io.WriteString(c, "\x01") // fails once the server has reset the connection
			}
			if err != nil {
				ended++
			}
		}
		return ended, nil
	}
}

// countEnded counts the connections that the server has ended within a second or two.
func countEnded(all []net.Conn) (ended int) {
	until := time.Now().Add(2 * time.Second)
	for _, c := range all {
		_ = c.SetReadDeadline(until)
		if _, err := io.Copy(io.Discard, c); err == nil || !errors.Is(err, syscall.EAGAIN) && !isTimeout(err) {
			ended++
		}
	}
	return ended
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// overHTTP2 makes an attack of HTTP/2 frames, after the preface.
func overHTTP2(times int, f func(fr *http2.Framer, w io.Writer, i int) error) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		var framer *http2.Framer
		return v.flood(times, func(w io.Writer, i int) error {
			if framer == nil {
				if _, err := io.WriteString(w, http2.ClientPreface); err != nil {
					return err
				}
				framer = http2.NewFramer(w, strings.NewReader(""))
				framer.AllowIllegalWrites = true
				if err := framer.WriteSettings(); err != nil {
					return err
				}
			}
			return f(framer, w, i)
		})
	}
}

// requestBlock is the header block of a request.
func requestBlock(path string, more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "localhost"}, {Name: ":path", Value: path},
	}, more...) {
		_ = e.WriteField(f) // a buffer takes everything
	}
	return b.Bytes()
}

func openHTTP2(fr *http2.Framer, id int, path string, end bool) error {
	return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(id), BlockFragment: requestBlock(path), EndStream: end, EndHeaders: true})
}

// overHTTP3 makes an attack of streams of HTTP/3. Its connection counts as ended once it is.
func overHTTP3(times int, f func(c *quic.Conn, i int) error) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c, err := quic.DialAddr(ctx, v.address(), insecure("h3"), nil)
		if err != nil {
			return 0, err
		}
		v.open = append(v.open, closing(func() error { return c.CloseWithError(0, "") }))
		for i := range times {
			if f(c, i) != nil {
				break
			}
		}
		select {
		case <-c.Context().Done():
			return 1, nil
		case <-time.After(time.Second):
			return 0, nil
		}
	}
}

type closing func() error

func (c closing) Close() error { return c() }

// stream opens a stream of HTTP/3 and sends octets on it.
func stream(c *quic.Conn, octets []byte) (*quic.Stream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := c.OpenStreamSync(ctx)
	if err == nil {
		_ = s.SetWriteDeadline(time.Now().Add(2 * time.Second))
		_, err = s.Write(octets)
	}
	return s, err
}

// frame is a frame of HTTP/3 (RFC 9114 section 7.1) that announces so many octets.
func frame(kind, length uint64, payload []byte) []byte {
	return append(quicvarint.Append(quicvarint.Append(nil, kind), length), payload...)
}

// deaf is a socket that hears nothing, so that handshakes are never completed.
type deaf struct{ *net.UDPConn }

func (d deaf) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		if _, _, err := d.UDPConn.ReadFrom(p); err != nil {
			return 0, nil, err
		}
	}
}

// handshakes begins QUIC handshakes and completes none.
func handshakes(n int, alpn string) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		to, err := net.ResolveUDPAddr("udp", v.address())
		if err != nil {
			return 0, err
		}
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return 0, err
		}
		transport := &quic.Transport{Conn: struct{ net.PacketConn }{deaf{socket}}}
		v.open = append(v.open, transport, socket)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		done := make(chan struct{})
		for range n {
			go func() {
				_, _ = transport.Dial(ctx, to, insecure(alpn), nil)
				done <- struct{}{}
			}()
		}
		for range n {
			<-done
		}
		return 0, nil
	}
}

// datagrams sends the same packet from many sockets.
func datagrams(n int, packet []byte) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		for range n {
			c, err := net.Dial("udp", v.address())
			if err != nil {
				return 0, err
			}
			v.open = append(v.open, c)
			if _, err := c.Write(packet); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
}

func attacks() []attack {
	id := func(i int) int { return 2*i + 1 }
	bomb := strings.Repeat("x", 8<<20)
	all := []attack{
		{"half-open TLS", "https/1.1", halfOpen(300), false},
		{"half a request", "http/1.1", many(300, "GET /small HTTP/1.1\r\nHost: loc"), false},
		{"header of 8 MB", "http/1.1", many(3, "GET / HTTP/1.1\r\nA: "+bomb), true},
		{"responses not read", "http/1.1", unread(50, strings.Repeat("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n", 50)), false},
		{"header of 8 MB", "h2", overHTTP2(1, func(fr *http2.Framer, _ io.Writer, _ int) error {
			block := requestBlock("/", hpack.HeaderField{Name: "a", Value: bomb})
			return continued(fr, 1, block)
		}), true},
		{"HPACK bomb", "h2", overHTTP2(200, func(fr *http2.Framer, _ io.Writer, i int) error {
			block := requestBlock("/small", hpack.HeaderField{Name: "a", Value: strings.Repeat("x", 4000)})
			return continued(fr, uint32(id(i)), append(block, bytes.Repeat([]byte{0x80 | 62}, 16_000)...))
		}), false},
		{"CONTINUATION flood", "h2", overHTTP2(100_000, func(fr *http2.Framer, _ io.Writer, i int) error {
			if i == 0 {
				return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: requestBlock("/")})
			}
			return fr.WriteContinuation(1, false, bytes.Repeat([]byte{0x0f, 0x0f, 0x01, 'a'}, 100))
		}), true},
		{"rapid reset", "h2", overHTTP2(20_000, func(fr *http2.Framer, _ io.Writer, i int) error {
			return errors.Join(openHTTP2(fr, id(i), "/big", true), fr.WriteRSTStream(uint32(id(i)), http2.ErrCodeCancel))
		}), false},
		{"SETTINGS flood", "h2", overHTTP2(50_000, func(fr *http2.Framer, _ io.Writer, _ int) error { return fr.WriteSettings() }), false},
		{"PING flood", "h2", overHTTP2(50_000, func(fr *http2.Framer, _ io.Writer, _ int) error { return fr.WritePing(false, [8]byte{}) }), false},
		{"PRIORITY flood", "h2", overHTTP2(50_000, func(fr *http2.Framer, _ io.Writer, i int) error {
			return fr.WritePriority(uint32(id(i)), http2.PriorityParam{StreamDep: uint32(id(i + 1)), Weight: uint8(i)})
		}), false},
		{"window of zero", "h2", overHTTP2(250, func(fr *http2.Framer, _ io.Writer, i int) error {
			if i == 0 {
				if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
					return err
				}
			}
			return openHTTP2(fr, id(i), "/big", true)
		}), false},
		{"window overflow", "h2", overHTTP2(2, func(fr *http2.Framer, _ io.Writer, _ int) error { return fr.WriteWindowUpdate(0, 1<<31-1) }), true},
		{"DATA on closed streams", "h2", overHTTP2(20_000, func(fr *http2.Framer, _ io.Writer, i int) error {
			if i == 0 {
				return openHTTP2(fr, 1, "/small", true)
			}
			return fr.WriteData(1, false, []byte("x"))
		}), false},
		{"wrong length", "h2", overHTTP2(1, func(fr *http2.Framer, _ io.Writer, _ int) error {
			return fr.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 7))
		}), true},
		{"frame never completed", "h2", many(200, http2.ClientPreface+"\x00\x00\x12\x04"), false},
		{"rapid reset", "h3", overHTTP3(20_000, func(c *quic.Conn, _ int) error {
			s, err := stream(c, frame(1, 1000, nil))
			if err == nil {
				s.CancelWrite(0x10c)
				s.CancelRead(0x10c)
			}
			return err
		}), false},
		{"header of 4 GB announced", "h3", overHTTP3(50, func(c *quic.Conn, _ int) error {
			_, err := stream(c, frame(1, 1<<32, make([]byte, 1<<16)))
			return err
		}), false},
		{"QPACK bomb", "h3", overHTTP3(50, func(c *quic.Conn, _ int) error {
			block := append([]byte{0, 0}, bytes.Repeat([]byte{0xc0 | 17}, 500_000)...)
			_, err := stream(c, frame(1, uint64(len(block)), block))
			return err
		}), false},
		{"unknown frames", "h3", overHTTP3(90, func(c *quic.Conn, _ int) error {
			_, err := stream(c, bytes.Repeat(frame(0x21, 0, nil), 100_000))
			return err
		}), false},
		{"half a request", "h3", overHTTP3(100, func(c *quic.Conn, _ int) error { _, err := stream(c, frame(1, 100, nil)); return err }), false},
		{"handshake flood", "h3", handshakes(400, "h3"), false},
		{"half-open TLS", "tcp", halfOpen(90), true},
		{"half a request", "tcp-clear", many(150, "\x01\x00"), true},
		{"responses not read", "tcp-clear", unread(50, string(mediaRequest("file@1GB"))), true},
		{"no requests", "tcp-clear", many(90, strings.Repeat("\xff", 1000)), true},
		{"handshake flood", "quic", handshakes(500, "wiretime-media/1"), false},
		{"INIT flood", "sctp-udp", datagrams(90, sctpInit), false},
		{"DTLS hello flood", "sctp-udp-dtls", datagrams(90, append([]byte{22, 0xfe, 0xfd}, make([]byte, 200)...)), false},
	}
	for _, v := range []string{"spdy/2", "spdy/3", "spdy/3.1"} {
		all = append(all, spdyAttacks(v)...)
	}
	return all
}

// continued sends a header block, however long.
func continued(fr *http2.Framer, stream uint32, block []byte) error {
	first := block[:min(len(block), 16_000)]
	block = block[len(first):]
	err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first, EndStream: true, EndHeaders: len(block) == 0})
	for len(block) > 0 && err == nil {
		part := block[:min(len(block), 16_000)]
		block = block[len(part):]
		err = fr.WriteContinuation(stream, len(block) == 0, part)
	}
	return err
}

// halfOpen opens connections on which the TLS handshake is never begun.
func halfOpen(n int) func(*victim) (int, error) {
	return func(v *victim) (int, error) {
		var all []net.Conn
		for range n {
			c, err := net.Dial("tcp", v.address())
			if err != nil {
				return 0, err
			}
			v.open = append(v.open, c)
			all = append(all, c)
		}
		return countEnded(all), nil
	}
}

// mediaRequest asks for a whole item: see package transport.
func mediaRequest(item string) []byte {
	return append(append([]byte{1, 0}, make([]byte, 20)...), append([]byte{byte(len(item))}, item...)...)
}

// sctpInit begins an association (RFC 9260 section 3.3.2), with a wrong checksum.
var sctpInit = append([]byte{0x13, 0x88, 0x13, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 20}, make([]byte, 16)...)
