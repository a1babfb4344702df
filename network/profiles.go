package network

import (
	"fmt"
	"time"
)

// Profiles returns the named paths in the order in which they are listed:
// today's common mobile and fixed networks, satellites, then those of the
// papers. Source says where a profile's figures come from. Note says which of
// them are Wiretime's own choice and why, and spells out the delay of each
// direction and the queue.
func Profiles() []Path {
	var all []Path
	for _, group := range [][]figures{webPageTest, otherToday, kim2013, nam2021(), kolmogortsev, lulic2013()} {
		for _, f := range group {
			all = append(all, f.path())
		}
	}
	for _, b := range buses {
		all = append(all, b.path())
	}
	return append(all, adslWeek.path())
}

// Profile returns the profile with that name. The error for an unknown name
// suggests the nearest known one.
func Profile(name string) (Path, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if nearest := Nearest(name, names); nearest != "" {
		return Path{}, fmt.Errorf("unknown network %q; did you mean %q?", name, nearest)
	}
	return Path{}, fmt.Errorf("unknown network %q; `wiretime networks` lists the known ones", name)
}

// figures describes a profile with one access link whose delay is the same in
// both directions.
type figures struct {
	name, access string
	source, note string
	down, up     BitRate
	rtt          time.Duration // half of it per direction
	loss         float64       // in each direction
	queue        *Queue        // nil = DefaultQueue of each direction's rate
}

func (f figures) path() Path {
	link := func(rate BitRate) Link {
		l := Link{Rate: rate, Delay: f.rtt / 2, Loss: Loss{Rate: f.loss}, Queue: DefaultQueue(rate)}
		if f.queue != nil {
			l.Queue = *f.queue
		}
		return l
	}
	up, down := link(f.up), link(f.down)
	note := fmt.Sprintf("%s One-way delay: %v up, %v down. ", f.note, up.Delay, down.Delay)
	if f.queue != nil {
		note += fmt.Sprintf("Queue: %d packets each way, dummynet's default of 50 slots (ipfw(8)).", f.queue.Packets)
	} else {
		note += fmt.Sprintf("Queue: %d bytes up, %d bytes down, 250 ms at the rate but at least 64 kB, since the source names none.",
			up.Queue.Bytes, down.Queue.Bytes)
	}
	return Path{
		Name: f.name, Source: f.source, Note: note,
		Access: []Access{{Name: f.access, Up: up, Down: down}},
	}
}

const (
	kbit BitRate = 1_000
	mbit BitRate = 1_000_000
)
