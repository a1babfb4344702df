package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

// request returns a request with its answer.
func request(t *testing.T, ctx context.Context, target string, priority Priority, anonymous bool) (*Request, *answer) {
	t.Helper()
	a := &answer{ended: make(chan struct{})}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	must(t, err)
	return &Request{HTTP: r, Priority: priority, Anonymous: anonymous, Handler: a}, a
}

// TestReprioritize changes priorities of requests that wait for their origin's only
// connection, and of requests that no longer wait.
func TestReprioritize(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		for _, word := range []string{"parallel-1", "sequential", "multiplexed"} {
			t.Run(word, func(t *testing.T) {
				b := newBench(t, p)
				b.options.Strategy = strategy(t, word)
				if b.options.Strategy.Supports(p) != nil {
					return
				}
				b.serve(t, http.HandlerFunc(path))
				hold := make(chan struct{})
				b.options.Resolve = holdBack(b.options.Resolve, hold)
				s := b.session(t)
				var requests []*Request
				var answers []*answer
				for i, priority := range []Priority{Highest, Idle, Medium, Lowest, Low} {
					r, a := request(t, t.Context(), b.url(pageHost, fmt.Sprint("/", i)), priority, false)
					s.Fetch(r)
					requests, answers = append(requests, r), append(answers, a)
				}
				s.Reprioritize(requests[1], Highest) // goes after the one that already had it
				s.Reprioritize(requests[2], Idle)
				stranger, _ := request(t, t.Context(), b.url(pageHost, "/stranger"), Low, false)
				s.Reprioritize(stranger, Highest)
				close(hold)
				for _, a := range answers {
					must(t, a.wait(t).err)
				}
				if got, want := order(answers), []int{0, 1, 4, 3, 2}; !slices.Equal(got, want) {
					t.Errorf("requests went out in the order %v, want %v", got, want)
				}
				s.Reprioritize(requests[3], Highest)
				if requests[3].Priority != Lowest || requests[1].Priority != Highest || stranger.Priority != Low {
					t.Errorf("the priorities are %v, %v and %v", requests[3].Priority, requests[1].Priority, stranger.Priority)
				}
			})
		}
	})
}

// TestAnonymous sends requests with and without credentials to a host: each kind
// has its own connections, which are kept, and both share one look-up.
func TestAnonymous(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		b := newBench(t, p)
		b.serve(t, http.HandlerFunc(path))
		s := b.session(t)
		used := map[bool]map[int]bool{true: {}, false: {}}
		lookups := 0
		for round := range 3 {
			var answers []*answer
			var kinds []bool
			// In the first round both wait for the look-up; in the second both connections
			// exist; in the third they are opened again.
			for _, anonymous := range []bool{round == 0, round != 0} {
				r, a := request(t, t.Context(), b.url(pageHost, "/x"), Medium, anonymous)
				s.Fetch(r)
				answers, kinds = append(answers, a), append(kinds, anonymous)
			}
			for i, a := range answers {
				must(t, a.wait(t).err)
				used[kinds[i]][a.record.Connection] = true
				if a.record.DNS >= 0 {
					lookups++
				}
				if want := round != 1; a.record.First != want {
					t.Errorf("round %d, anonymous %v: first over its connection: %v", round, kinds[i], a.record.First)
				}
			}
			if round == 1 {
				must(t, s.Disconnect())
			}
		}
		for n := range used[true] {
			if used[false][n] {
				t.Errorf("connection %d carried both", n)
			}
		}
		if s.Connections() != 4 || len(used[true]) != 2 || len(used[false]) != 2 {
			t.Errorf("%d connections: %v with credentials, %v without", s.Connections(), used[false], used[true])
		}
		if len(b.Lookups()) != 1 || lookups != 1 {
			t.Errorf("looked up %v, recorded by %d requests; want once", b.Lookups(), lookups)
		}
	})
}

// TestTicketsOfTheOtherKind returns with credentials where it was without, and vice
// versa. QUIC then resumes its session, TCP does not.
func TestTicketsOfTheOtherKind(t *testing.T) {
	eachTLS(t, func(t *testing.T, p protocol.Protocol) {
		for _, anonymous := range []bool{true, false} {
			b := newBench(t, p)
			b.serveTLS(t, &tls.Config{}, http.HandlerFunc(path))
			s := b.session(t)
			fetch := func(anonymous bool) bool {
				r, a := request(t, t.Context(), b.url(pageHost, "/1000"), Medium, anonymous)
				s.Fetch(r)
				must(t, a.wait(t).err)
				must(t, s.Disconnect())
				return a.record.Resumed
			}
			if fetch(anonymous) {
				t.Error("the first connection resumed")
			}
			if got, want := fetch(!anonymous), p.Transport == "udp"; got != want {
				t.Errorf("anonymous before %v: resumed %v, want %v", anonymous, got, want)
			}
			if !fetch(anonymous) {
				t.Errorf("anonymous %v: not resumed", anonymous)
			}
		}
	})
}

// TestTickets stores and takes sessions: the last two are kept, the newest is taken
// first, and none twice.
func TestTickets(t *testing.T) {
	states := make([]*tls.ClientSessionState, 4)
	for i := range states {
		states[i] = new(tls.ClientSessionState)
	}
	host, other := &origin{host: pageHost}, &origin{host: imageHost}
	anonymous := &origin{host: pageHost, anonymous: true}
	for _, c := range []struct {
		name     string
		overQUIC bool
		puts     []int // sessions by the connection that brings them, numbered from 0
		at       *origin
		want     []int // sessions taken out
	}{
		{"none", false, nil, host, nil},
		{"one", false, []int{0}, host, []int{0}},
		{"three connections", false, []int{0, 1, 2}, host, []int{2, 1}},
		{"three of one connection", false, []int{0, 0, 0}, host, []int{2, 1}},
		{"of another host", false, []int{0}, other, nil},
		{"with credentials, wanted without", false, []int{0}, anonymous, nil},
		{"QUIC, three connections", true, []int{0, 1, 2}, host, []int{2}},
		{"QUIC, two of the last connection", true, []int{0, 1, 1}, host, []int{2, 1}},
		{"QUIC, with credentials, wanted without", true, []int{0}, anonymous, []int{0}},
		{"QUIC, of another host", true, []int{0}, other, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := newTickets(c.overQUIC, false)
			brings := []tls.ClientSessionCache{all.of(host), all.of(host), all.of(host)}
			for i, by := range c.puts {
				brings[by].Put("", states[i])
				brings[by].Put("", nil)
			}
			var got []int
			for {
				state, ok := all.of(c.at).Get("")
				if !ok {
					break
				}
				got = append(got, slices.Index(states, state))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("took out %v, want %v", got, c.want)
			}
		})
	}
}
