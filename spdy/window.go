package spdy

// defaultWindow is the size of every window until the peer says otherwise (draft
// 3 section 2.6.8, draft 3.1 "Initial Flow Control Window Size").
const defaultWindow = 64 << 10

// UpdateRule says when a receiver gives back window.
type UpdateRule uint8

// Implementations differ in nothing that matters more: a sender that waits for
// the rest of a window loses a round trip each time.
const (
	// UpdateHalf sends WINDOW_UPDATE once half of the window has been read, as
	// Chromium does.
	UpdateHalf UpdateRule = iota
	// UpdateEighth sends it once an eighth has been read, as mod_spdy does.
	UpdateEighth
	// UpdateFrame sends it for each DATA frame, once that has been read.
	UpdateFrame
	// UpdateNever never sends it: a stream ends at its window.
	UpdateNever
)

// Window is how much a receiver lets its peer send ahead. Version 2 has no such
// thing: a session reads no more from its connection while 16 MiB wait to be
// read by their streams, and announces 2^31-1 to those who keep to windows even
// so (node-spdy does).
//
// Who leaves some streams unread while reading others needs a session's window
// that holds what may be left unread, or all of them stop.
type Window struct {
	// Stream is the window of every stream in octets, 1 to 2^31-1; 0 for the
	// drafts' 65,536. A peer may send 65,536 on a stream before it learns of less.
	Stream int
	// Update is the rule for streams.
	Update UpdateRule
	// Session is the window of all streams together in octets: version 3.1 alone.
	// 0 for the draft's 65,536. It is never announced smaller than that, but a
	// smaller one is not filled up above its size again.
	Session int
	// SessionUpdate is the rule for the session.
	SessionUpdate UpdateRule
}

// Windows as they were deployed, for comparison.
var (
	// ChromiumWindow is Chromium's of 2014: 10 MB for a stream, 15 MiB for the
	// session, given back by halves.
	ChromiumWindow = Window{Stream: 10 << 20, Session: 15 << 20}
	// ModSPDYWindow is mod_spdy's: 64 KiB, given back by eighths.
	ModSPDYWindow = Window{Update: UpdateEighth, SessionUpdate: UpdateEighth}
)

// maxUnread is how much of version 2's streams may wait to be read.
const maxUnread = 16 << 20

// receiveWindow is what the peer may still send, and what it has not been told
// yet that it may.
type receiveWindow struct {
	size    int64 // what the window is filled up to
	left    int64 // what the peer may still send
	pending int64 // what was read since the last WINDOW_UPDATE
	frame   int64 // length of the latest DATA frame
}

// received counts a DATA frame in. It is false if the peer was not allowed it.
func (w *receiveWindow) received(n int) bool {
	w.left -= int64(n)
	if n > 0 {
		w.frame = int64(n)
	}
	return w.left >= 0
}

// read counts octets as read, and returns what to tell the peer of now: 0 for
// nothing.
func (w *receiveWindow) read(n int, rule UpdateRule) uint32 {
	w.pending += int64(n)
	due := (w.size + 1) / 2
	switch rule {
	case UpdateEighth:
		due = (w.size + 7) / 8
	case UpdateFrame:
		due = min(w.frame, due)
	case UpdateNever:
		return 0
	}
	if w.pending < max(due, 1) {
		return 0
	}
	delta := min(w.pending, maxWindow-w.left)
	w.pending -= delta
	w.left += delta
	return uint32(delta)
}

// sendWindow is what this side may still send. It can be negative (draft 3
// section 2.6.8).
type sendWindow int64

// update is false if the window would be more than there may be.
func (w *sendWindow) update(delta int64) bool {
	*w += sendWindow(delta)
	return *w <= maxWindow
}
