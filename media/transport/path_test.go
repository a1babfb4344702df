package transport

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"wiretime/media/storage"
)

// across starts a server at the server of a field and makes a viewer at its client.
func across(t *testing.T, f *field, row Transport) *bench {
	t.Helper()
	b := serve(t, row, func(c *ServerConfig) {
		c.Host, c.Address = f.server.Do, netip.AddrPortFrom(serverAddress, 4433)
	})
	b.viewer.Host = f.client.Do
	return b
}

// begin requests the file and returns when its first octets have arrived. The rest exceeds
// all buffers on the way.
func begin(t *testing.T, s *Session) *Response {
	t.Helper()
	response, err := s.Request(t.Context(), wholeFile)
	must(t, err)
	t.Cleanup(func() { _ = response.Close() })
	_, err = io.CopyN(io.Discard, response, 100_000)
	must(t, err)
	return response
}

// TestAnOutageThatEnds cuts off the path for half a second during a file.
func TestAnOutageThatEnds(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		f := newField(t)
		s := across(t, f, row).session(t)
		response := begin(t, s)
		f.cut(t, 0)
		mended := make(chan struct{})
		time.AfterFunc(500*time.Millisecond, func() {
			f.mend(t, 0)
			close(mended)
		})
		n, err := io.Copy(io.Discard, response)
		if n != 19_900_000 || err != nil {
			t.Errorf("%d octets came, %v", n, err)
		}
		<-mended
	})
}

// TestAnOutageLongerThanPatience cuts off the path for good, during a file and before a
// session is opened; then another path becomes available.
func TestAnOutageLongerThanPatience(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		f := newField(t)
		b := across(t, f, row)
		b.viewer.Patience = 500 * time.Millisecond
		s := b.session(t)
		response := begin(t, s)
		f.cut(t, 0)
		if n, err := io.Copy(io.Discard, response); !errors.Is(err, ErrSilent) {
			t.Errorf("after %d octets: %v, want %v", n, err, ErrSilent)
		}
		if _, err := b.client(t).Connect(t.Context()); !errors.Is(err, ErrSilent) {
			t.Errorf("a session that is opened: %v, want %v", err, ErrSilent)
		}
		b.viewer.Patience = time.Minute // a busy machine may stall for longer than half a second
		another := connect(t, b.client(t), clientAddresses[1])
		rest := wholeFile
		rest.Offset = 19_000_000
		_, err := b.fetch(t.Context(), another, rest)
		must(t, err)
	})
}

// TestAHandover removes the client's address in the middle of a segment. Every transport
// reconnects; QUIC then also migrates.
func TestAHandover(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		f := newField(t)
		b := across(t, f, row)
		c := b.client(t)
		s := connect(t, c, clientAddresses[0])
		response := begin(t, s)
		f.leave(t)
		if row.Supports(Migrate) == nil {
			must(t, s.Migrate(t.Context(), clientAddresses[1]))
			if n, err := io.Copy(io.Discard, response); n != 19_900_000 || err != nil {
				t.Errorf("after the migration %d octets came, %v", n, err)
			}
		}
		must(t, s.Close())
		s = connect(t, c)
		rest := wholeFile
		rest.Offset = 19_000_000
		_, err := b.fetch(t.Context(), s, rest)
		must(t, err)
		if at := s.State().Local.Addr(); at != clientAddresses[1] {
			t.Errorf("the new session is at %v", at)
		}
	})
}

// TestAMigrationThatFails migrates to a path with no peer at its end.
func TestAMigrationThatFails(t *testing.T) {
	f := newField(t)
	b := across(t, f, mustLookup(t, "quic"))
	s := b.session(t)
	response := begin(t, s)
	f.cut(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Migrate(ctx, clientAddresses[1]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := s.Migrate(t.Context(), netip.MustParseAddr("10.3.0.1")); err == nil {
		t.Error("the session is at an address that the client does not have")
	}
	if n, err := io.Copy(io.Discard, response); n != 19_900_000 || err != nil {
		t.Errorf("on the old way %d octets came, %v", n, err)
	}
}

// TestMultihoming removes the path on which a session began. If the path is cut off beyond
// the client, only MPTCP finds the other one: SCTP's client knows a single address of the
// server and follows its routes.
func TestMultihoming(t *testing.T) {
	for name, handover := range map[string]func(*field, *testing.T){
		"the link is lost":    (*field).leave,
		"the path is cut off": func(f *field, t *testing.T) { f.cut(t, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			rows(t, func(t *testing.T, row Transport) {
				if err := row.Supports(Multihome); err != nil {
					t.Skip(err)
				}
				if row.Name == "sctp" && name == "the path is cut off" {
					t.Skip("see above")
				}
				f := newField(t)
				if row.multipath() && os.Getpid() != 1 { // older kernels than the guest's need it: see Multihome
					must(t, f.server.Do(giveUpSoon))
				}
				b := across(t, f, row)
				s := connect(t, b.client(t), clientAddresses...)
				response := begin(t, s)
				if row.Protocol == "tcp" {
					f.awaitSubflows(t, 2)
				}
				handover(f, t)
				if n, err := io.Copy(io.Discard, response); n != 19_900_000 || err != nil {
					t.Fatalf("%d octets came, %v", n, err)
				}
				_, err := b.fetch(t.Context(), s, segment(storage.HD, 1))
				must(t, err)
				must(t, b.server.Close())
				if log := b.server.Log(); len(log) != 2 || log[1].Connection != 1 {
					t.Errorf("the log is %+v", log)
				}
			})
		})
	}
}

// TestAnAssociationHasTheAddressesItIsGiven queries the server's kernel for its peer's
// addresses.
func TestAnAssociationHasTheAddressesItIsGiven(t *testing.T) {
	row := mustLookup(t, "sctp")
	if err := row.Available(nil); err != nil {
		t.Skip(err)
	}
	for _, locals := range [][]netip.Addr{nil, clientAddresses[:1], clientAddresses} {
		f := newField(t)
		b := across(t, f, row)
		s := connect(t, b.client(t), locals...)
		_, err := b.fetch(t.Context(), s, segment(storage.HD, 1))
		must(t, err)
		must(t, f.server.Do(func() error {
			table, err := os.ReadFile("/proc/thread-self/net/sctp/assocs")
			first, second := strings.Contains(string(table), "10.1.0.1"), strings.Contains(string(table), "10.2.0.1")
			if !first || second != (len(locals) == 2) {
				t.Errorf("given %v, the peer is\n%s", locals, table)
			}
			return err
		}))
	}
}
