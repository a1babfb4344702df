package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// TestBackup makes TCP handshakes take this long. The expectations come from
// Chromium's packets: for a look-up of 400 ms and a handshake of 400 ms, https sends
// SYNs after 400 and 650 ms, http after 400 and 500 ms.
func TestBackup(t *testing.T) {
	hour := []time.Duration{time.Hour}
	for _, c := range []struct {
		name     string
		row      string
		strategy string
		lookUp   time.Duration
		connect  []time.Duration
		dialled  []time.Duration // when connections are dialled
		over     int             // the connection of the first request
	}{
		{"in time", "https/1.1", "browser", 400 * ms, []time.Duration{249 * ms}, []time.Duration{400 * ms}, 1},
		{"too long", "https/1.1", "browser", 400 * ms, []time.Duration{400 * ms}, []time.Duration{400 * ms, 650 * ms}, 1},
		{"the look-up counts in the clear", "http/1.1", "browser", 400 * ms, []time.Duration{400 * ms}, []time.Duration{400 * ms, 500 * ms}, 1},
		{"in time with its look-up", "http/1.1", "browser", 100 * ms, []time.Duration{149 * ms}, []time.Duration{100 * ms}, 1},
		{"a lost SYN", "http/1.1", "browser", 0, []time.Duration{1020 * ms, 20 * ms}, []time.Duration{0, 250 * ms}, 2},
		{"never more than two", "https/1.1", "browser", 0, []time.Duration{5 * time.Second}, []time.Duration{0, 250 * ms}, 1},
		{"h2", "h2", "browser", 400 * ms, []time.Duration{400 * ms}, []time.Duration{400 * ms, 650 * ms}, 1},
		{"SPDY, the first lost", "spdy/3.1", "browser", 0, []time.Duration{time.Hour, 20 * ms}, []time.Duration{0, 250 * ms}, 2},
		{"refused", "https/1.1", "browser", 0, []time.Duration{300 * ms, -ms}, []time.Duration{0, 250 * ms}, 1},
		{"another strategy", "https/1.1", "parallel-6", 0, []time.Duration{time.Second}, []time.Duration{0}, 1},
		{"multiplexed is another", "h2", "multiplexed", 0, []time.Duration{time.Second}, []time.Duration{0}, 1},
		{"never", "http/1.1", "browser", 0, hour, []time.Duration{0, 250 * ms}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, row(t, c.row), c.strategy, func(t *testing.T, n *pipes, s *Session) {
				n.lookUp, n.connect = c.lookUp, c.connect
				a := fetch(t, t.Context(), s, http.MethodGet, n.url(pageHost, "/a"), Highest, nil)
				<-a.ended
				must(t, a.err)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if !slices.Equal(n.dialled, c.dialled) || a.record.Connection != c.over {
					t.Errorf("dialled after %v, want %v; the request used connection %d, want %d", n.dialled, c.dialled, a.record.Connection, c.over)
				}
			})
		})
	}
}

// TestBackupIsUsed checks that the second connection carries later requests, and that
// a new visit starts a new guard.
func TestBackupIsUsed(t *testing.T) {
	bubble(t, row(t, "https/1.1"), "browser", func(t *testing.T, n *pipes, s *Session) {
		n.connect = []time.Duration{400 * ms}
		for visit := range 2 {
			first := get(t, s, n.url(pageHost, "/a"), Highest)
			<-first.ended
			time.Sleep(time.Second)
			var later []*answer
			for _, path := range []string{"/slow", "/b"} {
				later = append(later, get(t, s, n.url(pageHost, path), Medium))
				synctest.Wait()
			}
			used := map[int]bool{}
			for _, a := range later {
				<-a.ended
				must(t, a.err)
				used[a.record.Connection] = true
			}
			if len(n.dialled) != 2*(visit+1) || len(used) != 2 {
				t.Errorf("visit %d: dialled after %v, later requests used %v", visit, n.dialled, used)
			}
			must(t, s.Disconnect())
		}
	})
}

