package study

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wiretime/media/manager"
	"wiretime/network"
)

// Stream holds the settings that apply to every stream of a study.
type Stream struct {
	Access []string        // names of the access links, one or two; the client begins with the first
	Rate   network.BitRate // of each access link in each direction; 0 = unlimited
	Period time.Duration   // how often the links draw a new delay; 0 = never: the delay stays at its average

	Duration time.Duration // of a viewing; a download ends with its file
	// Window is the time from the beginning in which all reconnections take place. 0 means
	// the time that a download's file takes at Rate, or the duration of a viewing.
	Window time.Duration
	Seeks  float64 // probability of a seek in each second of a viewing, 0 to 1

	StartAt  int // buffered segments at which playback starts
	ResumeAt int // buffered segments at which playback resumes after a stall
	Ahead    int // largest number of buffered segments

	Patience time.Duration // how long a transport waits for a silent peer
	GiveUp   time.Duration // how long the player waits for octets before the stream has failed

	Capture Capture
}

// Capture limits how much of a stream's packets is kept.
type Capture struct {
	Octets  int // from the beginning of each packet; 0 = all
	Packets int // number of records, the first ones; a delivered packet has two records; 0 = all
}

// Link describes each access link of a stream, in each direction.
type Link struct {
	Delay         time.Duration // average, one-way
	Loss          float64       // packet error rate, 0 to 1
	LossDown      bool          // only packets towards the client are lost
	Reconnections int           // number of moves to the other access link
	Constant      bool          // the delay stays at its average
}

// Which packets of a stream may be lost.
const (
	LossBoth = "both" // those of either direction
	LossDown = "down" // those towards the client
)

// Whether the network's manager varies the link delay of a stream.
const (
	VariationDrawn = "drawn" // it draws the delay anew every period
	VariationNone  = "none"  // the delay stays at its average
)

// Whether TCP acknowledges selectively (RFC 2018).
const (
	SACKOn  = "on"
	SACKOff = "off"
)

// What a client does when it moves to the other access link, which changes its address.
const (
	StrategyReconnect = "reconnect" // it opens a new session
	StrategyZeroRTT   = "0-rtt"     // it opens a new session, with the first requests in the first packets
	StrategyMigrate   = "migrate"   // it keeps its session and moves it to the new address
	StrategyMultihome = "multihome" // nothing: its session has had both addresses from the beginning
)

// What the network's manager is.
const (
	ManagerPlanned = "planned" // a plan that is known beforehand: its changes are the path's own events
	ManagerNode    = "node"    // a third node, which tells client and server what to change over their control interfaces
)

// RebindingNone says that no NAT is on a stream's path, or that it keeps its bindings.
const RebindingNone = "none"

// Rebinding returns the rebinding of a stream's path; ok is false if there is none.
func (c Cell) Rebinding() (r network.RebindingAt, ok bool) {
	r, err := network.ParseRebinding(c.On(AxisRebinding)) // whoever made the cell has checked it
	return r, err == nil
}

// Manager returns the configuration of the network manager for one stream of a study of
// streams. octets is the size of the file to download, 0 for the viewing of a video.
func (o Options) Manager(l Link, octets int64, seed uint64) manager.Config {
	s := o.Stream
	c := manager.Config{
		Name: l.Name(), Access: s.Access, Rate: s.Rate, Delay: l.Delay, Loss: l.Loss, LossDown: l.LossDown, Constant: l.Constant, Period: s.Period,
		Duration: s.Duration, Reconnections: l.Reconnections, Window: s.Window, Seed: seed,
	}
	if octets > 0 {
		c.Duration = o.Timeout
		if c.Window == 0 {
			c.Window = s.Fastest(octets)
		}
	}
	return c
}

// Fastest returns how long a file of this size takes at the links' rate, or 0 if the rate is
// unlimited.
func (s *Stream) Fastest(octets int64) time.Duration {
	if s.Rate == 0 {
		return 0
	}
	return time.Duration(float64(octets) * 8 / float64(s.Rate) * float64(time.Second))
}

// AveragePath returns the path that all streams over a link have in common: the link's
// averages, without the changes over time that each stream draws for itself. The error says
// why the network manager cannot emulate the link.
func (o Options) AveragePath(l Link) (network.Path, error) {
	c := o.Manager(l, 0, 0)
	c.Reconnections = 0 // a viewing may be too short for them although a download is not
	path, _, err := manager.Plan(c)
	if err != nil {
		return network.Path{}, err
	}
	path.Events = nil
	for i := range path.Access {
		path.Access[i].Up.Delay, path.Access[i].Down.Delay = l.Delay, l.Delay
	}
	return path, nil
}

// Name returns the network's name, such as "50ms-1%-3x" or "50ms-1%-down-constant". It leaves
// out what is usual.
func (l Link) Name() string {
	name := delayWord(l.Delay)
	if l.Loss > 0 {
		name += "-" + lossWord(l.Loss)
	}
	if l.LossDown {
		name += "-down"
	}
	if l.Reconnections > 0 {
		name += fmt.Sprintf("-%dx", l.Reconnections)
	}
	if l.Constant {
		name += "-constant"
	}
	return name
}

// Values returns the link's values on the axes that describe it.
func (l Link) Values() map[Axis]string {
	values := map[Axis]string{
		AxisLinkDelay: delayWord(l.Delay), AxisLoss: lossWord(l.Loss), AxisReconnections: strconv.Itoa(l.Reconnections),
		AxisLossDirection: LossBoth, AxisDelayVariation: VariationDrawn,
	}
	if l.LossDown {
		values[AxisLossDirection] = LossDown
	}
	if l.Constant {
		values[AxisDelayVariation] = VariationNone
	}
	return values
}

func delayWord(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

func lossWord(loss float64) string { return strconv.FormatFloat(100*loss, 'g', 10, 64) + "%" }
