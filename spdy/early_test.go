package spdy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wiretime/needtest"
)

// early answers without reading the request's body, as a server of static files does.
var early = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body(100)) })

// uploader connects a peer to a server of early, and has it open stream 1 for an upload.
func uploader(t *testing.T, v Version, c Config) *peer {
	return uploaderTo(t, v, &serverConn{server: &Server{}, ctx: t.Context(), handler: early, version: v}, c)
}

func uploaderTo(t *testing.T, v Version, cn *serverConn, c Config) *peer {
	t.Helper()
	c.Accept = cn.serve
	p := against(t, v, false, c)
	n := v.names()
	fields := []Field{{n.host, "localhost"}, {n.method, "POST"}, {n.path, "/"}, {n.scheme, "http"}, {":version", "HTTP/1.1"}}
	if v == V2 {
		fields = []Field{{"host", "localhost"}, {"method", "POST"}, {"url", "/"}, {"scheme", "http"}, {"version", "HTTP/1.1"}}
	}
	p.send(&SynStream{StreamID: 1, Fields: fields})
	return p
}

// upload sends octets of a body as the windows allow, without FIN, and returns the octets of the
// response, and the frame that ended the upload early, if one did.
func (p *peer) upload(v Version, octets int) (response int, reset *RstStream) {
	stream, session := defaultWindow, defaultWindow
	if v == V2 {
		stream = octets
	}
	if v != V31 {
		session = octets
	}
	for fin := false; octets > 0 || !fin; {
		if n := min(octets, stream, session, 16<<10); n > 0 {
			if p.WriteFrame(&Data{StreamID: 1, Payload: make([]byte, n)}) != nil {
				return response, nil
			}
			octets, stream, session = octets-n, stream-n, session-n
			if v == V2 && octets > 0 {
				continue
			}
		}
		if octets > 0 && stream > 0 && session > 0 || octets == 0 && fin {
			continue
		}
		switch f := p.next().(type) {
		case *WindowUpdate:
			if f.StreamID == 0 {
				session += int(f.Delta)
			} else {
				stream += int(f.Delta)
			}
		case *Data:
			response += len(f.Payload)
			fin = f.Fin
		case *RstStream:
			return response, &RstStream{f.StreamID, f.Status}
		}
	}
	return response, nil
}

func (p *peer) next() Frame {
	p.t.Helper()
	f, err := p.ReadFrame()
	if err != nil {
		p.t.Fatalf("read a frame: %v", err)
	}
	return f
}

// TestResponseBeforeTheBody: a client that sends its whole request before it reads the response
// gets the response, and no RST_STREAM, up to a limit. SPDY cannot say "no error" as HTTP/2 can.
func TestResponseBeforeTheBody(t *testing.T) {
	eachVersion(t, func(t *testing.T, v Version) {
		for _, size := range []int{1000, 60_000, 200_000, 1 << 20, 8 << 20, maxDrained} {
			p := uploader(t, v, Config{})
			response, reset := p.upload(v, size)
			if response != 100 || reset != nil {
				t.Errorf("after %d octets: %d octets of response, %+v", size, response, reset)
				continue
			}
			p.send(&Data{StreamID: 1, Fin: true})
			for _, f := range p.settle() {
				if f, ok := f.(*RstStream); ok {
					t.Errorf("after %d octets and FIN: %+v", size, f)
				}
			}
			if n := p.s.Streams(); n != 0 {
				t.Errorf("after %d octets and FIN: %d streams are open", size, n)
			}
		}
		t.Run("too much", func(t *testing.T) {
			p := uploader(t, v, Config{})
			p.expect(TypeSynReply)
			if v == V2 { // the reset is among the answers
				p.upload(v, maxDrained+64<<10)
				return
			}
			// The response was counted by expect or comes before the reset.
			if _, reset := p.upload(v, 2*maxDrained); reset == nil || reset.Status != Cancel {
				t.Errorf("after the limit: %+v", reset)
			}
		})
		t.Run("too slow", func(t *testing.T) {
			p := uploader(t, v, Config{ReadTimeout: 80 * time.Millisecond})
			p.send(&Data{StreamID: 1, Payload: []byte("x")})
			p.expect(TypeSynReply)
			if f := p.expect(TypeRstStream).(*RstStream); f.StreamID != 1 || f.Status != Cancel {
				t.Errorf("%+v", f)
			}
		})
		t.Run("cancelled", func(t *testing.T) {
			p := uploader(t, v, Config{})
			p.expect(TypeSynReply)
			p.send(&RstStream{1, Cancel})
			p.settle()
			if n := p.s.Streams(); n != 0 {
				t.Errorf("%d streams are open", n)
			}
		})
	})
}