// TestGuardOfNobody withdraws a request while its host is being resolved: the next
// request's connection is still guarded.
func TestGuardOfNobody(t *testing.T) {
	bubble(t, row(t, "http/1.1"), "browser", func(t *testing.T, n *pipes, s *Session) {
		n.lookUp, n.connect = time.Second, []time.Duration{400 * ms}
		ctx, cancel := context.WithCancel(t.Context())
		a := fetch(t, ctx, s, http.MethodGet, n.url(pageHost, "/a"), Highest, nil)
		synctest.Wait()
		cancel()
		<-a.ended
		time.Sleep(2 * time.Second)
		if len(n.dialled) != 0 {
			t.Errorf("dialled after %v without a request", n.dialled)
		}
		b := get(t, s, n.url(pageHost, "/b"), Highest)
		<-b.ended
		must(t, b.err)
		if want := []time.Duration{2 * time.Second, 2250 * ms}; !slices.Equal(n.dialled, want) {
			t.Errorf("dialled after %v, want %v", n.dialled, want)
		}
		time.Sleep(time.Second)
	})
}

// TestRace requests several things at once from an origin that is not known to multiplex.
// The first connection to be ready carries them all, the other attempts are cancelled,
// and one connection remains.
func TestRace(t *testing.T) {
	for _, name := range []string{"h2", "spdy/2", "spdy/3", "spdy/3.1"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			bubble(t, row(t, name), "browser", func(t *testing.T, n *pipes, s *Session) {
				// The last is ready at the same moment as the second.
				n.connect = []time.Duration{90 * ms, 50 * ms, time.Hour, 50 * ms, 100 * ms}
				for visit, c := range []struct{ requests, dialled, givenUp int }{{4, 4, 2}, {4, 1, 0}} {
					n.mu.Lock()
					n.dialled, n.givenUp = nil, 0
					n.mu.Unlock()
					var answers []*answer
					for range c.requests {
						answers = append(answers, get(t, s, n.url(pageHost, "/a"), Medium))
					}
					used := map[int]bool{}
					for _, a := range answers {
						<-a.ended
						must(t, a.err)
						used[a.record.Connection] = true
					}
					synctest.Wait()
					if len(n.dialled) != c.dialled || n.givenUp != c.givenUp || n.open != 1 || len(used) != 1 {
						t.Errorf("visit %d: %d connections dialled, %d cancelled, %d open, %v used; want %+v and one",
							visit, len(n.dialled), n.givenUp, n.open, used, c)
					}
					must(t, s.Disconnect())
				}
			})
		})
	}
}

// TestRaceOverMoreThanSix opens no more connections than to any other host.
func TestRaceOverMoreThanSix(t *testing.T) {
	bubble(t, row(t, "h2"), "browser", func(t *testing.T, n *pipes, s *Session) {
		n.connect = []time.Duration{100 * ms}
		var answers []*answer
		for range 10 {
			answers = append(answers, get(t, s, n.url(pageHost, "/a"), Medium))
		}
		for _, a := range answers {
			<-a.ended
			must(t, a.err)
		}
		synctest.Wait()
		if len(n.dialled) != connectionsPerHost {
			t.Errorf("%d connections dialled", len(n.dialled))
		}
	})
}

// TestRaceWithFailures refuses some of the connections. No request fails while
// another attempt is pending, and no further attempt is made.
func TestRaceWithFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		connect []time.Duration
		dialled int
		fails   bool
	}{
		{"the last one succeeds", []time.Duration{-10 * ms, -20 * ms, 5 * time.Second}, 4, false},
		{"all are refused", []time.Duration{-10 * ms, -20 * ms, -30 * ms}, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, row(t, "h2"), "browser", func(t *testing.T, n *pipes, s *Session) {
				n.connect = c.connect
				var answers []*answer
				for range 3 {
					answers = append(answers, get(t, s, n.url(pageHost, "/a"), Medium))
				}
				for _, a := range answers {
					<-a.ended
					if c.fails != errors.Is(a.err, errRefused) || !c.fails && a.err != nil {
						t.Errorf("error is %v", a.err)
					}
				}
				synctest.Wait()
				if len(n.dialled) != c.dialled { // the extra one is the guard's
					t.Errorf("dialled after %v, want %d connections", n.dialled, c.dialled)
				}
			})
		})
	}
}

