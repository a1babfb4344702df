package network

import (
	"net/netip"
	"time"
)

// Path is what lies between client and server: one or more access links of the
// client, each with an up and a down link, and a timeline of events. The first
// access link is the active one until a handover. A Path survives a round trip
// through JSON unchanged.
type Path struct {
	Name   string   `json:"name"`
	Source string   `json:"source,omitzero"` // where the figures come from
	Note   string   `json:"note,omitzero"`   // how the source was read, with the delay of each direction
	Access []Access `json:"access"`
	// Together says that all access links carry traffic at the same time, as on a host
	// with several radios; otherwise only the active one does. Handovers then only say
	// which link the client uses from there on.
	Together bool    `json:"together,omitzero"`
	Events   []Event `json:"events,omitzero"`
	// Far holds the servers that are farther away than the others, by address, with
	// their one-way delay beyond the access links, the same in each direction.
	Far map[netip.Addr]time.Duration `json:"far,omitempty"`
}

// Access is one access link of the client.
type Access struct {
	Name string `json:"name"`
	Up   Link   `json:"up"`   // client to server
	Down Link   `json:"down"` // server to client
	// Shared says that both directions take turns on one line, as on a half-duplex medium or in a
	// dummynet pipe that takes packets both ways: one queue and one rate or trace, that of Up and
	// of Down alike. Delay, jitter and loss remain each direction's own.
	Shared bool `json:"shared,omitzero"`
	// Ride sets the rate and the delay of both directions from time 0 on, in place of those of
	// Up and Down, and takes the link down. Ride.Access returns an access link with one.
	Ride *Ride `json:"ride,omitzero"`
}

// Link is one direction of an access link. The zero Link passes every packet
// at once.
type Link struct {
	Rate    BitRate       `json:"rate,omitzero"`    // bit/s at the IP layer; 0 = unlimited, or set by Trace
	Trace   *Trace        `json:"trace,omitzero"`   // delivery opportunities, in place of Rate
	Delay   time.Duration `json:"delay,omitzero"`   // one-way, added after serialisation
	Jitter  time.Duration `json:"jitter,omitzero"`  // standard deviation of a normal distribution around Delay, cut off below zero delay
	Reorder bool          `json:"reorder,omitzero"` // packets may overtake one another; otherwise due times never decrease
	Loss    Loss          `json:"loss,omitzero"`
	Queue   Queue         `json:"queue,omitzero"`
}

// Loss is how a link loses packets at random: either independently or in
// bursts.
type Loss struct {
	Rate           float64         `json:"rate,omitzero"` // probability, 0 to 1, of each packet independently
	GilbertElliott *GilbertElliott `json:"gilbert_elliott,omitzero"`
}

// GilbertElliott is the two-state Markov chain of bursty loss (Gilbert 1960,
// Elliott 1963). The chain starts in the good state. Each packet is lost with
// the probability of the present state, then the chain moves. In the long run
// the share of packets lost is (R*GoodLoss + P*BadLoss) / (P + R).
type GilbertElliott struct {
	P        float64 `json:"p"`         // probability per packet of moving from good to bad, above 0
	R        float64 `json:"r"`         // probability per packet of moving from bad to good, above 0
	GoodLoss float64 `json:"good_loss"` // probability of loss in the good state
	BadLoss  float64 `json:"bad_loss"`  // probability of loss in the bad state
}

// Queue is the limit of a drop-tail queue in front of the serialiser. The
// packet in service counts. Zero means no limit; both limits may be set.
type Queue struct {
	Bytes   int `json:"bytes,omitzero"`
	Packets int `json:"packets,omitzero"`
}

// DefaultQueue returns the queue of a link whose source names none: as many
// bytes as the rate carries in 250 ms, but at least 64 kB, a common size in
// home routers that lets a slow link hold a whole initial congestion window. An
// unlimited rate needs no queue.
func DefaultQueue(rate BitRate) Queue {
	if rate == 0 {
		return Queue{}
	}
	return Queue{Bytes: max(64_000, int(rate/8/4))}
}

// Event changes a path at a given time. It sets any of rate, delay, loss and
// outage on the links it names, or it is a handover or a rebinding and nothing else. If two
// events set the same thing at the same instant, the later in the list wins.
type Event struct {
	At          time.Duration  `json:"at"`                    // since the path's first packet
	Access      string         `json:"access,omitzero"`       // name of the access link; "" = every one
	Direction   string         `json:"direction,omitzero"`    // "up", "down", or "" = both
	Rate        *BitRate       `json:"rate,omitzero"`         // from now on
	Delay       *time.Duration `json:"delay,omitzero"`        // one-way, for packets whose serialisation ends from now on
	Loss        *float64       `json:"loss,omitzero"`         // probability of independent loss, for packets that arrive from now on
	Outage      time.Duration  `json:"outage,omitzero"`       // the link stops for this long
	OutageDrops bool           `json:"outage_drops,omitzero"` // the outage drops waiting and arriving packets instead of holding them
	Handover    string         `json:"handover,omitzero"`     // name of the access link that becomes the active one
	Rebind      Rebinding      `json:"rebind,omitzero"`       // what the NAT changes when it forgets its bindings
}

// Direction is a direction of travel.
type Direction uint8

// The two directions.
const (
	Up   Direction = iota // client to server
	Down                  // server to client
)

// String returns "up" or "down".
func (d Direction) String() string {
	if d == Up {
		return "up"
	}
	return "down"
}

// Handover is a moment at which the client changes its access link. From and To
// are indices into Path.Access.
type Handover struct {
	At       time.Duration
	From, To int
	// Back is when From carries traffic again on a path whose links work together: the
	// end of the outage that begins at the handover and drops in both directions. It is 0
	// if From was not lost, or if the links do not work together.
	Back time.Duration
}

// Handovers returns the path's handovers in order of time. The path must be
// valid.
func (p Path) Handovers() []Handover {
	var handovers []Handover
	active := 0
	for _, e := range inOrderOfTime(p.Events) {
		if e.Handover == "" {
			continue
		}
		to := p.accessIndex(e.Handover)
		handovers = append(handovers, Handover{At: e.At, From: active, To: to, Back: p.back(active, e.At)})
		active = to
	}
	return handovers
}

// back returns when an access link left at that moment carries traffic again.
func (p Path) back(access int, left time.Duration) time.Duration {
	if !p.Together {
		return 0
	}
	var ends [2]time.Duration
	for _, e := range p.Events {
		for _, d := range []Direction{Up, Down} {
			if e.At == left && e.Outage > 0 && e.OutageDrops && e.concerns(p.Access[access].Name, d) {
				ends[d] = e.At + e.Outage
			}
		}
	}
	if ends[Up] == 0 || ends[Down] == 0 {
		return 0 // a link that keeps one direction is not lost
	}
	return max(ends[Up], ends[Down])
}

// accessIndex returns the index of the access link with that name, or -1.
func (p Path) accessIndex(name string) int {
	for i, a := range p.Access {
		if a.Name == name {
			return i
		}
	}
	return -1
}
