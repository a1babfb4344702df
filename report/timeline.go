package report

import (
	"math"
	"time"

	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
)

// maxSteps limits how many values of a quantity a timeline has: the goodput of a file that takes
// an hour is averaged over several seconds each.
const maxSteps = 600

// Timeline is one stream from its beginning to its end: what was played, what arrived, and what
// the network did. Moments are ms since the viewing began.
type Timeline struct {
	Duration float64 `json:"duration"` // ms
	Failure  string  `json:"failure,omitempty"`

	// For a video: how much is buffered, as corners (ms, s) of a line that is straight between
	// them; what the viewer saw; and the viewer's seeks.
	Buffer [][2]float64 `json:"buffer,omitempty"`
	Spans  []Span       `json:"spans,omitempty"`
	Seeks  []Seek       `json:"seeks,omitempty"`

	// Goodput is the rate at which content arrived, in Mbit/s, in stretches of Step ms. The last
	// one ends with the stream and is up to twice as long, because a shorter remainder would give
	// a meaningless rate.
	Goodput []float64 `json:"goodput"`
	Step    float64   `json:"step"`
	// Delay is the link's: (ms, ms), each from its moment on. Where it changed more
	// than 600 times it is the mean of each Step.
	Delay     [][2]float64 `json:"delay,omitempty"`
	Handovers []Handover   `json:"handovers,omitempty"`
}

// Span is a time during which the viewer saw the same.
type Span struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	State string  `json:"state"`           // of package player
	Shown string  `json:"shown,omitempty"` // the resolution, while it plays
}

// Seek is a jump of the viewer to another segment.
type Seek struct {
	At      float64 `json:"at"`
	Segment int     `json:"segment"` // from 0
}

// Handover is a change of the access link. Moments that were not reached are 0.
type Handover struct {
	At        float64 `json:"at"`
	Access    string  `json:"access"` // in use from then on
	Ready     float64 `json:"ready,omitempty"`
	Recovered float64 `json:"recovered,omitempty"`
}

// timeline makes a timeline of a stream's record.
func timeline(s *record.Stream) *Timeline {
	f := s.Figures
	step := time.Duration(max(1, math.Ceil(f.Duration.Seconds()/maxSteps))) * time.Second
	t := &Timeline{
		Duration: milliseconds(f.Duration), Failure: f.Failure,
		Goodput: goodput(f, step), Step: milliseconds(step), Delay: delays(s, step),
	}
	if s.Player != download && len(f.Timeline) > 0 {
		t.watch(f.Timeline)
	}
	for _, h := range f.Handovers {
		t.Handovers = append(t.Handovers, Handover{milliseconds(h.At), h.Access, milliseconds(h.Ready), milliseconds(h.Recovered)})
	}
	return t
}

// watch adds what the viewer saw.
func (t *Timeline) watch(entries []player.Entry) {
	last, shown := entries[0], ""
	corner := func(at, level time.Duration) {
		p := [2]float64{milliseconds(at), math.Round(level.Seconds()*1e4) / 1e4}
		if n := len(t.Buffer); n == 0 || t.Buffer[n-1] != p {
			t.Buffer = append(t.Buffer, p)
		}
	}
	corner(last.At, last.Buffer)
	for _, e := range entries[1:] {
		before := last.Buffer
		if last.State == player.Playing {
			before -= e.At - last.At
		}
		if before != e.Buffer || last.State != e.State || e.Event == player.Over {
			corner(e.At, before)
			corner(e.At, e.Buffer)
		}
		t.span(last, e.At, shown)
		switch e.Event {
		case player.Showing:
			shown = e.Resolution.String()
		case player.Sought:
			t.Seeks = append(t.Seeks, Seek{milliseconds(e.At), e.Segment})
		}
		last = e
	}
}

// span adds what the viewer saw from an entry until a moment.
func (t *Timeline) span(from player.Entry, to time.Duration, shown string) {
	if from.State != player.Playing {
		shown = ""
	}
	next := Span{milliseconds(from.At), milliseconds(to), string(from.State), shown}
	switch n := len(t.Spans); {
	case to == from.At:
	case n > 0 && t.Spans[n-1].State == next.State && t.Spans[n-1].Shown == shown:
		t.Spans[n-1].To = next.To
	default:
		t.Spans = append(t.Spans, next)
	}
}

// goodput returns the rate at which octets arrived in each step, in Mbit/s.
func goodput(f player.Figures, step time.Duration) []float64 {
	octets := make([]int64, max(1, f.Duration/step))
	for second, n := range f.Goodput {
		octets[min(int64(time.Duration(second)*time.Second/step), int64(len(octets)-1))] += n
	}
	rates := make([]float64, len(octets))
	for i, n := range octets {
		length := step
		if i == len(octets)-1 {
			length = f.Duration - time.Duration(i)*step
		}
		if length > 0 {
			rates[i] = math.Round(float64(8*n)/length.Seconds()/1e3) / 1e3
		}
	}
	return rates
}

// delays returns the link's delays from the stream's beginning to its end, as (ms, ms).
func delays(s *record.Stream, step time.Duration) [][2]float64 {
	if s.Epoch < 0 || len(s.Manager) == 0 {
		return nil
	}
	changes := []manager.Event{s.Manager[0]}
	changes[0].At = 0
	for _, e := range s.Manager[1:] {
		e.At += s.Epoch
		if e.At < s.Figures.Duration && e.Delay != changes[len(changes)-1].Delay {
			changes = append(changes, e)
		}
	}
	if len(changes) > maxSteps {
		changes = means(changes, s.Figures.Duration, step)
	}
	points := make([][2]float64, len(changes))
	for i, e := range changes {
		points[i] = [2]float64{milliseconds(e.At), milliseconds(e.Delay)}
	}
	return points
}

// means returns the mean delay of each step until the end.
func means(changes []manager.Event, end, step time.Duration) []manager.Event {
	var all []manager.Event
	i := 0
	for from := time.Duration(0); from < end; from += step {
		to := min(from+step, end)
		var sum float64
		for at := from; at < to; {
			until := to
			if i+1 < len(changes) {
				until = min(to, changes[i+1].At)
			}
			sum += float64(changes[i].Delay) * float64(until-at)
			if at = until; at < to {
				i++
			}
		}
		all = append(all, manager.Event{At: from, Delay: time.Duration(sum / float64(to-from))})
	}
	return all
}

// milliseconds rounds to a tenth of a millisecond, which is finer than a chart shows.
func milliseconds(d time.Duration) float64 { return math.Round(float64(d)/1e5) / 10 }
