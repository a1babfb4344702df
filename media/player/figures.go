package player

import "time"

// Times are how long the viewing was in each state. They add up to its duration.
type Times struct {
	Starting time.Duration `json:"starting"`
	Playing  time.Duration `json:"playing"`
	Stalled  time.Duration `json:"stalled"`
	Seeking  time.Duration `json:"seeking"`
	Ended    time.Duration `json:"ended"`
}

func (t *Times) of(s State) *time.Duration {
	switch s {
	case Playing:
		return &t.Playing
	case Stalled:
		return &t.Stalled
	case Seeking:
		return &t.Seeking
	case Ended:
		return &t.Ended
	default:
		return &t.Starting
	}
}

// Figures are what became of a viewing. Octets are of content: Received is the sum
// of Played, Wasted and Held.
type Figures struct {
	Duration time.Duration `json:"duration"`
	Failure  string        `json:"failure,omitzero"` // why it ended before its time

	Started bool          `json:"started"`
	StartUp time.Duration `json:"start_up,omitzero"` // start-up delay: until the first segment was shown, if Started
	Times   Times         `json:"times"`
	Stalls  int           `json:"stalls"`
	// Rebuffer is the rebuffer ratio: the share of Stalled in Stalled and Playing
	// (BufRatio of Dobrian et al., SIGCOMM 2011). Start-up and seeks are left out.
	Rebuffer float64 `json:"rebuffer"`
	Switches int     `json:"switches"` // how often the resolution shown was another than the one before
	Seeks    int     `json:"seeks"`

	Received int64 `json:"received"`
	Played   int64 `json:"played"`
	Wasted   int64 `json:"wasted"` // thrown away: by seeks, by requests anew, or come too late
	Held     int64 `json:"held"`   // at the end: a file, or what was still buffered or under way
	// Goodput is how many octets came in each second of the viewing, until the last
	// in which some did.
	Goodput []int64 `json:"goodput"`

	Loads     []Load     `json:"loads"`
	Sessions  []Session  `json:"sessions"`
	Handovers []Handover `json:"handovers,omitempty"`
	Timeline  []Entry    `json:"timeline"`
}

// TTD is the total transmission delay of a file: from the viewing's beginning, so
// that connecting counts, until the file was whole (Nam et al., 2021, section 4.2).
func (f Figures) TTD() (d time.Duration, ok bool) {
	if len(f.Loads) == 0 {
		return 0, false
	}
	return f.Loads[0].Delay()
}

// Figures returns the figures up to now. What they hold must not be changed, and is
// only good until the player is told of something more.
func (p *Player) Figures() Figures {
	f := p.figures
	*f.Times.of(p.state) += p.now - p.since
	f.Duration = p.now
	if waited := f.Times.Stalled + f.Times.Playing; waited > 0 {
		f.Rebuffer = float64(f.Times.Stalled) / float64(waited)
	}
	f.Held = p.kept
	if p.request != nil {
		f.Held += p.request.got
	}
	for _, s := range p.buffer {
		f.Held += s.octets
	}
	if p.state == Playing {
		played := part(p.buffer[0].octets, p.progress())
		f.Played += played
		f.Held -= played
	}
	f.Loads, f.Sessions, f.Handovers = p.loads, p.sessions, p.handovers
	return f
}

// Status is what a viewing looks like.
type Status struct {
	State      State
	Position   time.Duration // in the video
	Buffer     time.Duration // how much more can be played
	Resolution Resolution    // of what was played last; Plain if nothing was
}

// Status returns what the viewing looks like now.
func (p *Player) Status() Status {
	return Status{p.state, time.Duration(p.head)*SegmentLength + p.progress(), p.level(), p.shown}
}
