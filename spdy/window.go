package spdy

// defaultWindow is the size of every window until the peer says otherwise (draft
// 3 section 2.6.8, draft 3.1 "Initial Flow Control Window Size").
const defaultWindow = 64 << 10

// UpdateRule says when a receiver sends WINDOW_UPDATE.
type UpdateRule uint8

// No other difference between implementations matters as much: a sender that
// waits for the rest of a window loses a round trip each time.
const (
	// UpdateHalf sends WINDOW_UPDATE once more than half of the window has been read,
	// as Chromium does (net/spdy/spdy_stream.cc, IncreaseRecvWindowSize).
	UpdateHalf UpdateRule = iota
	// UpdateEighth sends it once an eighth has been read, as mod_spdy does
	// (mod_spdy/common/spdy_stream.cc).
	UpdateEighth
	// UpdateFrame sends it for each DATA frame, once that has been read.
	UpdateFrame
	// UpdateNever never sends it: a stream ends when its window is used up.
	UpdateNever
)

// Window is how much a receiver lets its peer send ahead. Version 2 has no flow
// control: a session stops reading from its connection while 16 MiB wait to be
// read from its streams, and announces 2^31-1 to peers that obey windows
// nevertheless (node-spdy does).
//
// A reader that leaves some streams unread needs a session window large enough
// for what stays unread, or all streams stall.
type Window struct {
	// Stream is the window of every stream in octets, 1 to 2^31-1; 0 for the
	// drafts' 65,536. A peer may send 65,536 octets on a stream before it learns
	// of a smaller window.
	Stream int
	// Update is the rule for streams.
	Update UpdateRule
	// Session is the window of all streams together in octets, in version 3.1 only; 0 for
	// the draft's 65,536. A smaller window cannot be announced, but it is not refilled
	// above its size.
	Session int
	// SessionUpdate is the rule for the session.
	SessionUpdate UpdateRule
}

// Deployed windows, for comparison.
var (
	// ChromiumWindow is Chromium's window of 2014: 10 MB for a stream, 15 MiB
	// for the session, updated by halves.
	ChromiumWindow = Window{Stream: 10 << 20, Session: 15 << 20}
	// ModSPDYWindow is mod_spdy's window: 64 KiB, updated by eighths.
	ModSPDYWindow = Window{Update: UpdateEighth, SessionUpdate: UpdateEighth}
)

// maxUnread limits how much data of version 2's streams may wait to be read.
const maxUnread = 16 << 20

// receiveWindow tracks what the peer may still send, and what it has not yet
// been granted.
type receiveWindow struct {
	size    int64 // the size to which the window is refilled
	left    int64 // what the peer may still send
	pending int64 // what was read since the last WINDOW_UPDATE
	frame   int64 // length of the latest DATA frame
}

// received charges a DATA frame. It returns false if the frame exceeds the
// window.
func (w *receiveWindow) received(n int) bool {
	w.left -= int64(n)
	if n > 0 {
		w.frame = int64(n)
	}
	return w.left >= 0
}

// read records octets as read, and returns the WINDOW_UPDATE to send now: 0 for
// none.
func (w *receiveWindow) read(n int, rule UpdateRule) uint32 {
	w.pending += int64(n)
	due := w.size/2 + 1
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

// sendWindow is how much this side may still send. It can be negative (draft 3
// section 2.6.8).
type sendWindow int64

// update returns false if the window would exceed its maximum.
func (w *sendWindow) update(delta int64) bool {
	*w += sendWindow(delta)
	return *w <= maxWindow
}
