// Package manager plays the network's manager of a streaming experiment (Nam et al., 2021,
// section 4.1): it draws the link's delay from time to time, and makes the client move
// between two access points. It decides everything in advance from a seed. It produces a
// path with these changes as its timeline, which an emulator carries out to the nanosecond,
// and a log of what to tell the client and when.
//
// Three things that the paper does not print are chosen here: the standard deviation of the
// delay ([Deviation]), the rate of the links ([DefaultRate]), and equal delay, rate and
// loss in both directions of both access links. The paper's link delay is read as one-way,
// since both ends set it with tc; a round trip takes twice as long.
package manager

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"wiretime/network"
)

// Deviation is the standard deviation of the link delay, as a share of the average. At a
// quarter, an average of 150 ms keeps the delay four times out of five within 100 to 200
// ms, where the paper's clients choose FHD. Negative draws become zero and are too rare to
// move the average (3 in 100,000).
const Deviation = 0.25

// DefaultRate is the links' rate if a study states none: it carries segments in the highest
// resolution, 60 Mbit/s, in real time.
const DefaultRate network.BitRate = 100_000_000

// maxChanges bounds a plan; more suggest a wrong unit.
const maxChanges = 100_000

// AccessPoints returns the names of the paper's access points.
func AccessPoints() []string { return []string{"AP1", "AP2"} }

// Config says what the manager does.
type Config struct {
	Name   string   // name of the path
	Access []string // names of the access links, one or two; the client begins with the first

	Rate  network.BitRate // in each direction of each access link; 0 = unlimited
	Delay time.Duration   // average link delay: one-way, in each direction
	Loss  float64         // packet error rate: the probability of each packet in each direction
	// LossDown loses only packets towards the client, as tc does at the server alone.
	LossDown bool
	// Constant leaves the delay at its average.
	Constant bool

	// Period is how often the manager changes the network: at 0, Period, 2 Period and so
	// on before Duration. With 0 it leaves the delay at its average, and the client on its link.
	Period   time.Duration
	Duration time.Duration

	// Reconnections is how often the client moves to the other access link. The moments are
	// drawn from those of the changes, without 0, before Window; 0 means Duration. A transfer
	// that takes longer over one transport than over another, such as a file, meets all
	// reconnections over each transport only if Window ends before the fastest transfer does,
	// which is the file's size divided by the rate.
	Reconnections int
	Window        time.Duration
	// Together says that the client has both access links at the same time, like a host with
	// two radios ([network.Path.Together]). The link that it leaves is lost until one Period
	// before the client returns to it, but at least for one Period.
	Together bool

	// Rebinding is when and how the path's NAT forgets its bindings, of which nobody is told; nil: it has none.
	Rebinding *network.RebindingAt `json:",omitempty"`

	Seed uint64
}

// Event is what the client is told at a moment, counted from the path's first packet.
type Event struct {
	At     time.Duration `json:"at"`
	Delay  time.Duration `json:"delay"`           // of the link from now on, one-way
	Access string        `json:"access,omitzero"` // link to associate with now; "" = the one it has
}

// Plan draws the changes. The path has them as its events. The log has the same changes;
// its first entry is the initial state. Equal configurations give equal plans. With the
// same seed, other averages deviate by the same share at the same moments, and a plan with
// more reconnections keeps those of a plan with fewer, as does one whose delay is constant. The error says what is wrong with
// the configuration.
func Plan(c Config) (network.Path, []Event, error) {
	if err := c.validate(); err != nil {
		return network.Path{}, nil, fmt.Errorf("plan network %q: %w", c.Name, err)
	}
	log := c.events()
	path := c.path(log)
	if err := path.Validate(); err != nil {
		return network.Path{}, nil, fmt.Errorf("plan a network with a link delay of %v: %w", c.Delay, err)
	}
	return path, log, nil
}

// events draws the log.
func (c Config) events() []Event {
	delays, moments := rand.New(rand.NewPCG(c.Seed, 0)), rand.New(rand.NewPCG(c.Seed, 1))
	if c.Period == 0 {
		return []Event{{Delay: c.Delay}}
	}
	var log []Event
	for i := range int((c.Duration-1)/c.Period) + 1 {
		deviation := c.deviation() * float64(c.Delay) * delays.NormFloat64()
		log = append(log, Event{At: time.Duration(i) * c.Period, Delay: max(0, c.Delay+time.Duration(math.Round(deviation)))})
	}
	chosen := moments.Perm(c.changes())[:c.Reconnections]
	slices.Sort(chosen)
	for i, change := range chosen {
		log[change+1].Access = c.Access[(i+1)%len(c.Access)]
	}
	return log
}

// deviation returns the standard deviation of the delay, as a share of the average.
func (c Config) deviation() float64 {
	if c.Constant {
		return 0
	}
	return Deviation
}