// TestIdleBeforeOpening frees a connection while another is being opened for the
// waiting request.
func TestIdleBeforeOpening(t *testing.T) {
	for _, name := range []string{"http/1.1", "https/1.1"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			bubble(t, row(t, name), "parallel-6", func(t *testing.T, n *pipes, s *Session) {
				n.connect = []time.Duration{0, time.Hour}
				<-get(t, s, n.url(pageHost, "/a"), Highest).ended
				for range 2 {
					answers := []*answer{get(t, s, n.url(pageHost, "/b"), Medium), get(t, s, n.url(pageHost, "/c"), Medium)}
					for _, a := range answers {
						<-a.ended
						must(t, a.err)
						if a.record.Connection != 1 {
							t.Errorf("the request used connection %d", a.record.Connection)
						}
					}
				}
				synctest.Wait()
				if since := time.Since(n.began); since > time.Minute || len(n.dialled) != 2 {
					t.Errorf("the request took %v, with %d connections", since, len(n.dialled))
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// TestSpareThatWasClosed closes an unused connection at the server. The next request
// finds that out and is sent again.
func TestSpareThatWasClosed(t *testing.T) {
	for _, name := range []string{"http/1.1", "https/1.1"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			bubble(t, row(t, name), "browser", func(t *testing.T, n *pipes, s *Session) {
				n.connect = []time.Duration{400 * ms, 400 * ms, 0}
				serve := n.serve
				var accepted atomic.Int32
				n.serve = func(c net.Conn) {
					if accepted.Add(1) == 2 {
						defer time.AfterFunc(time.Second, func() { _ = c.Close() }).Stop()
					}
					serve(c)
				}
				slow := get(t, s, n.url(pageHost, "/slow"), Highest)
				time.Sleep(10 * time.Second)
				a := get(t, s, n.url(pageHost, "/a"), Medium)
				<-a.ended
				must(t, a.err)
				if a.record.Connection != 3 || len(n.dialled) != 3 {
					t.Errorf("the request used connection %d of %d, want the third", a.record.Connection, len(n.dialled))
				}
				<-slow.ended
				must(t, slow.err)
			})
		})
	}
}

// TestSecondConnectionsMakeRoom fills the limit with idle connections, and then opens
// one slow enough to need a second one: two idle ones are closed.
func TestSecondConnectionsMakeRoom(t *testing.T) {
	bubble(t, row(t, "http/1.1"), "browser", func(t *testing.T, n *pipes, s *Session) {
		n.connect = append(make([]time.Duration, mostSockets), 400*ms)
		for i := range mostSockets {
			<-get(t, s, n.url(fmt.Sprintf("h%d.test", i), "/a"), Medium).ended
		}
		<-get(t, s, n.url(pageHost, "/a"), Medium).ended
		time.Sleep(time.Second)
		synctest.Wait()
		if n.open != mostSockets || len(n.dialled) != mostSockets+2 {
			t.Errorf("%d connections are open after %d, want %d", n.open, len(n.dialled), mostSockets)
		}
	})
}

// TestIdleConnections has three idle connections, one of them never used. The most
// recently used one is chosen first, the unused one last.
func TestIdleConnections(t *testing.T) {
	bubble(t, row(t, "http/1.1"), "browser", func(t *testing.T, n *pipes, s *Session) {
		n.connect = []time.Duration{300 * ms, 300 * ms, 0}
		<-get(t, s, n.url(pageHost, "/a"), Medium).ended // over 1, with 2 beside it
		time.Sleep(time.Second)
		slow := get(t, s, n.url(pageHost, "/slow"), Medium) // over 1
		synctest.Wait()
		quick := get(t, s, n.url(pageHost, "/b"), Medium) // over 2
		third := get(t, s, n.url(pageHost, "/c"), Medium) // over 2 or 3
		for _, a := range []*answer{quick, third, slow} {
			<-a.ended
			must(t, a.err)
		}
		var last []int
		for range 2 {
			a := get(t, s, n.url(pageHost, "/d"), Medium)
			<-a.ended
			last = append(last, a.record.Connection)
		}
		if slow.record.Connection != 1 || !slices.Equal(last, []int{1, 1}) {
			t.Errorf("the slow request used connection %d, the later ones %v; want 1 and 1", slow.record.Connection, last)
		}
	})
}
