package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wiretime/media/storage"
	"wiretime/protocol"
)

// TestTheServerGoesAway closes the server in the middle of a file.
func TestTheServerGoesAway(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		s := b.session(t)
		response, err := s.Request(t.Context(), wholeFile)
		must(t, err)
		defer response.Close()
		_, err = io.CopyN(io.Discard, response, 100_000)
		must(t, err)
		must(t, b.server.Close())
		n, err := io.Copy(io.Discard, response)
		if !errors.Is(err, ErrClosed) || n >= 19_900_000 {
			t.Errorf("after %d octets more: %v, want %v", n, err, ErrClosed)
		}
		if _, err := b.fetch(t.Context(), s, segment(storage.HD, 0)); !errors.Is(err, ErrClosed) {
			t.Errorf("a further request: %v, want %v", err, ErrClosed)
		}
		b.viewer.Patience = 300 * time.Millisecond // over UDP there may be no sign that the server is gone
		if _, err := b.client(t).Connect(t.Context()); err == nil {
			t.Error("a session is opened with a server that has gone")
		}
	})
}

// TestASilentServer waits for a server whose disk has stopped.
func TestASilentServer(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		halts := newHalting(t, 30_000)
		defer halts.release()
		b := serve(t, row, func(c *ServerConfig) { c.Storage = halts })
		b.viewer.Patience = 300 * time.Millisecond
		s := b.session(t)
		n, err := b.fetch(t.Context(), s, segment(storage.FHD, 0))
		if !errors.Is(err, ErrSilent) || n > 30_000 {
			t.Errorf("after %d octets: %v, want %v", n, err, ErrSilent)
		}
	})
}

// TestPatienceIsForWaitingOnly checks that the timeout does not run while nobody waits.
func TestPatienceIsForWaitingOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 2)
		w := newWatch(time.Second, func(err error) { late <- err })
		isLate := func(after time.Duration) bool {
			time.Sleep(after)
			synctest.Wait()
			return len(late) > 0
		}
		for range 5 {
			if isLate(900 * time.Millisecond) {
				t.Fatal("patience ended while the other side moved")
			}
			w.wait()
		}
		w.moved()
		if isLate(10 * time.Second) {
			t.Fatal("patience ended while nobody waited")
		}
		w.wait()
		if isLate(999 * time.Millisecond) {
			t.Fatal("patience ended too early")
		}
		if !isLate(time.Second) { // it is looked at once in that time
			t.Fatal("patience has not ended after two seconds")
		}
		if err := <-late; !errors.Is(err, ErrSilent) {
			t.Errorf("%v, want %v", err, ErrSilent)
		}
		w.wait()
		newWatch(time.Second, func(err error) { late <- err }).stop()
		if isLate(10 * time.Second) {
			t.Error("patience ended twice, or after the watch did")
		}
	})
}

// TestAClientThatDoesNotRead checks that the server drops a client that does not read.
func TestAClientThatDoesNotRead(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, func(c *ServerConfig) { c.Patience = time.Second })
		s := b.session(t)
		response, err := s.Request(t.Context(), wholeFile)
		must(t, err)
		defer response.Close()
		for len(b.server.Log()) == 0 { // an entry is there when the server is done with it
			time.Sleep(10 * time.Millisecond)
		}
		if sent := b.server.Log()[0].BodyBytes; sent >= 20_000_000 {
			t.Errorf("it was sent %d octets", sent)
		}
	})
}

// TestNoRequests sends invalid requests to servers of byte streams.
func TestNoRequests(t *testing.T) {
	for _, name := range []string{"tcp", "tcp-clear", "mptcp-clear"} {
		t.Run(name, func(t *testing.T) {
			row := mustLookup(t, name)
			if err := row.Available(nil); err != nil {
				t.Skip(err)
			}
			b := serve(t, row, nil)
			for _, octets := range [][]byte{[]byte("GET / HTTP/1.1\r\nHost: media.test\r\n\r\n"), bytes.Repeat([]byte{0xff}, 1000)} {
				conn, err := net.Dial("tcp", b.server.Address().String())
				must(t, err)
				defer conn.Close()
				if row.Encrypted {
					conn = tls.Client(conn, b.client(t).tls())
				}
				_, err = conn.Write(octets)
				must(t, err)
				h, err := readHeader(conn)
				if err != nil || h.status != 400 {
					t.Errorf("%+v, %v, want status 400", h, err)
				}
				if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
					t.Errorf("the server goes on: %d octets, %v", n, err)
				}
			}
			if _, err := b.fetch(t.Context(), b.session(t), segment(storage.HD, 0)); err != nil {
				t.Errorf("another client: %v", err)
			}
		})
	}
}