// TestEarlyResponseToPeers posts to a static file with other implementations' clients.
func TestEarlyResponseToPeers(t *testing.T) {
	needtest.Long(t)
	if testing.Short() {
		t.Skip("starts other programs")
	}
	peersFolder(t)
	var cases []string
	for _, size := range []int{1000, 20_000, 60_000, 100_000, 200_000, 500_000, 1 << 20, 2 << 20, 4 << 20, 8 << 20} {
		cases = append(cases, fmt.Sprint("early-", size))
	}
	for _, i := range implementations {
		for _, v := range i.client {
			t.Run(i.folder+"-"+strings.ReplaceAll(v.String(), "/", "-"), func(t *testing.T) {
				url, _ := serveTLS(t, &Server{Handler: early, Versions: []Version{v}})
				port := url[strings.LastIndex(url, ":")+1:]
				// One process for all: a Java machine takes longer to start than the rest.
				args := append([]string{"tls", port}, cases...)
				if i.folder == "node" {
					args = append([]string{"tls", v.String(), port, "get"}, cases...) // it fails if the first request is a POST
				}
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				out, err := i.command(ctx, t, "client", args...).CombinedOutput()
				for _, name := range cases {
					good := bytes.Contains(out, []byte("case "+name+" ok\n"))
					t.Logf("%s: ok: %v", name, good)
					if !good {
						t.Errorf("%s: %v\n%s", name, err, out)
					}
				}
			})
		}
	}
}

// TestRequestsHaveATime: http.Server's ReadTimeout applies to the body of each request, however
// steadily it trickles.
func TestRequestsHaveATime(t *testing.T) {
	read := make(chan error, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	eachVersion(t, func(t *testing.T, v Version) {
		for _, limit := range []time.Duration{80 * time.Millisecond, 0} {
			cn := &serverConn{server: &Server{}, ctx: t.Context(), handler: h, version: v, readTimeout: limit}
			p := uploaderTo(t, v, cn, Config{})
			for open := true; open; time.Sleep(time.Millisecond) {
				p.send(&Data{StreamID: 1, Payload: []byte("x"), Fin: limit == 0})
				if limit == 0 {
					if err := <-read; err != nil {
						t.Error(err)
					}
					break
				}
				select {
				case err := <-read:
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("the body ended with %v", err)
					}
					open = false
				default:
				}
			}
		}
	})
}

// shortListener is a listener whose system runs out of something some times.
type shortListener struct {
	net.Listener
	errs []error
}

func (l *shortListener) Accept() (net.Conn, error) {
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return l.Listener.Accept()
}

// TestServeOutlivesShortage: Serve goes on after errors that pass, says so, and returns others.
func TestServeOutlivesShortage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	s := &Server{Handler: early, ErrorLog: log.New(&logged, "", 0)}
	short := &shortListener{l, []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}}
	var serving sync.WaitGroup
	var ended error
	serving.Go(func() { ended = s.Serve(short, V31) })
	c := client(t, &Transport{Cleartext: V31})
	if _, got := fetch(t, c, request(t, "GET", "http://"+l.Addr().String(), nil)); len(got) != 100 {
		t.Errorf("%d octets", len(got))
	}
	_ = l.Close()
	_ = s.Close()
	serving.Wait()
	if n := strings.Count(logged.String(), "trying again"); n != 4 || !errors.Is(ended, net.ErrClosed) {
		t.Errorf("%d errors are logged, and Serve returned %v:\n%s", n, ended, logged.String())
	}
	failing := &shortListener{l, []error{syscall.EBADF}}
	if err := s.Serve(failing, V31); !errors.Is(err, syscall.EBADF) {
		t.Errorf("after an error that does not pass: %v", err)
	}
}

// TestMaxConns: connections beyond the limit wait until others have ended.
func TestMaxConns(t *testing.T) {
	in, out := make(chan int, 10), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		in <- 1
		<-out
		_, _ = io.WriteString(w, "ok")
	})
	const limit, clients = 3, 8
	s := &Server{Handler: h, MaxConns: limit, ErrorLog: log.New(io.Discard, "", 0)}
	url := serveClear(t, s, V31)
	var wait sync.WaitGroup
	for range clients {
		tr := &Transport{Cleartext: V31}
		wait.Go(func() {
			response, err := (&http.Client{Transport: tr}).Do(request(t, "GET", url, nil))
			if err != nil {
				t.Error(err)
			} else {
				_ = response.Body.Close()
			}
			_ = tr.Close()
		})
	}
	for range limit {
		<-in
	}
	for range clients {
		s.mu.Lock()
		n := len(s.sessions)
		s.mu.Unlock()
		if n > limit {
			t.Errorf("%d sessions at a time", n)
		}
		out <- struct{}{}
	}
	wait.Wait()
}
