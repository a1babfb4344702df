package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/media/storage"
	"wiretime/protocol"
	"wiretime/socket"
)

// TestShortOfDescriptors: a server that has run out of descriptors says so, and serves again once
// there are some. It runs in a process of its own.
func TestShortOfDescriptors(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		if row.Protocol == "udp" {
			t.Skip("its connections need no descriptors")
		}
		command := exec.CommandContext(t.Context(), "/proc/self/exe")
		command.Env = append(os.Environ(), shortageMark+"="+row.Name)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// serveInShortage uses up all descriptors but the one of a client's connection, waits until the
// server complains, and gives descriptors back.
func serveInShortage(name string) error {
	row, err := Lookup(name)
	if err != nil {
		return err
	}
	content, err := storage.Make(1, testItems()...)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "shortage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ca, err := protocol.OpenAuthority(filepath.Join(dir, "ca"))
	if err != nil {
		return err
	}
	if _, err := ca.Certificate(serverName); err != nil {
		return err
	}
	complaints := make(chan error, 100)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	server, err := Serve(ctx, ServerConfig{
		Transport: row, Address: netip.MustParseAddrPort("127.0.0.1:0"), Storage: content, CA: ca,
		Report: func(err error) { complaints <- err },
	})
	if err != nil {
		return err
	}
	b := bench{content, server, ClientConfig{Transport: row, Server: server.Address(), Name: serverName, Verify: ca.Verify}}
	client, err := NewClient(b.viewer)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	var spare []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, unix.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		spare = append(spare, f)
	}
	_ = spare[0].Close()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, row.number)
	if err == nil {
		err = unix.Connect(fd, socket.Address(server.Address()))
	}
	if err != nil {
		return fmt.Errorf("connect with the last descriptor: %w", err)
	}
	select {
	case complaint := <-complaints:
		if !errors.Is(complaint, unix.EMFILE) || !strings.Contains(complaint.Error(), "trying again") {
			return fmt.Errorf("the server reports %w", complaint)
		}
	case <-ctx.Done():
		return errors.New("the server does not complain")
	}
	_ = unix.Close(fd)
	for _, f := range spare[1:] {
		_ = f.Close()
	}
	session, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	_, err = b.fetch(ctx, session, segment(storage.HD, 0))
	return errors.Join(err, session.Close(), server.Close())
}

// failing is a listener whose system fails for good.
type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) {
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", unix.EBADF)}
}

// TestAcceptingFails: a server that can accept no more says so at once, and when it is closed.
func TestAcceptingFails(t *testing.T) {
	reports := make(chan error, 10)
	row := mustLookup(t, "tcp-clear")
	row.serve = func(_ context.Context, s *Server) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			s.accepts(failing{l}, func(net.Conn) {})
		}
		return err
	}
	s, err := Serve(t.Context(), ServerConfig{Transport: row, Report: func(err error) { reports <- err }})
	must(t, err)
	if err := <-reports; !errors.Is(err, unix.EBADF) || !strings.Contains(err.Error(), "no more are accepted") {
		t.Errorf("it reports %v", err)
	}
	if err := s.Close(); !errors.Is(err, unix.EBADF) {
		t.Errorf("it was closed with %v", err)
	}
}

// TestRestingClients: a server with a limit of idle time drops clients that send no request, and
// those that send one an octet at a time.
func TestRestingClients(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, func(c *ServerConfig) { c.Idle = 100 * time.Millisecond })
		joined := func() (n int64, open int) {
			b.server.mu.Lock()
			defer b.server.mu.Unlock()
			return b.server.count, len(b.server.connections)
		}
		await := func(what string, ok func() bool) {
			for began := time.Now(); !ok(); time.Sleep(time.Millisecond) {
				if time.Since(began) > 20*time.Second {
					t.Fatal(what)
				}
			}
		}
		for i, begins := range []bool{false, true} {
			s := b.session(t)
			if begins {
				x, err := s.link.open(t.Context(), segment(storage.HD, 0))
				must(t, err)
				// An error means that the server was faster.
				if quic, is := x.(*quicExchange); is {
					_, _ = quic.stream.Write([]byte{wireVersion})
				} else if row.Protocol == "tcp" { // over SCTP this would be an invalid message
					_, _ = x.Write([]byte{wireVersion})
				}
				defer x.finish(-1)
			}
			await("the client does not join", func() bool { n, _ := joined(); return n == int64(i+1) })
			await("the client is still there", func() bool { _, open := joined(); return open == 0 })
		}
	})
}

// TestRest: the first request must come within Patience, others within Idle, and the limit does not
// run while a request is being answered.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		connection := closer(func() error { closed++; return nil })
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if closed != want {
				t.Fatalf("it was closed %d times, want %d", closed, want)
			}
		}
		s := &Server{config: ServerConfig{Patience: 30 * time.Second, Idle: 2 * time.Minute}}
		s.newRest(connection)
		after(29*time.Second, 0)
		after(2*time.Second, 1)
		r := s.newRest(connection)
		r.begins()
		r.begins()
		after(time.Hour, 1)
		r.ends()
		after(time.Hour, 1)
		r.ends()
		after(119*time.Second, 1)
		r.begins()
		r.ends()
		after(119*time.Second, 1)
		after(2*time.Second, 2)
		r = s.newRest(connection)
		r.stop()
		after(time.Hour, 2)
		s.config.Idle = 0
		r = s.newRest(connection)
		r.begins()
		r.ends()
		after(time.Hour, 2)
	})
}

