package network

import (
	"cmp"
	"math"
	"slices"
)

// forever is later than anything that happens on a path.
const forever = math.MaxInt64

// schedule is a value that is constant between known moments. It is read
// forwards only, so reading needs no search.
type schedule[T any] struct {
	steps   []step[T] // in order of time, the first at 0
	current int
}

type step[T any] struct {
	at    int64
	value T
}

func startingWith[T any](value T) schedule[T] {
	return schedule[T]{steps: []step[T]{{value: value}}}
}

// set appends a step. at must not lie before the last step.
func (s *schedule[T]) set(at int64, value T) {
	if last := &s.steps[len(s.steps)-1]; last.at == at {
		last.value = value
		return
	}
	s.steps = append(s.steps, step[T]{at, value})
}

// read returns the value at a time, which must not lie before the last time
// read.
func (s *schedule[T]) read(at int64) T {
	for at >= s.until() {
		s.current++
	}
	return s.steps[s.current].value
}

// until returns when the value last read ends.
func (s *schedule[T]) until() int64 {
	if s.current+1 == len(s.steps) {
		return forever
	}
	return s.steps[s.current+1].at
}

// service is what a link does between two events.
type service struct {
	rate   BitRate // 0 = unlimited
	outage outage
}

// outage reports whether the link is stopped, and what then happens to packets.
type outage uint8

const (
	noOutage outage = iota
	holding         // packets wait
	dropping        // packets that wait or arrive are lost
)

// timeline holds everything that events change on one direction of one access
// link.
type timeline struct {
	service schedule[service]
	delay   schedule[int64]
	loss    schedule[float64]
}

// timeline collects the events that concern a link. The path must be valid, so
// no two outages of a link overlap.
func (p Path) timeline(access int, d Direction) timeline {
	link := p.Access[access].link(d)
	now, outageEnd := service{rate: link.Rate}, int64(forever)
	t := timeline{
		service: startingWith(now),
		delay:   startingWith(int64(link.Delay)),
		loss:    startingWith(link.Loss.Rate),
	}
	endOutage := func(by int64) {
		if now.outage != noOutage && outageEnd <= by {
			now.outage = noOutage
			t.service.set(outageEnd, now)
		}
	}
	for _, e := range inOrderOfTime(p.events()) {
		if !e.concerns(p.Access[access].Name, d) {
			continue
		}
		at := int64(e.At)
		endOutage(at)
		if e.Rate != nil {
			now.rate = *e.Rate
		}
		if e.Outage > 0 {
			now.outage, outageEnd = holding, at+int64(e.Outage)
			if e.OutageDrops {
				now.outage = dropping
			}
		}
		t.service.set(at, now)
		if e.Delay != nil {
			t.delay.set(at, int64(*e.Delay))
		}
		if e.Loss != nil {
			t.loss.set(at, *e.Loss)
		}
	}
	endOutage(forever)
	return t
}

// concerns reports whether the event changes that link. Handovers and rebindings change none.
func (e Event) concerns(access string, d Direction) bool {
	return e.Handover == "" && e.Rebind == "" &&
		(e.Access == "" || e.Access == access) &&
		(e.Direction == "" || e.Direction == d.String())
}

func (a *Access) link(d Direction) *Link {
	if d == Up {
		return &a.Up
	}
	return &a.Down
}

func inOrderOfTime(events []Event) []Event {
	return slices.SortedStableFunc(slices.Values(events), func(a, b Event) int {
		return cmp.Compare(a.At, b.At)
	})
}
