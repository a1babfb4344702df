package player

import (
	"math/bits"
	"slices"
	"time"
)

// State is what the viewer sees.
type State string

// These are the states. A viewing is always in exactly one of them.
const (
	Starting State = "starting" // nothing has been played yet; a file stays so
	Playing  State = "playing"
	Stalled  State = "stalled" // the buffer ran empty
	Seeking  State = "seeking" // after a seek, nothing has been played yet
	Ended    State = "ended"   // the video's end has been reached
)

// level is how much is buffered.
func (p *Player) level() time.Duration {
	if p.config.Mode == File {
		return 0
	}
	return time.Duration(len(p.buffer))*SegmentLength - p.progress()
}

// progress is how much of the segment at the head has been played.
func (p *Player) progress() time.Duration {
	if p.state != Playing {
		return 0
	}
	return p.now - p.headAt
}

// play starts or resumes playback if there is enough for it, or nothing more to
// come.
func (p *Player) play() {
	if p.state == Playing || p.state == Ended {
		return
	}
	threshold := p.config.StartAt
	if p.state == Stalled {
		threshold = p.config.ResumeAt
	}
	switch left := p.segments - p.head; {
	case left <= 0:
		p.enter(Ended)
	case len(p.buffer) >= min(threshold, left):
		if !p.figures.Started {
			p.figures.Started, p.figures.StartUp = true, p.now
		}
		p.enter(Playing)
		p.show()
	}
}

// enter changes the state.
func (p *Player) enter(s State) {
	p.account()
	p.state, p.headAt = s, p.now
	switch s {
	case Stalled:
		p.figures.Stalls++
	case Ended:
		p.discard(len(p.buffer))
	}
	p.note(Entry{Event: Event(s), Segment: p.head})
	if s == Ended && p.config.SeekProbability == 0 && !p.config.SeeksFromOutside {
		p.end(nil)
	}
}

// account adds the time since the last change to the state's.
func (p *Player) account() {
	*p.figures.Times.of(p.state) += p.now - p.since
	p.since = p.now
}

// show starts to play the segment at the head.
func (p *Player) show() {
	p.headAt = p.now
	resolution := p.buffer[0].resolution
	if p.shown != Plain && p.shown != resolution {
		p.figures.Switches++
	}
	p.shown = resolution
	p.note(Entry{Event: Showing, Segment: p.head, Resolution: resolution})
}

// played goes on to the next segment.
func (p *Player) played() {
	p.figures.Played += p.buffer[0].octets
	p.buffer = slices.Delete(p.buffer, 0, 1)
	p.head++
	switch {
	case len(p.buffer) > 0:
		p.show()
	case p.head >= p.segments:
		p.enter(Ended)
	default:
		p.enter(Stalled)
	}
	p.ask()
}

// maybeSeek decides whether the viewer seeks in this second. It draws the target in any
// case, so that seeks are the same whatever the probability.
func (p *Player) maybeSeek() {
	p.seekAt += time.Second
	luck, to := p.seeks.Float64(), p.seeks.IntN(p.config.Segments)
	if luck < p.config.SeekProbability {
		p.seek(to)
	}
}

// Seek reports that somebody else, whom the configuration announced, has the viewer go to the beginning of a segment. It
// ignores one outside of the video.
func (p *Player) Seek(now time.Duration, to int) {
	if p.at(now) && p.config.SeeksFromOutside && p.config.Mode == View && to >= 0 && to < p.segments {
		p.seek(to)
	}
}

// seek goes to the beginning of a segment.
func (p *Player) seek(to int) {
	p.figures.Seeks++
	reach := p.head + len(p.buffer) + len(p.fetches)
	if p.head <= to && to < min(reach, p.segments) {
		p.skip(to)
	} else {
		p.discard(len(p.buffer))
		p.cancel(len(p.fetches))
		p.head = to
	}
	p.fresh = true
	if p.state != Starting {
		p.account()
		p.state = Seeking
	}
	p.note(Entry{Event: Sought, Segment: to})
	p.play()
	p.ask()
}

// skip goes to a segment that is buffered or being loaded.
func (p *Player) skip(to int) {
	buffered := min(to-p.head, len(p.buffer))
	p.discard(buffered)
	p.cancel(to - p.head)
	p.head = to
	p.gather()
}

// discard drops segments from the head of the buffer.
func (p *Player) discard(segments int) {
	for i, s := range p.buffer[:segments] {
		var played int64
		if i == 0 {
			played = part(s.octets, p.progress())
		}
		p.figures.Played += played
		p.waste(s.octets - played)
	}
	if segments > 0 {
		p.headAt = p.now
	}
	p.buffer = slices.Delete(p.buffer, 0, segments)
	p.head += segments
}

// cancel cancels the first n loads that are not buffered.
func (p *Player) cancel(n int) {
	for _, f := range slices.Clone(p.fetches[:n]) {
		l := &p.loads[f.load]
		why := Entry{Event: Cancelled, Segment: l.Segment, Resolution: l.Resolution}
		if f.request != nil {
			why.Request = f.request.id
			p.order(Order{Kind: Cancel, Session: len(p.sessions), Request: f.request.id})
		}
		p.abandon(f, why)
	}
}

// part is a segment's share of octets for a share of its time, rounded down.
func part(octets int64, progress time.Duration) int64 {
	high, low := bits.Mul64(uint64(octets), uint64(progress))
	quotient, _ := bits.Div64(high, low, uint64(SegmentLength))
	return int64(quotient)
}
