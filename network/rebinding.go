package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rebinding is what a network address translator (NAT) between the access links and the servers
// changes when it forgets its bindings, for example because it was restarted. Neither client nor
// server is told.
type Rebinding string

// The rebindings.
const (
	RebindPort    Rebinding = "port"    // flows continue from other ports of the same address
	RebindAddress Rebinding = "address" // flows continue from another address, from the ports that the client has
)

// Rebindings returns what the event key rebind may be.
func Rebindings() []string { return []string{string(RebindPort), string(RebindAddress)} }

// RebindingAt is a moment at which the path's NAT forgets its bindings.
type RebindingAt struct {
	At   time.Duration // since the path's first packet
	Kind Rebinding
}

// Rebindings returns the path's rebindings in order of time. A path without any has no NAT.
func (p Path) Rebindings() (list []RebindingAt) {
	for _, e := range inOrderOfTime(p.Events) {
		if e.Rebind != "" {
			list = append(list, RebindingAt{At: e.At, Kind: e.Rebind})
		}
	}
	return list
}

// Rebound returns how many of the path's rebindings have happened at now ns since the epoch. A
// packet from the client meets the NAT when its access link delivers it, one from the server when
// it arrives at the access link.
func (e *Emulation) Rebound(now int64) int {
	n := 0
	for n < len(e.rebindings) && now+e.from >= int64(e.rebindings[n].At) {
		n++
	}
	return n
}

// Rebindings returns what [Emulation.Rebound] counts.
func (e *Emulation) Rebindings() []RebindingAt { return e.rebindings }

// maxRebindings bounds those of a path: each may take an address of its own.
const maxRebindings = 100

// alone checks that nothing else of the event is set.
func (r Rebinding) alone(e Event) error {
	e.At, e.Rebind = 0, ""
	switch {
	case e != Event{}:
		return errors.New("a rebinding cannot be combined with other changes, nor concern a single access link or direction; write them as an event of their own")
	case r != RebindPort && r != RebindAddress:
		return fmt.Errorf("unknown rebinding %q; write %s or %s", r, RebindPort, RebindAddress)
	}
	return nil
}

func (p Path) validateRebindings() error {
	list := p.Rebindings()
	if len(list) > maxRebindings {
		return fmt.Errorf("%d rebindings are more than %d; leave some out", len(list), maxRebindings)
	}
	for i, r := range list {
		if i > 0 && r.At == list[i-1].At {
			return fmt.Errorf("two rebindings at %v; leave one out", r.At)
		}
	}
	return nil
}

// String writes a rebinding as [ParseRebinding] reads it.
func (r RebindingAt) String() string {
	return string(r.Kind) + "@" + strings.Replace(r.At.String(), "µ", "u", 1)
}

// ParseRebinding reads what changes and when, as in port@2s. The error says what to write.
func ParseRebinding(text string) (RebindingAt, error) {
	kind, moment, _ := strings.Cut(text, "@")
	at, err := time.ParseDuration(moment)
	if err != nil || at < 0 || !slices.Contains(Rebindings(), kind) {
		return RebindingAt{}, fmt.Errorf("invalid rebinding %q: want what changes, %s, and when, as in port@2s", text, strings.Join(Rebindings(), " or "))
	}
	return RebindingAt{At: at, Kind: Rebinding(kind)}, nil
}
