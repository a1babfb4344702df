package network

import (
	"strings"
	"testing"
	"time"
)

// TestRebindings: rebindings count from their moment on, in the path's time, and change no link.
func TestRebindings(t *testing.T) {
	link := Link{Delay: 10 * time.Millisecond}
	p := Path{Name: "nat", Access: []Access{{Name: "access", Up: link, Down: link}}, Events: []Event{
		{At: 3 * time.Second, Rebind: RebindAddress}, {At: time.Second, Rebind: RebindPort}, {At: 2 * time.Second, Loss: new(0.5)},
	}}
	e, err := p.StartAt(500*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {500*time.Millisecond - 1, 0}, {500 * time.Millisecond, 1}, {2500*time.Millisecond - 1, 1}, {2500 * time.Millisecond, 2}, {time.Hour, 2}} {
		if got := e.Rebound(int64(test.at)); got != test.want {
			t.Errorf("%d rebindings at %v, want %d", got, test.at, test.want)
		}
	}
	if list := e.Rebindings(); list[0].Kind != RebindPort || list[1].Kind != RebindAddress {
		t.Errorf("the rebindings are %v", list)
	}
	if due, fate := e.Arrive(0, Down, int64(600*time.Millisecond), 100); fate != Delivered || due != int64(610*time.Millisecond) {
		t.Errorf("a packet after a rebinding: %v, due at %v", fate, time.Duration(due))
	}
}

func TestRebindingsThatAreRefused(t *testing.T) {
	many := make([]Event, maxRebindings+1)
	for i := range many {
		many[i] = Event{At: time.Duration(i), Rebind: RebindPort}
	}
	for _, test := range []struct {
		says   string
		events []Event
	}{
		{`unknown rebinding "ports"; write port or address`, []Event{{Rebind: "ports"}}},
		{"cannot be combined", []Event{{Rebind: RebindPort, Access: "access"}}},
		{"cannot be combined", []Event{{Rebind: RebindPort, Outage: time.Second}}},
		{"two rebindings at 1s", []Event{{At: time.Second, Rebind: RebindPort}, {At: time.Second, Rebind: RebindAddress}}},
		{"101 rebindings", many},
	} {
		err := Path{Name: "nat", Access: []Access{{Name: "access"}}, Events: test.events}.Validate()
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want an error that says %q", test.events[0], err, test.says)
		}
	}
}