// path turns a log into the timeline of a path.
func (c Config) path(log []Event) network.Path {
	link := network.Link{Rate: c.Rate, Delay: log[0].Delay, Loss: network.Loss{Rate: c.Loss}, Queue: network.DefaultQueue(c.Rate)}
	path := network.Path{
		Name:   c.Name,
		Source: "Nam, Jung, Choi, Koh: Performance Analysis of QUIC Protocol for Web and Streaming Services, KIPS Transactions on Computer and Communication Systems 10(5), 2021, section 4.1",
		Note: fmt.Sprintf("Average link delay: %v up, %v down. Every %v it is drawn anew, from a normal distribution with a standard deviation of %v %% of the average; "+
			"the deviation, the rate of %v each way, and a queue of %d bytes (250 ms at the rate but at least 64 kB; 0 = no limit) are Wiretime's choice, since the paper names none. "+
			"%d changes of the access link. Packet error rate: %v %s.",
			c.Delay, c.Delay, c.Period, 100*c.deviation(), c.Rate, link.Queue.Bytes, c.Reconnections, c.Loss, c.lossDirection()),
		Together: c.Together,
	}
	up := link
	if c.LossDown {
		up.Loss = network.Loss{}
	}
	if c.Together && c.Reconnections > 0 {
		path.Note += " All access links carry at the same time; the one that is left is lost until a period before the client comes back to it."
	}
	active := c.Access[0]
	for _, name := range c.Access {
		path.Access = append(path.Access, network.Access{Name: name, Up: up, Down: link})
	}
	for i, e := range log[1:] {
		path.Events = append(path.Events, network.Event{At: e.At, Delay: new(e.Delay)})
		if e.Access != "" {
			path.Events = append(path.Events, network.Event{At: e.At, Handover: e.Access})
			if c.Together {
				path.Events = append(path.Events, network.Event{At: e.At, Access: active, Outage: c.away(log[i+1:]), OutageDrops: true})
			}
			active = e.Access
		}
	}
	if r := c.Rebinding; r != nil {
		path.Events = append(path.Events, network.Event{At: r.At, Rebind: r.Kind})
	}
	return path
}

func (c Config) lossDirection() string {
	if c.LossDown {
		return "towards the client"
	}
	return "in each direction independently"
}

// away returns how long the access link that the client leaves at the first event stays
// lost.
func (c Config) away(log []Event) time.Duration {
	left := log[0].At
	for _, e := range log[1:] {
		if e.Access != "" {
			return max(c.Period, e.At-c.Period-left)
		}
	}
	return c.Duration - left
}

// changes returns how many moments are available for reconnections.
func (c Config) changes() int {
	window := c.Duration
	if c.Window > 0 {
		window = min(c.Window, c.Duration)
	}
	if c.Period == 0 {
		return 0
	}
	return int((window - 1) / c.Period)
}

func (c Config) validate() error {
	switch {
	case len(c.Access) < 1 || len(c.Access) > 2:
		return fmt.Errorf("%d access links: want one or two, such as AP1 and AP2", len(c.Access))
	case c.Delay < 0:
		return fmt.Errorf("invalid average link delay %v: must not be negative; write it like 50ms", c.Delay)
	case c.Period < 0:
		return fmt.Errorf("invalid period %v: must not be negative; write it like 1s, or 0 for a constant delay", c.Period)
	case c.Duration < 0:
		return fmt.Errorf("invalid duration %v: must not be negative; write it like 60s", c.Duration)
	case c.Period > 0 && c.Duration == 0:
		return errors.New("a period needs a duration: write how long the network changes, such as 60s")
	case c.Period > 0 && c.Duration/c.Period > maxChanges:
		return fmt.Errorf("%v every %v are more than %d changes; make the period longer", c.Duration, c.Period, maxChanges)
	case c.Window < 0:
		return fmt.Errorf("invalid window %v: must not be negative; write it like 60s, or 0 for the whole duration", c.Window)
	case c.Reconnections < 0:
		return fmt.Errorf("invalid number of reconnections %d: must not be negative", c.Reconnections)
	case c.Reconnections > 0 && len(c.Access) < 2:
		return fmt.Errorf("%d reconnections need two access links, and it has only %q; name another one", c.Reconnections, c.Access[0])
	case c.Reconnections > 0 && c.Period == 0:
		return fmt.Errorf("%d reconnections need a period: they happen when the network changes, such as every 1s", c.Reconnections)
	case c.Reconnections > c.changes():
		return fmt.Errorf("there is no room for %d reconnections: with a period of %v there are %d moments for them; make the period shorter or the duration longer", c.Reconnections, c.Period, c.changes())
	}
	return nil
}