// TestNoRequestsOnStreams does the same on streams. Over QUIC only the stream is lost, over
// SCTP the association.
func TestNoRequestsOnStreams(t *testing.T) {
	request, err := segment(storage.HD, 0).octets()
	must(t, err)
	rows(t, func(t *testing.T, row Transport) {
		if !row.Streams {
			t.Skip("it has none")
		}
		b := serve(t, row, nil)
		for _, octets := range [][]byte{[]byte("GET / HTTP/1.1"), append(bytes.Clone(request), 1), bytes.Repeat([]byte{0xff}, messageSize-1)} {
			s := b.session(t)
			x, err := s.link.open(t.Context(), segment(storage.HD, 0))
			must(t, err)
			if _, err := x.Write(octets); row.Name != "quic" { // whose server may not want it all
				must(t, err)
			}
			h, err := readHeader(x)
			if more := bytes.HasPrefix(octets, request); row.Name == "quic" && more {
				if err != nil || h.status != 200 { // a stream's end is not looked at
					t.Errorf("%+v, %v", h, err)
				}
			} else if err == nil && h.status != 400 || err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("%.20q: %+v, %v, want status 400, or the end", octets, h, err)
			}
			x.finish(-1)
		}
		if _, err := b.fetch(t.Context(), b.session(t), segment(storage.HD, 0)); err != nil {
			t.Errorf("another client: %v", err)
		}
	})
}

// TestAnotherServersCertificate has a viewer trust another authority or expect another
// name.
func TestAnotherServersCertificate(t *testing.T) {
	other, err := protocol.OpenAuthority(filepath.Join(t.TempDir(), "ca"))
	must(t, err)
	rows(t, func(t *testing.T, row Transport) {
		if !row.Encrypted {
			t.Skip("it has none")
		}
		b := serve(t, row, nil)
		var events record
		b.viewer.Verify, b.viewer.QLog = other.Verify, func(string) io.WriteCloser { return &events }
		if _, err := b.client(t).Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "not issued by this authority") {
			t.Errorf("%v", err)
		}
		if events.closed != (row.Name == "quic") {
			t.Error("the qlog of a session that failed is not closed")
		}
		b.viewer.Verify = nil
		if _, err := b.client(t).Connect(t.Context()); err == nil {
			t.Error("this machine trusts a test's authority")
		}
	})
}

// TestClientsOfOtherProtocols checks that the handshake rejects them.
func TestClientsOfOtherProtocols(t *testing.T) {
	b := serve(t, mustLookup(t, "tcp"), nil)
	for _, offer := range [][]string{nil, {"h2"}} {
		conn, err := tls.Dial("tcp", b.server.Address().String(), &tls.Config{ServerName: serverName, InsecureSkipVerify: true, NextProtos: offer})
		if err == nil {
			_ = conn.Close()
			t.Errorf("a client that offers %q is served", offer)
		}
	}
}

func TestAServerOfTCPIsNoneOfMPTCP(t *testing.T) {
	row := mustLookup(t, "mptcp-clear")
	if err := row.Available(nil); err != nil {
		t.Skip(err)
	}
	b := serve(t, mustLookup(t, "tcp-clear"), nil)
	b.viewer.Transport = row
	if _, err := b.client(t).Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "fell back to TCP") {
		t.Errorf("%v", err)
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		b := serve(t, row, nil)
		again := b.server.config
		again.Address = b.server.Address()
		s, err := Serve(t.Context(), again)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), row.Name) {
			t.Errorf("%v", err)
		}
	})
}
