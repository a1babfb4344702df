package network

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSharedLine sends packets both ways through a line that both directions share.
func TestSharedLine(t *testing.T) {
	const ms = time.Millisecond
	type packet struct {
		direction Direction
		arrival
	}
	hub := func(l Link, events ...Event) Path {
		p := oneLink(l, events...)
		p.Access[0].Shared = true
		return p
	}
	unlike := hub(Link{Rate: mbit})
	unlike.Access[0].Up.Delay, unlike.Access[0].Down.Delay = 10*ms, 30*ms
	for _, test := range []struct {
		name    string
		path    Path
		packets []packet
	}{
		{"a packet waits for one that travels the other way", hub(Link{Rate: mbit, Delay: 50 * ms}), []packet{
			{Up, arrival{0, 1500, 62 * ms, Delivered}}, {Down, arrival{1 * ms, 125, 63 * ms, Delivered}}, {Up, arrival{1 * ms, 125, 64 * ms, Delivered}}}},
		{"an idle line is free for both", hub(Link{Rate: mbit}), []packet{
			{Up, arrival{0, 125, 1 * ms, Delivered}}, {Down, arrival{1 * ms, 125, 2 * ms, Delivered}}}},
		// 3 bytes at 7 kbit/s take 3428571 3/7 ns.
		{"remainders are carried from one direction to the other", hub(Link{Rate: 7 * kbit}), []packet{
			{Up, arrival{0, 3, 3428572, Delivered}}, {Down, arrival{0, 3, 6857143, Delivered}}, {Up, arrival{0, 3, 10285715, Delivered}}}},
		{"the queue is one", hub(Link{Rate: mbit, Queue: Queue{Packets: 2}}), []packet{
			{Up, arrival{0, 1500, 12 * ms, Delivered}}, {Down, arrival{0, 1500, 24 * ms, Delivered}}, {Up, arrival{0, 40, 0, DroppedQueue}},
			{Down, arrival{12*ms - 1, 40, 0, DroppedQueue}}, {Down, arrival{12 * ms, 125, 25 * ms, Delivered}}}},
		{"each direction has its own delay", unlike, []packet{
			{Up, arrival{0, 125, 11 * ms, Delivered}}, {Down, arrival{0, 125, 32 * ms, Delivered}}, {Up, arrival{0, 125, 13 * ms, Delivered}}}},
		{"an outage stops both", hub(Link{Rate: mbit}, Event{At: 6 * ms, Outage: 100 * ms}), []packet{
			{Up, arrival{0, 1500, 112 * ms, Delivered}}, {Down, arrival{0, 125, 113 * ms, Delivered}}}},
		{"both use one trace up", hub(Link{Trace: trace(10, 20, 30)}), []packet{
			{Up, arrival{0, 1500, 10 * ms, Delivered}}, {Down, arrival{0, 1500, 20 * ms, Delivered}}, {Up, arrival{0, 1500, 30 * ms, Delivered}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := start(t, test.path, 1)
			for i, p := range test.packets {
				due, fate := e.Arrive(0, p.direction, int64(p.now), p.size)
				if fate != p.fate || time.Duration(due) != p.due {
					t.Errorf("packet %d, %v: due %v, %v; want %v, %v", i, p.direction, time.Duration(due), fate, p.due, p.fate)
				}
			}
		})
	}
}

// TestASharedLineIsOneDirectionsLine sends the same packets through a shared line, each in a direction drawn at
// random, and through one direction of an ordinary link. They take the same time to the nanosecond.
func TestASharedLineIsOneDirectionsLine(t *testing.T) {
	dropped := 0
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		link := Link{Rate: kbit + BitRate(random.IntN(10_000_000)), Delay: 5 * time.Millisecond, Queue: Queue{Packets: 10}}
		one := oneLink(link, Event{At: time.Second, Rate: new(link.Rate/2 + kbit)}, Event{At: 2 * time.Second, Outage: time.Second, OutageDrops: true})
		both := one
		both.Access = []Access{one.Access[0]}
		both.Access[0].Shared = true
		plain, shared := start(t, one, seed), start(t, both, seed)
		now := int64(0)
		for i := range 1000 {
			now += int64(random.ExpFloat64() * 12e12 / float64(link.Rate) * 0.6)
			size := 40 + random.IntN(1461)
			wantDue, want := plain.Arrive(0, Down, now, size)
			due, fate := shared.Arrive(0, Direction(random.IntN(2)), now, size)
			if due != wantDue || fate != want {
				t.Fatalf("seed %d, packet %d: due %d, %v; want %d, %v", seed, i, due, fate, wantDue, want)
			}
			if fate != Delivered {
				dropped++
			}
		}
	}
	if dropped < 1000 {
		t.Errorf("%d packets met a full queue or the outage, want 1000 or more", dropped)
	}
}
