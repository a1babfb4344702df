package session

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/protocol"
)

func TestParseStrategy(t *testing.T) {
	for _, c := range []struct{ word, want, failure string }{
		{"", "browser", ""}, {"browser", "browser", ""}, {"sequential", "sequential", ""}, {"keep-alive", "keep-alive", ""},
		{"parallel", "parallel", ""}, {"parallel-6", "parallel", ""}, {"parallel-4", "parallel-4", ""}, {"parallel-256", "parallel-256", ""},
		{"pipelined", "pipelined", ""}, {"pipelined-1", "pipelined", ""}, {"pipelined-2", "pipelined-2", ""},
		{"threads", "threads", ""}, {"threads-6", "threads", ""}, {"threads-1", "threads-1", ""}, {"threads-1000", "threads-1000", ""},
		{"unlimited", "unlimited", ""}, {"multiplexed", "multiplexed", ""},
		{"parallel-0", "", "1 to 256"}, {"parallel-257", "", "1 to 256"}, {"pipelined-x", "", "1 to 256"}, {"parallel-04", "", "1 to 256"},
		{"threads-0", "", "number of threads must be 1 to 1000"}, {"threads-1001", "", "1 to 1000"}, {"threads-06", "", "1 to 1000"},
		{"parallel-", "", "1 to 256"}, {"sequential-2", "", "unknown strategy"}, {"Browser", "", "unknown strategy"},
	} {
		s, err := ParseStrategy(c.word)
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) || err == nil && s.String() != c.want {
			t.Errorf("%q is parsed as %v, error %v; want %q, %q", c.word, s, err, c.want, c.failure)
		}
	}
	if s, _ := ParseStrategy("browser"); s != (Strategy{}) {
		t.Errorf("browser is %+v, not the zero value", s)
	}
	for _, word := range Strategies() {
		if s, err := ParseStrategy(word); err != nil || s.String() != word {
			t.Errorf("%q of the list is parsed as %v, error %v", word, s, err)
		}
	}
}

// strategy parses a known word.
func strategy(t *testing.T, word string) Strategy {
	t.Helper()
	s, err := ParseStrategy(word)
	must(t, err)
	return s
}

// TestStrategies uses a server that holds requests back until as many have
// arrived as the strategy sends at a time, and counts connections.
func TestStrategies(t *testing.T) {
	const each = 10 // resources of each of two hosts
	for _, c := range []struct {
		word string
		// Connections to each host and requests at a time to each, over HTTP/1.1 and
		// over the others. 0: not supported.
		connections, multiplexed int
		together, streams        int
	}{
		{"browser", 6, 1, 6, each},
		{"sequential", each, each, 1, 1},
		{"threads-1", each, each, 1, 1},
		{"keep-alive", 1, 1, 1, 1},
		{"parallel", 6, 6, 6, 6},
		{"parallel-2", 2, 2, 2, 2},
		{"unlimited", each, each, each, each},
		{"pipelined", 1, 0, 1, 0},
		{"pipelined-3", 3, 0, 3, 0},
		{"multiplexed", 0, 1, 0, each},
	} {
		t.Run(c.word, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				connections, together := c.connections, c.together
				if p.Spoken != "http/1.1" {
					connections, together = c.multiplexed, c.streams
				}
				b := newBench(t, p)
				b.options.Strategy = strategy(t, c.word)
				if err := b.options.Strategy.Supports(p); (err == nil) != (connections > 0) {
					t.Fatalf("want the strategy to be supported: %v", err)
				} else if err != nil {
					return
				}
				var mu sync.Mutex
				now, most := map[string]int{}, map[string]int{}
				total, mostTotal := 0, 0
				full := map[string]chan struct{}{pageHost: make(chan struct{}), imageHost: make(chan struct{})}
				server := b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					host, _, _ := strings.Cut(r.Host, ":")
					mu.Lock()
					total++
					now[host]++
					most[host], mostTotal = max(most[host], now[host]), max(mostTotal, total)
					if now[host] == together && most[host] == together {
						select {
						case <-full[host]:
						default:
							close(full[host])
						}
					}
					mu.Unlock()
					if b.options.Strategy.together() > 1 {
						<-full[host]
					}
					mu.Lock()
					total--
					now[host]--
					mu.Unlock()
					path(w, r)
				}))
				s := b.session(t)
				var answers []*answer
				for i := range each {
					answers = append(answers, get(t, s, b.url(pageHost, fmt.Sprintf("/a/%d", 1000*i)), Medium))
					answers = append(answers, get(t, s, b.url(imageHost, fmt.Sprintf("/b/%d", 1000*i)), Medium))
				}
				used := map[string]map[int]bool{}
				for i, a := range answers {
					a.wait(t)
					must(t, a.err)
					if len(a.body) != 1000*(i/2) || a.head.StatusCode != 200 || a.record.Proto != p.Spoken || a.record.Body != int64(len(a.body)) {
						t.Errorf("answer %d has %d octets: %+v", i, len(a.body), a.record)
					}
					if used[a.record.Remote] == nil {
						used[a.record.Remote] = map[int]bool{}
					}
					if a.record.First != !used[a.record.Remote][a.record.Connection] && b.options.Strategy.Separate() {
						t.Errorf("answer %d is the first over its connection: %v", i, a.record.First)
					}
					used[a.record.Remote][a.record.Connection] = true
				}
				mu.Lock()
				for _, host := range []string{pageHost, imageHost} {
					if got := len(used[b.Hosts[host].String()]); got != connections {
						t.Errorf("%d connections to %s, want %d", got, host, connections)
					}
					if most[host] != together {
						t.Errorf("%d requests at a time to %s, want %d", most[host], host, together)
					}
				}
				if b.options.Strategy.together() == 1 && mostTotal != 1 {
					t.Errorf("%d requests at a time in all, want 1", mostTotal)
				}
				mu.Unlock()
				begun := 2 * connections
				if c.word == "browser" && p.Spoken != "http/1.1" && p.Transport == "tcp" {
					// The hosts are not yet known to multiplex.
					begun *= connectionsPerHost
				}
				if got := s.Connections(); got < 2*connections || got > begun {
					t.Errorf("%d connections in all, want %d, dialled from %d", got, 2*connections, begun)
				}
				must(t, s.Close())
				must(t, server.Close())
				seen := map[int64]bool{}
				for _, e := range server.Log() {
					seen[e.Connection] = true
				}
				if len(seen) != 2*connections {
					t.Errorf("the server saw %d connections, want %d", len(seen), 2*connections)
				}
			})
		})
	}
}

