package critical

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"wiretime/evidence"
)

// Kind says what a piece of a path was spent on.
type Kind uint8

// The kinds, in the order in which a reader wants them. Delay, Server and Window
// together are the time waiting for the server. The package documentation has the
// rules.
const (
	SetUp      Kind = iota // DNS look-up, transport and TLS handshakes
	Delay                  // propagation: the path's least round-trip delay, once per request
	Server                 // the server has the request and has sent nothing more
	Window                 // the sender waits for acknowledgements of what is in flight
	Bandwidth              // the link is serialising the load's packets
	Queueing               // a packet of the resource waits in a queue behind others
	Loss                   // octets of the resource were lost and not yet retransmitted
	HeadOfLine             // octets of the resource have arrived, but earlier ones have not
	Client                 // neither end uses the network
	kinds                  // the number of kinds
)

var kindNames = [kinds]string{
	"set-up", "path delay", "server", "window", "bandwidth", "queueing", "loss recovery", "head-of-line blocking", "client",
}

// String returns the kind's name for people, which is also its name in JSON.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Phase is the part of a request that a step lies in, under HAR's name. The
// time between resources is ClientPhase.
type Phase string

// The phases. Connect excludes the TLS handshake, which HAR includes.
const (
	Blocked     Phase = "blocked"
	DNS         Phase = "dns"
	Connect     Phase = "connect"
	SSL         Phase = "ssl"
	Send        Phase = "send"
	Wait        Phase = "wait"
	Receive     Phase = "receive"
	ClientPhase Phase = "client"
)

// Step is a piece of a path: From is before To, both in ns since
// navigationStart.
type Step struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Phase Phase  `json:"phase"`
	Kind  Kind   `json:"kind"`
	URL   string `json:"url,omitempty"` // of the resource, cut after 2 KiB; in ClientPhase the one requested or used next; empty: onLoad
	Seen  bool   `json:"seen"`          // the kind follows from packets, not from the phase alone
}

// Path is the critical path of one page: steps laid end to end from
// navigationStart to onLoad. No two neighbours are alike.
type Path struct {
	Page   string `json:"page"`   // its ID in the HAR
	OnLoad int64  `json:"onLoad"` // ns since navigationStart
	Steps  []Step `json:"steps"`
	// Late is the most that packets leaving the emulator late can have moved OnLoad, in
	// ns.
	Late int64 `json:"late"`
}

// Sums adds up the steps by kind, in ns. Their total is OnLoad.
func (p *Path) Sums() [kinds]int64 {
	var sums [kinds]int64
	for _, s := range p.Steps {
		sums[s.Kind] += s.To - s.From
	}
	return sums
}

// MarshalJSON writes the path with its sums by kind.
func (p *Path) MarshalJSON() ([]byte, error) {
	type plain Path
	sums := map[string]int64{}
	for k, sum := range p.Sums() {
		sums[Kind(k).String()] = sum
	}
	return json.Marshal(struct {
		*plain
		Kinds map[string]int64 `json:"kinds"`
	}{(*plain)(p), sums})
}

// Find computes the critical path of each page of a load's HAR that has an onLoad, in
// their order. The packets may be missing or lack the TLS keys; kinds then follow from the
// phases. Errors in the HAR or in the packets are no failure: time that cannot be
// explained is the client's.
func Find(e *evidence.Evidence) []*Path {
	var paths []*Path
	eachPage(e, func(c *chain, l *ledger) {
		p := &Path{Page: c.page.ID, OnLoad: c.onLoad}
		for _, link := range c.walk() {
			steps := l.explain(link)
			p.Steps = append(p.Steps, steps...)
			p.Late += l.late(link, steps)
		}
		p.Steps = merged(p.Steps)
		paths = append(paths, p)
	})
	return paths
}

// eachPage calls f with the pages that have an onLoad, in their order.
func eachPage(e *evidence.Evidence, f func(*chain, *ledger)) {
	if e.HAR == nil {
		return
	}
	chains := newChains(e.HAR)
	traffic := readTraffic(e)
	exchanges := traffic.match(chains)
	for _, c := range chains {
		f(c, &ledger{traffic: traffic, epoch: c.page.Started.UnixNano(), exchanges: exchanges})
	}
}

// merged sorts steps and joins neighbours that are alike.
func merged(steps []Step) []Step {
	slices.SortStableFunc(steps, func(a, b Step) int { return int(min(1, max(-1, a.From-b.From))) })
	out := steps[:0]
	for _, s := range steps {
		if n := len(out); n > 0 && out[n-1].Phase == s.Phase && out[n-1].Kind == s.Kind && out[n-1].URL == s.URL && out[n-1].Seen == s.Seen {
			out[n-1].To = s.To
			continue
		}
		out = append(out, s)
	}
	return out
}

// longest is the longest credible time in ns: some three years.
const longest = 1e17

// nanoseconds converts HAR's ms to ns. Negative values and NaN become 0.
func nanoseconds(ms float64) int64 {
	if !(ms > 0) {
		return 0
	}
	return int64(math.Round(min(ms*1e6, longest)))
}
