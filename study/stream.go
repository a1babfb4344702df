package study

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wiretime/media/manager"
	"wiretime/network"
)

// Stream is what holds for every stream of a study.
type Stream struct {
	Access []string        // names of the access links, one or two; the client begins with the first
	Rate   network.BitRate // of each access link in each direction; 0 = unlimited
	Period time.Duration   // how often the links' delay is drawn; 0 = never: it is the average

	Duration time.Duration // of a viewing; a download ends with its file
	// Window is what reconnections lie within, from the beginning: 0 is the time that a
	// download's file takes at the rate, or the duration of a viewing.
	Window time.Duration
	Seeks  float64 // probability of a seek in each second of a viewing

	// StartAt and ResumeAt are how many segments are buffered when playback starts and
	// when it resumes after a stall, Ahead is how many are buffered at most.
	StartAt, ResumeAt, Ahead int

	Patience time.Duration // how long a side waits for its peer to move
	GiveUp   time.Duration // how long no octet comes, while some are wanted, before a stream has failed

	Capture Capture
}

// Capture is how much of a stream's packets is kept.
type Capture struct {
	Octets  int // of each packet, from its beginning; 0 = all
	Packets int // how many records, the first ones; a packet that is delivered has two; 0 = all
}

// Link is the network of a stream: that of each access link, each way.
type Link struct {
	Delay         time.Duration // average, one-way
	Loss          float64       // packet error rate, 0 to 1
	Reconnections int           // how often the client moves to the other access link
}

// What a client does when it moves to the other access link, by which its address
// changes.
const (
	StrategyReconnect = "reconnect" // it opens a new session
	StrategyZeroRTT   = "0-rtt"     // the same, with the first requests in the first packets
	StrategyMigrate   = "migrate"   // it takes the session along
	StrategyMultihome = "multihome" // nothing: the session has both addresses from the beginning
)

var handoverWords = []string{StrategyReconnect, StrategyZeroRTT, StrategyMigrate, StrategyMultihome}

// streamTimeout bounds a stream where the study does not. What stands still ends
// much earlier, by Stream.GiveUp.
const streamTimeout = time.Hour

// defaultStream is what holds for streams of a study that says nothing. The buffer's
// three and GiveUp are the player's, Patience is the transports'.
func defaultStream() *Stream {
	return &Stream{
		Access: manager.AccessPoints(), Rate: manager.DefaultRate, Period: time.Second, Duration: time.Minute,
		StartAt: 1, ResumeAt: 2, Ahead: 10, Patience: 30 * time.Second, GiveUp: time.Minute,
		Capture: Capture{Octets: 128, Packets: 100_000},
	}
}

// Manager is what the network's manager is to do in one stream of a study of
// streams. octets is the size of a file that is downloaded, 0 for the viewing of a
// video.
func (o Options) Manager(l Link, octets int64, seed uint64) manager.Config {
	s := o.Stream
	c := manager.Config{
		Name: l.Name(), Access: s.Access, Rate: s.Rate, Delay: l.Delay, Loss: l.Loss, Period: s.Period,
		Duration: s.Duration, Reconnections: l.Reconnections, Window: s.Window, Seed: seed,
	}
	if octets > 0 {
		c.Duration = o.Timeout
		if c.Window == 0 {
			c.Window = s.fastest(octets)
		}
	}
	return c
}

// fastest is how long a file takes at the links' rate; 0 if that has no limit.
func (s *Stream) fastest(octets int64) time.Duration {
	if s.Rate == 0 {
		return 0
	}
	return time.Duration(float64(octets) * 8 / float64(s.Rate) * float64(time.Second))
}

// network is the path of all streams over a link: as it is on average, without the
// changes in time, which each stream draws for itself.
func (o Options) network(l Link) (network.Path, error) {
	c := o.Manager(l, 0, 0)
	c.Reconnections = 0 // there may be no room for them in a viewing, but in a download
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

// Name names the network, as in "50ms-1%-3x"; no loss and no reconnection are not
// named.
func (l Link) Name() string {
	name := delayWord(l.Delay)
	if l.Loss > 0 {
		name += "-" + lossWord(l.Loss)
	}
	if l.Reconnections > 0 {
		name += fmt.Sprintf("-%dx", l.Reconnections)
	}
	return name
}

// Values are the values of the link's three axes.
func (l Link) Values() map[Axis]string {
	return map[Axis]string{AxisLinkDelay: delayWord(l.Delay), AxisLoss: lossWord(l.Loss), AxisReconnections: strconv.Itoa(l.Reconnections)}
}

// delayWord is how keys and selections have a link delay.
func delayWord(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

// lossWord is how keys and selections have a loss.
func lossWord(loss float64) string { return strconv.FormatFloat(100*loss, 'g', 10, 64) + "%" }
