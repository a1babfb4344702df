package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/protocol"
	"wiretime/spdy"
)

// recorded is a connection on which a server has sent everything there is, and closed it.
type recorded struct{ *bytes.Reader }

func (recorded) Write(b []byte) (int, error)      { return len(b), nil }
func (recorded) Close() error                     { return nil }
func (recorded) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (recorded) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (recorded) SetDeadline(time.Time) error      { return nil }
func (recorded) SetReadDeadline(time.Time) error  { return nil }
func (recorded) SetWriteDeadline(time.Time) error { return nil }

// enough is a handler that accepts so many octets of content.
type enough struct{ left, interims, ends int }

func (e *enough) Interim(*http.Response) { e.interims++ }
func (e *enough) Head(*http.Response)    {}
func (e *enough) End(*Exchange, error)   { e.ends++ }

func (e *enough) Data(b []byte) error {
	if e.left -= len(b); e.left < 0 {
		return errEnough
	}
	return nil
}

// FuzzHTTP1 answers the requests of one connection with anything: one after the other, as on a connection that is kept
// alive, until one fails.
func FuzzHTTP1(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, answer := range []string{
		ok + "Content-Length: 4\r\n\r\nbody" + ok + "Content-Length: 0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n4;a=b\r\nbody\r\n0\r\nTrailer: x\r\n\r\n" + ok + "\r\nto the end",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100\r\n\r\n" + ok + "Connection: close\r\n\r\n",
		strings.Repeat("HTTP/1.1 103 x\r\n\r\n", 110), ok + strings.Repeat("a:b\r\n", 300), "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 100), "HTTP/1.0 200\r\n\r\n", "\r\n\r\n",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answers []byte) {
		costtest.Check(t, len(answers), costtest.Limit{Fixed: 4 << 20, PerOctet: 400, Time: 20_000}, func() {
			s := New(Options{Protocol: protocol.Protocol{Spoken: "http/1.1"}})
			c := &conn{origin: &origin{session: s}, ctx: context.Background()}
			server := recorded{bytes.NewReader(answers)}
			h := c.http1(server, server)
			for h.usable() {
				r, err := http.NewRequest(http.MethodGet, "http://www.page.test/", nil)
				if err != nil {
					t.Fatal(err)
				}
				handler := &enough{left: 1 << 16}
				x := newExchange(s, &Request{HTTP: r, Handler: handler})
				h.write(x)
				before := h.consumed()
				if err := h.receive(x); err == nil && h.usable() && h.consumed() == before {
					t.Fatal("a response without any octet was accepted")
				}
				if handler.interims > mostInterims || handler.ends != 0 {
					t.Errorf("%d interim responses, %d ends", handler.interims, handler.ends)
				}
			}
		})
	})
}

// FuzzReadReply reads any fields as a reply's, and gives the result to a handler as one.
func FuzzReadReply(f *testing.F) {
	for v := range spdy.Versions() {
		f.Add(uint8(v), "200 OK", "content-length", "4", "vary", "a\x00b")
		f.Add(uint8(v), "", "content-length", "-1", "", "\x00")
		f.Add(uint8(v), " 200", "Content-Length", "99999999999999999999", ":status", "404")
		f.Add(uint8(v), "1000000", "a", strings.Repeat("\x00", 1000), "status", "")
	}
	f.Fuzz(func(t *testing.T, which uint8, status, name, value, other, values string) {
		v := spdy.Versions()[int(which)%len(spdy.Versions())]
		fields := []spdy.Field{{Name: pseudo(v, "status"), Value: status}, {Name: name, Value: value}, {Name: other, Value: values}}
		octets := len(status) + len(name) + len(value) + len(other) + len(values)
		costtest.Check(t, octets, costtest.Limit{Fixed: 256 << 10, PerOctet: 200, Time: 10_000}, func() {
			response, err := readReply(v, fields)
			if err != nil {
				return
			}
			if response.StatusCode < 100 || response.StatusCode > 999 || response.ContentLength < -1 {
				t.Errorf("%.200q is status %d, with %d octets", fields, response.StatusCode, response.ContentLength)
			}
			r, err := http.NewRequest(http.MethodGet, "https://www.page.test/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response.Body = io.NopCloser(strings.NewReader("body"))
			x := newExchange(New(Options{}), &Request{HTTP: r, Handler: &enough{left: 10}})
			err = x.read(response)
			if whole := response.ContentLength < 0 || response.ContentLength == 4 || !hasBody(r, response); (err == nil) != whole || errors.Is(err, errEnough) {
				t.Errorf("%.200q: %v", fields, err)
			}
		})
	})
}
