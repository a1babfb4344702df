package flowcontrol

import "math"

// NoWindow stands for a window that the protocol does not have, or that is not known.
const NoWindow = math.MinInt64

// Windows that SPDY and HTTP/2 begin with.
const (
	spdyWindow  = 64 << 10  // draft 3 section 2.6.8, draft 3.1 "Initial Flow Control Window Size"
	http2Window = 1<<16 - 1 // RFC 9113 section 6.9.2
)

// windows keeps account of what one end may send, in octets.
type windows struct {
	hasStreams, hasSession bool                      // the protocol has these windows
	initial                func(stream uint64) int64 // window of a new stream
	session                int64                     // left of the session's window
	sent                   int64                     // DATA of all streams
	streams                map[uint64]*window
	open                   []*window // those that have sent DATA and may send more
}

// window keeps account of one stream, in octets.
type window struct {
	stream    uint64
	granted   int64 // beyond the initial window
	sent      int64 // DATA
	total     int64 // DATA that the stream sends in all
	finishes  bool  // the stream's end was seen, so total is final
	began     bool  // it has sent DATA
	completed bool  // it sends no more
}

func newWindows(hasStreams, hasSession bool, initial int64) *windows {
	return &windows{hasStreams: hasStreams, hasSession: hasSession, session: initial, initial: func(uint64) int64 { return initial }, streams: map[uint64]*window{}}
}

func (w *windows) of(stream uint64) *window {
	s := w.streams[stream]
	if s == nil {
		s = &window{stream: stream}
		w.streams[stream] = s
	}
	return s
}

// left returns what a stream may still send by its own window, or NoWindow.
func (w *windows) left(stream uint64) int64 {
	if !w.hasStreams {
		return NoWindow
	}
	left := w.initial(stream)
	if s := w.streams[stream]; s != nil {
		left += s.granted - s.sent
	}
	return left
}

// sessionLeft returns what all streams together may still send, or NoWindow.
func (w *windows) sessionLeft() int64 {
	if !w.hasSession {
		return NoWindow
	}
	return w.session
}

// send takes DATA from the windows.
func (w *windows) send(f *frame, octets int64) {
	s := w.of(f.stream)
	if !s.began {
		s.began = true
		w.open = append(w.open, s)
	}
	s.sent += octets
	s.completed = s.completed || s.finishes && s.sent == s.total
	w.session -= octets
	w.sent += octets
	f.streamLeft, f.sessionLeft = w.left(f.stream), w.sessionLeft()
}

// receive applies a frame of the other end.
func (w *windows) receive(f *frame) {
	switch {
	case f.initial >= 0:
		w.initial = func(uint64) int64 { return f.initial }
	case f.reset:
		w.complete(f.stream)
		return
	case f.absolute:
		w.raise(f)
	case f.updates && f.onStream:
		w.of(f.stream).granted += f.delta
	case f.updates:
		w.session += f.delta
	}
	if f.onStream {
		f.streamLeft = w.left(f.stream)
	} else if f.updates {
		f.sessionLeft = w.sessionLeft()
	}
}

// raise applies a limit of QUIC, and sets the frame's delta to the increase over the limit before. A lower limit changes nothing.
func (w *windows) raise(f *frame) {
	if f.onStream {
		s := w.of(f.stream)
		f.delta = max(0, f.limit-w.initial(f.stream)-s.granted)
		s.granted += f.delta
		return
	}
	f.delta = max(0, f.limit-w.sent-w.session)
	w.session += f.delta
}

// complete notes that a stream sends no more.
func (w *windows) complete(stream uint64) { w.of(stream).completed = true }

// mostOpen limits the streams that blocked looks at. Browsers have some 100 open at a time at most.
const mostOpen = 256

// blocked reports whether a stream that has begun and is not complete has used up its window.
func (w *windows) blocked() bool {
	if !w.hasStreams {
		return false
	}
	kept := w.open[:0]
	found := false
	for i, s := range w.open {
		if i >= mostOpen {
			kept = append(kept, w.open[i:]...)
			break
		}
		if s.completed {
			continue
		}
		kept = append(kept, s)
		found = found || w.left(s.stream) <= 0
	}
	w.open = kept
	return found
}

// unfinished reports whether a stream has begun and is not complete.
func (w *windows) unfinished() bool {
	for _, s := range w.open {
		if !s.completed {
			return true
		}
	}
	return false
}
