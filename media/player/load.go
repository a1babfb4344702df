package player

import (
	"errors"
	"slices"
	"time"
)

// Load is the loading of one segment, of the file or of a part of it. Moments that have not occurred are 0.
type Load struct {
	Segment    int           `json:"segment"`
	Resolution Resolution    `json:"resolution"`     // of the last request
	Wanted     time.Duration `json:"wanted"`         // when the player would have made the request if connected
	Asked      time.Duration `json:"asked,omitzero"` // when the first request was made
	Began      time.Duration `json:"began,omitzero"` // when the last request's response began
	Ended      time.Duration `json:"ended,omitzero"` // when it was complete or cancelled
	Whole      bool          `json:"whole,omitzero"`
	Octets     int64         `json:"octets,omitzero"` // size of the whole segment, or of the part
	Requests   int           `json:"requests"`
}

// Delay returns the loading delay: from when the segment was wanted until it was complete,
// including the wait for a connection (Nam et al., 2021, section 4.2: waiting and
// transmission). Only complete segments have one. Seeks cancel slow segments more often
// than fast ones, which must be stated with any mean of it.
func (l Load) Delay() (d time.Duration, ok bool) { return l.Ended - l.Wanted, l.Whole }

// fetch is what is being loaded: a segment, or a part of a file.
type fetch struct {
	load     int      // its index in the player's loads
	from, to int64    // the part of the file; to is 0 for all of a segment or a file
	kept     int64    // octets of it from failed requests, or all of them if it is whole
	request  *request // nil: none is pending
	whole    bool     // it is complete, and waits for a segment before it
}

// request is a pending request.
type request struct {
	id       int
	offset   int64
	got      int64
	end      int64 // what it asks for ends before this octet
	answered bool
	asked    time.Duration
}

// want starts to load what it is time for.
func (p *Player) want() {
	if p.config.Mode == File {
		p.wantFile()
		return
	}
	for !p.over && len(p.fetches) < p.config.Parallel && len(p.buffer)+len(p.fetches) < p.config.Ahead {
		next := p.head + len(p.buffer) + len(p.fetches)
		if next >= p.segments {
			return
		}
		p.begin(fetch{}, next)
	}
}

// wantFile starts to load a file: in Parallel parts of the same size, to an octet.
func (p *Player) wantFile() {
	if len(p.loads) > 0 {
		return
	}
	n := int64(p.config.Parallel)
	if n == 1 {
		p.begin(fetch{}, 0)
		return
	}
	for i := range n {
		p.begin(fetch{from: i * p.config.FileSize / n, to: (i + 1) * p.config.FileSize / n}, 0)
	}
}

func (p *Player) begin(f fetch, segment int) {
	f.load = len(p.loads)
	p.loads = append(p.loads, Load{Segment: segment, Wanted: p.now})
	p.fetches = append(p.fetches, &f)
}

// ask requests what is wanted as soon as possible.
func (p *Player) ask() {
	p.want()
	if p.over || p.connection != open || p.retryAt > 0 {
		return
	}
	for _, f := range p.fetches {
		if f.request == nil && !f.whole {
			p.askFor(f)
		}
	}
}

func (p *Player) askFor(f *fetch) {
	l := &p.loads[f.load]
	resolution := p.choose()
	if resolution != l.Resolution {
		p.waste(f.kept)
		f.kept = 0
	}
	p.requests++
	l.Resolution, l.Began = resolution, 0
	if l.Requests++; l.Requests == 1 {
		l.Asked = p.now
	}
	f.request = &request{id: p.requests, offset: f.from + f.kept, asked: p.now}
	o := Order{Kind: Ask, Session: len(p.sessions), Request: p.requests, Resolution: resolution, Segment: l.Segment, Offset: f.request.offset}
	if f.to > 0 {
		o.Length = f.to - o.Offset
	}
	p.order(o)
	p.noteOn(f, Asked)
}

