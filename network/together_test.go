package network

import (
	"reflect"
	"testing"
	"time"
)

// both returns a path of two access links of 1 ms and 2 ms that work together.
func both(events ...Event) Path {
	const ms = time.Millisecond
	return Path{Name: "both", Together: true, Events: events, Access: []Access{
		{Name: "wlan", Up: Link{Delay: ms}, Down: Link{Delay: ms}}, {Name: "lte", Up: Link{Delay: 2 * ms}, Down: Link{Delay: 2 * ms}}}}
}

// TestTogether sends over both access links in both directions. Handovers drop nothing,
// and a lost link drops packets from the first nanosecond of its outage to the last.
func TestTogether(t *testing.T) {
	const ms = time.Millisecond
	e := start(t, both(
		Event{At: 5 * ms, Handover: "lte"}, Event{At: 5 * ms, Access: "wlan", Outage: 3 * ms, OutageDrops: true},
		Event{At: 8 * ms, Handover: "wlan"},
	), 1)
	for _, c := range []struct {
		at     time.Duration
		fates  [2]Fate // of the links
		active int
	}{
		{0, [2]Fate{Delivered, Delivered}, 0},
		{5*ms - 1, [2]Fate{Delivered, Delivered}, 0},
		{5 * ms, [2]Fate{DroppedOutage, Delivered}, 1},
		{8*ms - 1, [2]Fate{DroppedOutage, Delivered}, 1},
		{8 * ms, [2]Fate{Delivered, Delivered}, 0},
		{time.Hour, [2]Fate{Delivered, Delivered}, 0},
	} {
		for access, want := range c.fates {
			for _, d := range []Direction{Up, Down} {
				wantDue := c.at + time.Duration(access+1)*ms
				if want != Delivered {
					wantDue = 0
				}
				due, fate := e.Arrive(access, d, int64(c.at), 1500)
				if time.Duration(due) != wantDue || fate != want {
					t.Errorf("link %d, %v, at %v: due %v, %v; want %v, %v", access, d, c.at, time.Duration(due), fate, wantDue, want)
				}
			}
		}
		if got := e.Active(int64(c.at)); got != c.active {
			t.Errorf("at %v the active link is %d, want %d", c.at, got, c.active)
		}
	}
}

// TestTheLinkThatIsLeftComesBack checks when links that were left carry traffic again.
func TestTheLinkThatIsLeftComesBack(t *testing.T) {
	const ms = time.Millisecond
	handover := Event{At: 5 * ms, Handover: "lte"}
	lost := func(change func(*Event)) Event {
		e := Event{At: 5 * ms, Access: "wlan", Outage: 3 * ms, OutageDrops: true}
		change(&e)
		return e
	}
	for _, c := range []struct {
		name   string
		events []Event
		want   time.Duration
	}{
		{"nothing is lost", nil, 0},
		{"it is lost", []Event{lost(func(*Event) {})}, 8 * ms},
		{"all links are lost", []Event{lost(func(e *Event) { e.Access = "" })}, 8 * ms},
		{"each direction is lost", []Event{
			lost(func(e *Event) { e.Direction = "up" }), lost(func(e *Event) { e.Direction, e.Outage = "down", ms })}, 8 * ms},
		{"one direction is lost", []Event{lost(func(e *Event) { e.Direction = "up" })}, 0},
		{"the outage holds", []Event{lost(func(e *Event) { e.OutageDrops = false })}, 0},
		{"the outage began before", []Event{lost(func(e *Event) { e.At-- })}, 0},
		{"the outage begins later", []Event{lost(func(e *Event) { e.At++ })}, 0},
		{"the other link is lost", []Event{lost(func(e *Event) { e.Access = "lte" })}, 0},
	} {
		p := both(append([]Event{handover}, c.events...)...)
		want := []Handover{{At: 5 * ms, From: 0, To: 1, Back: c.want}}
		if got := p.Handovers(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
		p.Together = false
		if got := p.Handovers(); got[0].Back != 0 {
			t.Errorf("%s, with only one link at a time: %+v", c.name, got)
		}
	}
	again := both(
		Event{At: 5 * ms, Handover: "lte"}, Event{At: 5 * ms, Access: "wlan", Outage: 3 * ms, OutageDrops: true},
		Event{At: 8 * ms, Handover: "wlan"}, Event{At: 8 * ms, Access: "lte", Outage: ms, OutageDrops: true},
	)
	want := []Handover{{At: 5 * ms, From: 0, To: 1, Back: 8 * ms}, {At: 8 * ms, From: 1, To: 0, Back: 9 * ms}}
	if got := again.Handovers(); !reflect.DeepEqual(got, want) {
		t.Errorf("two handovers, there and back: %+v, want %+v", got, want)
	}
}