// TestMaxConnections: connections beyond the limit wait, or are refused, until one ends.
func TestMaxConnections(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		const most = 3
		reports := make(chan error, 100)
		b := serve(t, row, func(c *ServerConfig) {
			c.MaxConnections, c.Report = most, func(err error) { reports <- err }
		})
		var first []*Session
		for range most {
			s, err := b.client(t).Connect(t.Context())
			must(t, err)
			if _, err := b.fetch(t.Context(), s, segment(storage.HD, 0)); err != nil {
				t.Fatal(err)
			}
			first = append(first, s)
		}
		if row.Name == "quic" {
			if _, err := b.client(t).Connect(t.Context()); err == nil {
				t.Error("a connection beyond the limit is accepted")
			}
		} else if err := <-reports; !strings.Contains(err.Error(), "3 connections are open, the limit") {
			t.Errorf("it reports %v", err)
		}
		served := make(chan error)
		go func() {
			for {
				s, err := b.client(t).Connect(t.Context())
				if err != nil { // over QUIC, until the server has noticed
					continue
				}
				_, err = b.fetch(t.Context(), s, segment(storage.HD, 0))
				served <- errors.Join(err, s.Close())
				return
			}
		}()
		for _, s := range first {
			b.server.mu.Lock()
			n := len(b.server.connections)
			b.server.mu.Unlock()
			if n > most {
				t.Errorf("%d connections at a time", n)
			}
			must(t, s.Close())
		}
		must(t, <-served)
	})
}

// TestLyingRequests asks for what there is not, over each transport. The next client is served.
func TestLyingRequests(t *testing.T) {
	const most = 1<<63 - 1
	hd := segment(storage.HD, 0).ID
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		for _, c := range []struct {
			request Request
			length  int64
			err     error
		}{
			{Request{ID: hd, Offset: most}, 0, storage.ErrPastEnd},
			{Request{ID: hd, Offset: most, Length: most}, 0, storage.ErrPastEnd},
			{Request{ID: hd, Offset: 100_001}, 0, storage.ErrPastEnd},
			{Request{ID: hd, Offset: 100_000, Length: most}, 0, nil},
			{Request{ID: hd, Offset: 99_999, Length: most}, 1, nil},
			{Request{ID: hd, Length: most}, 100_000, nil},
			{Request{ID: storage.ID{Item: "clip", Segment: 1<<32 - 1}}, 0, storage.ErrNotFound},
			{segment(storage.HD, 1<<32-1), 0, storage.ErrPastEnd},
			{Request{ID: storage.ID{Item: "../../etc/passwd"}}, 0, storage.ErrNotFound},
			{Request{ID: storage.ID{Item: strings.Repeat("\x00", 255)}}, 0, storage.ErrNotFound},
			{Request{ID: storage.ID{Item: "file@9223372036854775807GB"}}, 0, storage.ErrNotFound},
		} {
			n, err := b.fetch(t.Context(), s, c.request)
			if n != c.length || !errors.Is(err, c.err) {
				t.Errorf("%+v: %d octets, %v, want %d, %v", c.request, n, err, c.length, c.err)
			}
		}
	})
}

// TestTooManyStreams: over SCTP a client that opens streams beyond the agreed number loses its
// association.
func TestTooManyStreams(t *testing.T) {
	row := mustLookup(t, "sctp-udp")
	b := serve(t, row, nil)
	s := b.session(t)
	m, err := s.link.(*sctpLink).association.stream(uint16(concurrentStreams))
	must(t, err)
	request, err := segment(storage.HD, 0).octets()
	must(t, err)
	must(t, m.send(request, ppidMedia))
	if _, _, err := m.receive(make([]byte, messageSize)); err == nil {
		t.Error("the server answers")
	}
	if _, err := b.fetch(t.Context(), b.session(t), segment(storage.HD, 0)); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// lyingServer answers every request with the same octets, over TCP in the clear.
func lyingServer(t *testing.T, answer []byte) ClientConfig {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = readRequest(conn)
		_, _ = io.Copy(conn, bytes.NewReader(answer))
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return ClientConfig{Transport: mustLookup(t, "tcp-clear"), Server: addressOf(l.Addr()), Patience: 5 * time.Second}
}

// TestLyingServers: a viewer is told of a server that announces more or other than it sends.
func TestLyingServers(t *testing.T) {
	const most = 1<<63 - 1
	for name, c := range map[string]struct {
		answer []byte
		want   error
	}{
		"other protocol":      {[]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), errMalformed},
		"nothing":             {nil, ErrClosed},
		"half a header":       {header{status: 200}.octets()[:10], ErrClosed},
		"more than the piece": {header{status: 200, size: 10, length: 11}.octets(), errMalformed},
		"negative size":       {header{status: 200, size: -1}.octets(), errMalformed},
		"negative length":     {header{status: 200, size: 10, length: -1}.octets(), errMalformed},
		"content of an error": {header{status: 404, size: 10, length: 10}.octets(), errMalformed},
		"unknown status":      {header{status: 299}.octets(), errors.ErrUnsupported},
		"less than announced": {append(header{status: 200, size: most, length: most, segments: 1<<32 - 1}.octets(), "short"...), ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := NewClient(lyingServer(t, c.answer))
			must(t, err)
			s := connect(t, client)
			response, err := s.Request(t.Context(), segment(storage.HD, 0))
			if err == nil {
				_, err = io.Copy(io.Discard, response)
			}
			if errors.Is(c.want, errors.ErrUnsupported) {
				if err == nil || !strings.Contains(err.Error(), "status 299") {
					t.Errorf("%v", err)
				}
			} else if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
