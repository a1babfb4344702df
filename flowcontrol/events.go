package flowcontrol

import (
	"fmt"
	"strings"
)

// Event is a frame, or a run of frames that no other frame of the connection interrupts: DATA of one stream, or priorities. Times are
// ns since the Unix epoch.
type Event struct {
	Sender   Side
	Kind     string // the protocol's name of the frame, such as "DATA" or "WINDOW_UPDATE"; "STREAM" for octets of a QUIC stream
	OnStream bool
	Stream   uint64 // if OnStream
	Sent     int64  // when its first octet left, or Never if that was not seen
	Received int64  // when its last octet had arrived, or Never
	Frames   int    // how many frames the run has
	Octets   int64  // of DATA
	Delta    int64  // of WINDOW_UPDATE
	Fin      bool   // the stream ends in this direction
	// StreamLeft and SessionLeft are what the windows had left for the sender of the DATA, in octets: once this DATA had left, or this
	// WINDOW_UPDATE had arrived. They are NoWindow if the protocol lacks the window or the frame does not change it.
	StreamLeft, SessionLeft int64
	Overflow                bool   // the WINDOW_UPDATE raises the window beyond 2^31-1, which the protocol forbids
	Detail                  string // settings, the request, the status
}

// events lists frames, with each run joined into one event.
func events(frames []*frame) []Event {
	var list []Event
	for _, f := range frames {
		if n := len(list); n > 0 && list[n-1].joins(f) {
			last := &list[n-1]
			last.Frames++
			last.Octets += f.octets
			last.Fin = f.fin
			last.Received = max(last.Received, f.received)
			if f.octets > 0 {
				last.StreamLeft, last.SessionLeft = f.streamLeft, f.sessionLeft
			}
			continue
		}
		list = append(list, Event{
			Sender: f.sender, Kind: f.kind, OnStream: f.onStream, Stream: f.stream, Sent: f.sent, Received: f.received,
			Frames: 1, Octets: f.octets, Delta: f.delta, Fin: f.fin, StreamLeft: f.streamLeft, SessionLeft: f.sessionLeft, Detail: f.detail,
			Overflow: f.updates && max(f.streamLeft, f.sessionLeft) > maxWindow && !f.absolute,
		})
	}
	return list
}

// joins reports whether a frame continues the event's run: DATA of its stream, or priorities of any stream.
func (e *Event) joins(f *frame) bool {
	if e.Kind != f.kind || e.Sender != f.sender || (e.Sent == Never) != (f.sent == Never) {
		return false
	}
	if f.kind == "PRIORITY" {
		e.OnStream = e.OnStream && e.Stream == f.stream
		return true
	}
	return f.run && e.Stream == f.stream && !e.Fin
}

// String describes the event in a line, without its stream, times and windows.
func (e *Event) String() string {
	words := []string{e.Kind}
	carries := e.Kind == "DATA" || e.Kind == "STREAM"
	switch {
	case carries && e.Frames > 1:
		words = append(words, fmt.Sprintf("%d octets in %d frames", e.Octets, e.Frames))
	case carries:
		words = append(words, fmt.Sprintf("%d octets", e.Octets))
	case e.Frames > 1:
		words = append(words, fmt.Sprintf("%d frames", e.Frames))
	case e.Delta != 0:
		words = append(words, fmt.Sprintf("+%d", e.Delta))
	}
	if e.Overflow {
		words = append(words, "(beyond 2^31-1, which the protocol forbids)")
	}
	if e.Fin {
		words = append(words, "FIN")
	}
	return strings.TrimSpace(strings.Join(append(words, e.Detail), " "))
}