// noteOn adds an entry about a pending request.
func (p *Player) noteOn(f *fetch, event Event) {
	l := &p.loads[f.load]
	p.note(Entry{Event: event, Request: f.request.id, Segment: l.Segment, Resolution: l.Resolution})
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

// Answered reports the beginning of a response: the size of the whole segment or file, and
// the number of segments, or 0 if the server does not state it.
func (p *Player) Answered(now time.Duration, id int, size int64, segments int) {
	if !p.at(now) {
		return
	}
	f := p.pending(id)
	if f == nil || f.request.answered {
		return
	}
	if p.config.Mode == View && segments > 0 {
		p.segments = segments
	}
	if size < max(f.request.offset, f.to) {
		p.waste(f.kept)
		f.kept, f.request.offset = 0, f.from
		p.fail(f, errors.New("the server changed the size of the segment"))
		return
	}
	f.request.end, f.request.answered = size, true
	if f.to > 0 {
		f.request.end = f.to
	}
	l := &p.loads[f.load]
	l.Began, l.Octets = p.now, f.request.end-f.from
	p.noteOn(f, Answered)
	p.finish(f)
}

// Received reports octets of a response. Octets may still arrive for requests that failed
// or were cancelled.
func (p *Player) Received(now time.Duration, id int, octets int64) {
	if octets <= 0 || id < 1 || id > p.requests || !p.at(now) {
		return
	}
	p.count(octets)
	f := p.pending(id)
	if f == nil || !f.request.answered {
		p.waste(octets)
		return
	}
	r := f.request
	p.hear(r)
	useful := min(octets, r.end-r.offset-r.got)
	p.waste(octets - useful)
	r.got += useful
	p.finish(f)
}

// hear notes the arrival of an octet that was waited for.
func (p *Player) hear(r *request) {
	if h := p.handover(); h != nil {
		silence := p.now - max(h.At, p.lastOctet, r.asked)
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
		b := &p.rebindings[n-1]
		if silence := p.now - max(b.At, p.lastOctet, r.asked); silence > p.silence {
			p.silence, b.Recovered = silence, p.now
		}
	}
	p.lastOctet, p.failures = p.now, 0
}

// finish ends a load that is complete.
func (p *Player) finish(f *fetch) {
	r, l := f.request, &p.loads[f.load]
	if r.offset+r.got < r.end {
		return
	}
	if r.got > 0 {
		p.samples = append(p.samples, sample{r.got, p.now - r.asked})
		p.samples = p.samples[max(0, len(p.samples)-festiveSegments):]
	}
	l.Ended, l.Whole = p.now, true
	f.request, f.kept, f.whole = nil, l.Octets, true
	p.gather()
	p.note(Entry{Event: Loaded, Request: r.id, Segment: l.Segment, Resolution: l.Resolution})
	if p.config.Mode == File {
		if len(p.fetches) == 0 {
			p.end(nil)
		}
		return
	}
	p.play()
	p.ask()
}

// gather moves complete segments into the buffer, up to the first that is not.
func (p *Player) gather() {
	for len(p.fetches) > 0 && p.fetches[0].whole {
		l := &p.loads[p.fetches[0].load]
		p.buffer = append(p.buffer, segment{l.Resolution, l.Octets})
		p.fetches = p.fetches[1:]
	}
}

// Failed reports that a request failed although its session continues.
func (p *Player) Failed(now time.Duration, id int, err error) {
	if !p.at(now) {
		return
	}
	if f := p.pending(id); f != nil {
		p.fail(f, err)
	}
}

func (p *Player) fail(f *fetch, err error) {
	l := &p.loads[f.load]
	p.note(Entry{Event: Failed, Request: f.request.id, Segment: l.Segment, Resolution: l.Resolution, Reason: reason(err)})
	f.keep()
	p.setback(err)
	p.ask()
}

// keep ends a failed request and keeps what it received.
func (f *fetch) keep() {
	if f.request != nil {
		f.kept += f.request.got
		f.request = nil
	}
}

// PastEnd reports that a segment does not exist because the video has only the given number
// of segments.
func (p *Player) PastEnd(now time.Duration, id, segments int) {
	if !p.at(now) {
		return
	}
	f := p.pending(id)
	if f == nil {
		return
	}
	if p.config.Mode == File || segments < 0 || segments > p.loads[f.load].Segment {
		p.fail(f, errors.New("the server rejected a segment within the video as past its end"))
		return
	}
	p.segments = segments
	p.abandon(f, Entry{Event: PastEnd, Request: id, Segment: p.loads[f.load].Segment})
	p.play()
}

// abandon ends a load of which nothing is needed any more.
func (p *Player) abandon(f *fetch, why Entry) {
	f.keep()
	p.waste(f.kept)
	if !f.whole {
		p.loads[f.load].Ended = p.now
	}
	p.fetches = slices.DeleteFunc(p.fetches, func(other *fetch) bool { return other == f })
	p.note(why)
}

// pending returns what a pending request is for, or nil if there is no such request.
func (p *Player) pending(id int) *fetch {
	for _, f := range p.fetches {
		if f.request != nil && f.request.id == id {
			return f
		}
	}
	return nil
}

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
