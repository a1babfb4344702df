package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"wiretime/protocol"
)

// connectionsPerHost is how many HTTP/1.1 connections browsers open to one
// host.
const connectionsPerHost = 6

// mostSockets is Chromium's limit of open connections. For a new one it closes
// the one that has been idle longest; if none is idle, the new one waits.
const mostSockets = 256

// The greatest numbers that strategies can have.
const (
	mostParallel = mostSockets // connections to a host
	mostThreads  = 1000        // requests at a time in all
)

// Strategy says how connections are used. The zero value is what browsers do.
type Strategy struct {
	word  string // without its number; empty: browser
	count int    // connections to a host or, with threads, requests at a time in all, for words with a number
}

// The words of strategies.
const (
	browser     = "browser"
	sequential  = "sequential"
	threads     = "threads"
	keepAlive   = "keep-alive"
	parallel    = "parallel"
	unlimited   = "unlimited"
	pipelined   = "pipelined"
	multiplexed = "multiplexed"
)

// Strategies returns the strategies, those with a number with their default:
//
//   - browser: 6 connections to a host over HTTP/1.1, kept alive; over the others
//     one connection to an origin, with all requests at once. Over TCP it dials more
//     often than turns out to be necessary, like Chromium: a second time if the first
//     attempt takes more than 250 ms, and once for each request, up to 6, to an origin
//     that is not known to multiplex yet.
//   - sequential: one request at a time over all origins, each over its own connection.
//   - threads-N: N requests at a time over all origins, each over its own connection, like
//     a client with N threads that shares nothing between them (Kolmogortsev, section
//     Testing); threads is threads-6.
//   - keep-alive: one request at a time over all origins, one connection to each.
//   - parallel-N: N connections to a host, each with one request at a time; parallel
//     is parallel-6.
//   - unlimited: a new connection for each request that finds no idle one.
//   - pipelined-N: all requests over N connections to a host, without waiting for
//     responses (RFC 9112 section 9.3.2); pipelined is pipelined-1.
//   - multiplexed: one connection to an origin, with all requests at once.
func Strategies() []string {
	return []string{browser, sequential, threads, keepAlive, parallel, unlimited, pipelined, multiplexed}
}

// ParseStrategy parses the word for a strategy; the empty word is browser. N is 1
// to 256, of threads-N 1 to 1000.
func ParseStrategy(word string) (Strategy, error) {
	switch word {
	case "", browser:
		return Strategy{}, nil
	case sequential, keepAlive, unlimited, multiplexed:
		return Strategy{word: word}, nil
	case parallel, threads:
		return Strategy{word, connectionsPerHost}, nil
	case pipelined:
		return Strategy{word, 1}, nil
	}
	for _, numbered := range []struct {
		name, of string
		most     int
	}{{parallel, "connections", mostParallel}, {pipelined, "connections", mostParallel}, {threads, "threads", mostThreads}} {
		digits, ok := strings.CutPrefix(word, numbered.name+"-")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > numbered.most || strconv.Itoa(n) != digits {
			return Strategy{}, fmt.Errorf("invalid strategy %q: the number of %s must be 1 to %d", word, numbered.of, numbered.most)
		}
		return Strategy{numbered.name, n}, nil
	}
	return Strategy{}, fmt.Errorf("unknown strategy %q: there are %s, with a number as in %s-4, %s-2 and %s-6",
		word, strings.Join(Strategies(), ", "), parallel, pipelined, threads)
}

// Plain returns the strategy that ends up with as many connections as a browser, but
// opens no unnecessary ones: parallel over HTTP/1.1, multiplexed over the others.
func Plain(p protocol.Protocol) Strategy {
	if p.Spoken == "http/1.1" {
		return Strategy{parallel, connectionsPerHost}
	}
	return Strategy{word: multiplexed}
}

// String returns the word for the strategy, with its number unless it is the
// default.
func (s Strategy) String() string {
	switch {
	case s.word == "":
		return browser
	case (s.word == parallel || s.word == threads) && s.count != connectionsPerHost, s.word == pipelined && s.count != 1:
		return s.word + "-" + strconv.Itoa(s.count)
	}
	return s.word
}

// Supports returns an error that says why a strategy cannot be used over a
// protocol, or nil if it can.
func (s Strategy) Supports(p protocol.Protocol) error {
	switch clear := p.Spoken == "http/1.1"; {
	case s.word == multiplexed && clear:
		return fmt.Errorf("strategy %s over %s: HTTP/1.1 has no streams; use browser or parallel", s, p.Name)
	case s.word == pipelined && !clear:
		return fmt.Errorf("strategy %s over %s: only HTTP/1.1 has pipelining; use multiplexed", s, p.Name)
	}
	return nil
}

// shared reports whether one connection carries all of an origin's requests at
// once.
func (s Strategy) shared(p protocol.Protocol) bool {
	return p.Spoken != "http/1.1" && (s.word == "" || s.word == multiplexed)
}

// Separate reports whether each request has a connection of its own, so that none is
// left open.
func (s Strategy) Separate() bool { return s.word == sequential || s.word == threads }

// together returns how many requests there may be at a time over all origins.
func (s Strategy) together() int {
	switch s.word {
	case sequential, keepAlive:
		return 1
	case threads:
		return s.count
	}
	return math.MaxInt
}

// lanes returns how many connections an origin may have.
func (s Strategy) lanes() int {
	switch s.word {
	case "":
		return connectionsPerHost
	case sequential, keepAlive:
		return 1
	case unlimited:
		return math.MaxInt
	}
	return s.count
}

// sockets returns how many connections there may be in all.
func (s Strategy) sockets() int {
	if s.word == unlimited || s.word == threads {
		return math.MaxInt
	}
	return mostSockets
}