// TestThreads uses a server that answers nobody until as many requests have arrived as there
// are threads, whatever their hosts: there are never more, and each has its own connection.
func TestThreads(t *testing.T) {
	for _, c := range []struct{ threads, requests int }{{1, 3}, {4, 20}, {6, 20}, {20, 20}, {300, 300}} {
		t.Run(fmt.Sprint(c.threads), func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				if c.threads > mostSockets && p.ALPN != "" {
					return // the limit of sockets is the same for all protocols
				}
				b := newBench(t, p)
				b.options.Strategy = strategy(t, fmt.Sprint("threads-", c.threads))
				must(t, b.options.Strategy.Supports(p))
				var mu sync.Mutex
				now, most := 0, 0
				full := make(chan struct{})
				server := b.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					now++
					if most = max(most, now); now == c.threads && most == now {
						select {
						case <-full:
						default:
							close(full)
						}
					}
					mu.Unlock()
					<-full
					mu.Lock()
					now--
					mu.Unlock()
					path(w, r)
				}))
				s := b.session(t)
				var answers []*answer
				for i := range c.requests {
					answers = append(answers, get(t, s, b.url([]string{pageHost, imageHost}[i%2], fmt.Sprintf("/%d", i)), Medium))
				}
				for i, a := range answers {
					must(t, a.wait(t).err)
					if !a.record.First || len(a.body) != i {
						t.Errorf("answer %d has %d octets and is the first over its connection: %t", i, len(a.body), a.record.First)
					}
				}
				must(t, s.Close())
				must(t, server.Close())
				over := map[int64]bool{}
				for _, e := range server.Log() {
					over[e.Connection] = true
				}
				if len(over) != c.requests || s.Connections() != c.requests {
					t.Errorf("the server saw %d connections and the client opened %d, want %d", len(over), s.Connections(), c.requests)
				}
				if most != c.threads {
					t.Errorf("%d requests at a time, want %d", most, c.threads)
				}
			})
		})
	}
}

// TestOrder makes requests of all priorities wait for one connection.
func TestOrder(t *testing.T) {
	for _, word := range []string{"parallel-1", "keep-alive", "sequential", "threads-1", "multiplexed"} {
		t.Run(word, func(t *testing.T) {
			loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
				b := newBench(t, p)
				b.options.Strategy = strategy(t, word)
				if b.options.Strategy.Supports(p) != nil {
					return
				}
				b.serve(t, http.HandlerFunc(path))
				hold := make(chan struct{})
				b.options.Resolve = holdBack(b.options.Resolve, hold)
				s := b.session(t)
				var answers []*answer
				for i, priority := range []Priority{Highest, Idle, Highest, Medium, Highest, Lowest, Low} {
					answers = append(answers, get(t, s, b.url(pageHost, fmt.Sprint("/", i)), priority))
				}
				close(hold)
				for _, a := range answers {
					must(t, a.wait(t).err)
				}
				if got, want := order(answers), []int{0, 2, 4, 3, 6, 5, 1}; !slices.Equal(got, want) {
					t.Errorf("requests went out in the order %v, want %v", got, want)
				}
			})
		})
	}
}

// holdBack returns a resolver that answers once hold is closed.
func holdBack(resolve func(context.Context, string) (netip.Addr, error), hold chan struct{}) func(context.Context, string) (netip.Addr, error) {
	return func(ctx context.Context, host string) (netip.Addr, error) {
		<-hold
		return resolve(ctx, host)
	}
}

// order returns the order in which requests were sent.
func order(answers []*answer) []int {
	var all []int
	for i := range answers {
		all = append(all, i)
	}
	slices.SortFunc(all, func(i, j int) int { return answers[i].record.Sending.Compare(answers[j].record.Sending) })
	return all
}
