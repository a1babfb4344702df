package player

import "time"

// Event is what an entry of the timeline tells of.
type Event string

// These are the events. When playback starts, resumes, stalls or reaches the end of the
// video, the event has the name of the new state.
const (
	Connecting Event = "connecting" // a session was ordered
	Connected  Event = "connected"
	Lost       Event = "lost"   // the session ended by itself
	Left       Event = "left"   // the session was given up for a new one
	Moving     Event = "moving" // the session was to be taken to a new address
	Moved      Event = "moved"
	Associated Event = "associated" // the access link changed
	Rebound    Event = "rebound"    // a NAT on the path forgot its bindings
	Delayed    Event = "delayed"    // the link's delay changed

	Asked     Event = "asked" // a request was made
	Answered  Event = "answered"
	Loaded    Event = "loaded" // a segment was whole
	Cancelled Event = "cancelled"
	Failed    Event = "failed"
	PastEnd   Event = "past end"

	Showing Event = "showing" // a segment began to play
	Sought  Event = "sought"  // the viewer went to a segment
	Over    Event = "over"    // the viewing ended
)

// Entry is an event in the timeline. Between two entries the buffer shrinks as time
// passes while the state is Playing, and stays as it is otherwise.
type Entry struct {
	At     time.Duration `json:"at"`
	Event  Event         `json:"event"`
	State  State         `json:"state"`           // after it
	Buffer time.Duration `json:"buffer,omitzero"` // after it

	Session    int           `json:"session,omitzero"` // counted from 1
	Request    int           `json:"request,omitzero"` // counted from 1
	Segment    int           `json:"segment,omitzero"` // counted from 0
	Resolution Resolution    `json:"resolution,omitzero"`
	Access     string        `json:"access,omitzero"`
	Delay      time.Duration `json:"delay,omitzero"` // of the link, one-way
	Reason     string        `json:"reason,omitzero"`
}

// note adds an entry to the timeline.
func (p *Player) note(e Entry) {
	e.At, e.State, e.Buffer = p.now, p.state, p.level()
	p.figures.Timeline = append(p.figures.Timeline, e)
}
