package player

import (
	"errors"
	"time"
)

// Load is the loading of one segment or of the file. Moments that have not occurred are 0.
type Load struct {
	Segment    int           `json:"segment"`
	Resolution Resolution    `json:"resolution"`     // of the last request
	Wanted     time.Duration `json:"wanted"`         // when the player would have made the request if connected
	Asked      time.Duration `json:"asked,omitzero"` // when the first request was made
	Began      time.Duration `json:"began,omitzero"` // when the last request's response began
	Ended      time.Duration `json:"ended,omitzero"` // when it was complete or cancelled
	Whole      bool          `json:"whole,omitzero"`
	Octets     int64         `json:"octets,omitzero"` // size of the whole segment
	Requests   int           `json:"requests"`
}

// Delay returns the loading delay: from when the segment was wanted until it was complete,
// including the wait for a connection (Nam et al., 2021, section 4.2: waiting and
// transmission). Only complete segments have one. Seeks cancel slow segments more often
// than fast ones, which must be stated with any mean of it.
func (l Load) Delay() (d time.Duration, ok bool) { return l.Ended - l.Wanted, l.Whole }

// request is a pending request.
type request struct {
	id       int
	offset   int64
	got      int64
	size     int64 // of the whole segment
	answered bool
	asked    time.Duration
}

// want starts to load the next segment if it is time for it.
func (p *Player) want() {
	next := p.head + len(p.buffer)
	if p.over || p.loading || next >= p.segments || p.config.Mode == View && len(p.buffer) >= p.config.Ahead {
		return
	}
	p.loads = append(p.loads, Load{Segment: next, Wanted: p.now})
	p.loading, p.kept = true, 0
}

// ask requests the wanted segment as soon as possible.
func (p *Player) ask() {
	p.want()
	if p.over || !p.loading || p.request != nil || p.connection != open || p.retryAt > 0 {
		return
	}
	l := p.load()
	resolution := p.choose()
	if resolution != l.Resolution {
		p.waste(p.kept)
		p.kept = 0
	}
	p.requests++
	l.Resolution, l.Began = resolution, 0
	if l.Requests++; l.Requests == 1 {
		l.Asked = p.now
	}
	p.request = &request{id: p.requests, offset: p.kept, asked: p.now}
	p.order(Order{Kind: Ask, Session: len(p.sessions), Request: p.requests, Resolution: resolution, Segment: l.Segment, Offset: p.kept})
	p.note(Entry{Event: Asked, Request: p.requests, Segment: l.Segment, Resolution: resolution})
}

// choose chooses the resolution of the next request.
func (p *Player) choose() Resolution {
	if p.config.Mode == File {
		return Plain
	}
	fresh := p.fresh
	p.fresh = false
	return rules[p.config.Rule](view{p.config, fresh, p.told, p.delay, p.level(), p.samples})
}

// load returns the last load; there must be one.
func (p *Player) load() *Load { return &p.loads[len(p.loads)-1] }

// Answered reports the beginning of a response: the size of the whole segment or file, and
// the number of segments, or 0 if the server does not state it.
func (p *Player) Answered(now time.Duration, id int, size int64, segments int) {
	if !p.at(now) || !p.isUnderWay(id) || p.request.answered {
		return
	}
	if p.config.Mode == View && segments > 0 {
		p.segments = segments
	}
	if size < p.request.offset {
		p.waste(p.kept)
		p.kept, p.request.offset = 0, 0
		p.fail(errors.New("the server changed the size of the segment"))
		return
	}
	p.request.size, p.request.answered = size, true
	p.load().Began, p.load().Octets = p.now, size
	p.note(Entry{Event: Answered, Request: id, Segment: p.load().Segment, Resolution: p.load().Resolution})
	p.finish()
}

// Received reports octets of a response. Octets may still arrive for requests that failed
// or were cancelled.
func (p *Player) Received(now time.Duration, id int, octets int64) {
	if octets <= 0 || id < 1 || id > p.requests || !p.at(now) {
		return
	}
	p.count(octets)
	if !p.isUnderWay(id) || !p.request.answered {
		p.waste(octets)
		return
	}
	p.hear()
	r := p.request
	useful := min(octets, r.size-r.offset-r.got)
	p.waste(octets - useful)
	r.got += useful
	p.finish()
}

// hear notes the arrival of an octet that was waited for.
func (p *Player) hear() {
	if h := p.handover(); h != nil {
		silence := p.now - max(h.At, p.lastOctet, p.request.asked)
		switch {
		case p.config.OnHandover != Multihome:
			if h.Recovered == 0 && h.Ready > 0 {
				h.Recovered = p.now
			}
		case silence > p.longest:
			p.longest, h.Recovered = silence, p.now
		}
	}
	if n := len(p.rebindings); n > 0 {
		r := &p.rebindings[n-1]
		if silence := p.now - max(r.At, p.lastOctet, p.request.asked); silence > p.silence {
			p.silence, r.Recovered = silence, p.now
		}
	}
	p.lastOctet, p.failures = p.now, 0
}

// finish moves a complete segment into the buffer.
func (p *Player) finish() {
	r, l := p.request, p.load()
	if r.offset+r.got < r.size {
		return
	}
	if r.got > 0 {
		p.samples = append(p.samples, sample{r.got, p.now - r.asked})
		p.samples = p.samples[max(0, len(p.samples)-festiveSegments):]
	}
	l.Ended, l.Whole = p.now, true
	p.request, p.loading, p.kept = nil, false, 0
	p.buffer = append(p.buffer, segment{l.Resolution, l.Octets})
	p.note(Entry{Event: Loaded, Request: r.id, Segment: l.Segment, Resolution: l.Resolution})
	if p.config.Mode == File {
		p.end(nil)
		return
	}
	p.play()
	p.ask()
}

// Failed reports that a request failed although its session continues.
func (p *Player) Failed(now time.Duration, id int, err error) {
	if p.at(now) && p.isUnderWay(id) {
		p.fail(err)
	}
}

func (p *Player) fail(err error) {
	p.note(Entry{Event: Failed, Request: p.request.id, Segment: p.load().Segment, Resolution: p.load().Resolution, Reason: reason(err)})
	p.keep()
	p.setback(err)
	p.ask()
}

// keep ends a failed request and keeps what it received.
func (p *Player) keep() {
	if p.request != nil {
		p.kept += p.request.got
		p.request = nil
	}
}

// PastEnd reports that a segment does not exist because the video has only the given number
// of segments.
func (p *Player) PastEnd(now time.Duration, id, segments int) {
	if !p.at(now) || !p.isUnderWay(id) {
		return
	}
	if p.config.Mode == File || segments < 0 || segments > p.load().Segment {
		p.fail(errors.New("the server rejected a segment within the video as past its end"))
		return
	}
	p.segments = segments
	p.abandon(Entry{Event: PastEnd, Request: id, Segment: p.load().Segment})
	p.play()
}

// abandon ends an incomplete load.
func (p *Player) abandon(why Entry) {
	p.keep()
	p.waste(p.kept)
	p.load().Ended = p.now
	p.loading, p.kept = false, 0
	p.note(why)
}

func (p *Player) isUnderWay(id int) bool { return p.request != nil && p.request.id == id }

// count counts octets that came.
func (p *Player) count(octets int64) {
	second := int(p.now / time.Second)
	for len(p.figures.Goodput) <= second {
		p.figures.Goodput = append(p.figures.Goodput, 0)
	}
	p.figures.Goodput[second] += octets
	p.figures.Received += octets
}

func (p *Player) waste(octets int64) { p.figures.Wasted += octets }
