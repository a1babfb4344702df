package transport

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"

	"wiretime/media/storage"
)

// TestSessionsAreTakenUpAgain opens two sessions in a row, over QUIC with and without early
// data.
func TestSessionsAreTakenUpAgain(t *testing.T) {
	tests := []struct {
		row   string
		early bool
	}{{"tcp", false}, {"mptcp", false}, {"quic", false}, {"quic", true}}
	for _, test := range tests {
		row := mustLookup(t, test.row)
		name := test.row
		if test.early {
			name += ", early data"
		}
		t.Run(name, func(t *testing.T) {
			if err := row.Available(nil); err != nil {
				t.Skip(err)
			}
			b := serve(t, row, nil)
			b.viewer.EarlyData = test.early
			c := b.client(t)
			for i, again := range []bool{false, true, true} {
				s := connect(t, c)
				_, err := b.fetch(t.Context(), s, segment(storage.HD, uint32(i)))
				must(t, err)
				if state := s.State(); state.Resumed != again || state.EarlyData != (again && test.early) || state.SetUp <= 0 {
					t.Errorf("session %d: %+v", i, state)
				}
				must(t, s.Close())
			}
			must(t, b.server.Close())
			for i, e := range b.server.Log() {
				if e.Resumed != (i > 0) || e.EarlyData != (i > 0 && test.early) || e.Connection != int64(i+1) {
					t.Errorf("request %d is logged as %+v", i, e)
				}
			}
		})
	}
}

// TestEarlyDataThatIsRefused uses a restarted server, which does not know the tickets of
// its predecessor.
func TestEarlyDataThatIsRefused(t *testing.T) {
	row := mustLookup(t, "quic")
	first := serve(t, row, nil)
	first.viewer.EarlyData = true
	c := first.client(t)
	s := connect(t, c)
	_, err := first.fetch(t.Context(), s, segment(storage.HD, 0))
	must(t, err)
	must(t, s.Close())
	must(t, first.server.Close())

	second := serve(t, row, func(s *ServerConfig) { s.Address, s.CA = first.server.Address(), first.server.config.CA })
	s = connect(t, c)
	var requests sync.WaitGroup
	for i := range uint32(4) {
		requests.Go(func() {
			if _, err := second.fetch(t.Context(), s, segment(storage.QHD, i)); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	if state := s.State(); state.EarlyData || state.Resumed {
		t.Errorf("%+v, want neither", state)
	}
	must(t, second.server.Close())
	if log := second.server.Log(); len(log) != 4 {
		t.Errorf("%d requests have reached the server, want 4", len(log))
	}
}

// TestMigration moves a session to another address, and to a third, during a file.
func TestMigration(t *testing.T) {
	b := serve(t, mustLookup(t, "quic"), nil)
	s := connect(t, b.client(t), loopback(2))
	response, err := s.Request(t.Context(), wholeFile)
	must(t, err)
	defer response.Close()
	for last := byte(3); last < 8; last++ {
		_, err := io.CopyN(io.Discard, response, 100_000)
		must(t, err)
		must(t, s.Migrate(t.Context(), loopback(last)))
		if at := s.State().Local.Addr(); at != loopback(last) {
			t.Errorf("the session is at %v, want %v", at, loopback(last))
		}
	}
	if n, err := io.Copy(io.Discard, response); n != 19_500_000 || err != nil {
		t.Errorf("after the last migration: %d octets, %v", n, err)
	}
	_, err = b.fetch(t.Context(), s, segment(storage.HD, 1))
	must(t, err)
	must(t, b.server.Close())
	log := b.server.Log()
	if from := log[0].Client; !strings.HasPrefix(from, "127.0.0.2:") {
		t.Errorf("the first request came from %s", from)
	}
	if e := log[1]; !strings.HasPrefix(e.Client, "127.0.0.7:") || e.Connection != 1 {
		t.Errorf("the second request came from %s, over connection %d", e.Client, e.Connection)
	}
}

// TestLogsOfSecretsAndEvents checks the key logs and qlogs of both sides.
func TestLogsOfSecretsAndEvents(t *testing.T) {
	rows(t, func(t *testing.T, row Transport) {
		if !row.Encrypted {
			t.Skip("it has no secrets")
		}
		var secrets, events [2]record
		b := serve(t, row, func(c *ServerConfig) {
			c.KeyLog, c.QLog = &secrets[0], func(string) io.WriteCloser { return &events[0] }
		})
		b.viewer.KeyLog, b.viewer.QLog = &secrets[1], func(string) io.WriteCloser { return &events[1] }
		s := b.session(t)
		_, err := b.fetch(t.Context(), s, segment(storage.HD, 0))
		must(t, err)
		must(t, s.Close())
		must(t, b.server.Close())
		for side := range 2 {
			if text := secrets[side].String(); !strings.Contains(text, "CLIENT_") {
				t.Errorf("side %d: the secrets are %q", side, text)
			}
			if text := events[side].String(); (row.Name == "quic") != strings.Contains(text, "packet_received") || (row.Name == "quic") != events[side].closed {
				t.Errorf("side %d: %d octets of events, closed: %v", side, len(text), events[side].closed)
			}
		}
	})
}

// record keeps what is written to it.
type record struct {
	mu     sync.Mutex
	text   bytes.Buffer
	closed bool
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// TestTheEndOfSlowStart has the congestion control of a connection leave slow start, which it may do but once.
func TestTheEndOfSlowStart(t *testing.T) {
	var left []int
	s := &slowStart{left: func(octets int) { left = append(left, octets) }}
	for _, e := range []qlogwriter.Event{
		qlog.CongestionStateUpdated{State: qlog.CongestionStateSlowStart}, qlog.MetricsUpdated{CongestionWindow: 40960},
		qlog.CongestionStateUpdated{State: qlog.CongestionStateApplicationLimited}, qlog.CongestionStateUpdated{State: qlog.CongestionStateSlowStart},
		qlog.MetricsUpdated{CongestionWindow: 81920}, qlog.CongestionStateUpdated{State: qlog.CongestionStateCongestionAvoidance},
		qlog.MetricsUpdated{CongestionWindow: 90000}, qlog.CongestionStateUpdated{State: qlog.CongestionStateRecovery},
	} {
		s.AddProducer().RecordEvent(e)
	}
	if !slices.Equal(left, []int{81920}) {
		t.Errorf("slow start ended with windows of %d octets", left)
	}
}
