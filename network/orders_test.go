package network

import (
	"testing"
	"time"
)

// TestOrders: an order changes an emulation as the event of that moment would have.
func TestOrders(t *testing.T) {
	link := Link{Rate: 8_000_000, Delay: 10 * time.Millisecond}
	two := Path{Name: "two", Access: []Access{{Name: "AP1", Up: link, Down: link}, {Name: "AP2", Up: link, Down: link}}}
	planned := two
	planned.Events = []Event{{At: time.Second, Direction: "up", Delay: new(30 * time.Millisecond)}, {At: 2 * time.Second, Handover: "AP2"}}
	want, err := planned.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := two.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Duration(0); at < 3*time.Second; at += 100 * time.Millisecond {
		now := int64(at)
		switch at {
		case time.Second:
			err = got.SetDelay(Up, now, 30*time.Millisecond)
		case 2 * time.Second:
			err = got.HandOver(now, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		for access := range two.Access {
			for _, d := range []Direction{Up, Down} {
				due, fate := got.Arrive(access, d, now, 1000)
				if wantDue, wantFate := want.Arrive(access, d, now, 1000); due != wantDue || fate != wantFate {
					t.Errorf("at %v on link %d %v: %v, due at %v; want %v, %v", at, access, d, fate, due, wantFate, wantDue)
				}
			}
		}
	}
	if err := got.HandOver(int64(4*time.Second), 2); err == nil {
		t.Error("a handover to a third of two access links is accepted")
	}
	if err := got.SetDelay(Down, int64(4*time.Second), -1); err == nil {
		t.Error("a negative delay is accepted")
	}
}
