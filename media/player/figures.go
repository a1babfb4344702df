package player

import "time"

// Times gives the time spent in each state. The sum is the viewing's duration.
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

// Figures are the results of a viewing. Octets are of content: Received is the sum of
// Played, Wasted and Held.
type Figures struct {
	Duration time.Duration `json:"duration"`
	Failure  string        `json:"failure,omitzero"` // why it ended early

	Started bool          `json:"started"`
	StartUp time.Duration `json:"start_up,omitzero"` // start-up delay: until the first segment was shown, if Started
	Times   Times         `json:"times"`
	Stalls  int           `json:"stalls"`
	// Rebuffer is the rebuffer ratio: the share of Stalled in Stalled and Playing
	// (BufRatio of Dobrian et al., SIGCOMM 2011). Start-up and seeks are left out.
	Rebuffer float64 `json:"rebuffer"`
	Switches int     `json:"switches"` // changes of the resolution shown
	Seeks    int     `json:"seeks"`

	Received int64 `json:"received"`
	Played   int64 `json:"played"`
	Wasted   int64 `json:"wasted"` // discarded by seeks or repeated requests, or received too late
	Held     int64 `json:"held"`   // at the end: a file, or what was buffered or partly received
	// Goodput is the octets received in each second of the viewing, up to the last second with
	// any.
	Goodput []int64 `json:"goodput"`

	Loads      []Load      `json:"loads"`
	Sessions   []Session   `json:"sessions"`
	Handovers  []Handover  `json:"handovers,omitempty"`
	Rebindings []Rebinding `json:"rebindings,omitempty"`
	Timeline   []Entry     `json:"timeline"`
}

// TTD returns the total transmission delay of a file: from the beginning of the viewing,
// including the handshake, to the last octet (Nam et al., 2021, section 4.2).
func (f Figures) TTD() (d time.Duration, ok bool) {
	for _, part := range f.Loads {
		took, whole := part.Delay()
		if !whole {
			return 0, false
		}
		d = max(d, took)
	}
	return d, len(f.Loads) > 0
}

// Figures returns the figures up to now. The caller must not change them; they are valid
// until the next event is reported to the player.
func (p *Player) Figures() Figures {
	f := p.figures
	*f.Times.of(p.state) += p.now - p.since
	f.Duration = p.now
	if waited := f.Times.Stalled + f.Times.Playing; waited > 0 {
		f.Rebuffer = float64(f.Times.Stalled) / float64(waited)
	}
	for _, pending := range p.fetches {
		f.Held += pending.kept
		if pending.request != nil {
			f.Held += pending.request.got
		}
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
	f.Rebindings = p.rebindings
	return f
}

// Status describes the current state of a viewing.
type Status struct {
	State      State
	Position   time.Duration // in the video
	Buffer     time.Duration // how much more can be played
	Resolution Resolution    // resolution played last; Plain if none was
}

// Status returns the current state of the viewing.
func (p *Player) Status() Status {
	return Status{p.state, time.Duration(p.head)*SegmentLength + p.progress(), p.level(), p.shown}
}
