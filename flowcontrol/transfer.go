package flowcontrol

import (
	"cmp"
	"fmt"
	"slices"
)

// Reason says what held a sender back.
type Reason uint8

// The reasons. The package documentation has the rules.
const (
	Application Reason = iota
	StreamWindow
	SessionWindow
	ReceiveWindow
	CongestionWindow
	LossRecovery
	Link
	reasons // their number
)

var reasonNames = [reasons]string{
	"application", "stream window", "session window", "receive window", "congestion window", "loss recovery", "link",
}

// String returns the reason's name for people, which is also its name in JSON.
func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// MarshalText returns the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Reasons returns all reasons, in the order of their values.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Held is a stretch of time during which one reason held a sender. Times are ns since the Unix epoch.
type Held struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Reason Reason `json:"reason"`
}

// Point holds the windows of a sender, and what it had under way, from a moment until the next Point. All are octets; windows are
// NoWindow if the protocol lacks them or they are not known.
type Point struct {
	At         int64 // ns since the Unix epoch
	Stream     int64 // left of the window of the stream that sends next
	Session    int64 // left of the session's window
	Receive    int64 // TCP's receive window, as the peer announced it last
	Congestion int64 // inferred: the flight when the congestion window held the sender last, or the largest flight since
	Flight     int64 // sent and not acknowledged, of TCP or QUIC
}

// Transfer describes the DATA that one end of a connection sent. Times are ns since the Unix epoch.
type Transfer struct {
	Sender Side
	From   int64   // when the first octet left
	To     int64   // when the last one had arrived, or until when a stream was stuck
	Octets int64   // of DATA, each counted once
	Held   []Held  // laid end to end from From to To
	Points []Point // in the order of their moments
}

// Sums returns for how long each reason held the sender, in ns. The sums add up to To - From.
func (t *Transfer) Sums() [reasons]int64 {
	var sums [reasons]int64
	for _, h := range t.Held {
		sums[h.Reason] += h.To - h.From
	}
	return sums
}

// move is an event at a sender: octets leave, or something arrives. Only some of the fields are set.
type move struct {
	at      int64
	arrives bool   // it arrives; at the same moment, arrivals come before departures
	frame   *frame // the frame that arrives, whose octets leave, or by which the sender ends or resets its stream
	data    int64  // octets of DATA that leave
	wire    int64  // octets of TCP or QUIC that leave
	size    int64  // with data: octets of the segment that holds it
	acked   int64  // octets that are acknowledged or declared lost
	edge    int64  // TCP: the first position beyond the receive window; 0: not known
	window  int64  // TCP: the receive window
	reach   int64  // TCP: the first position that has not been sent
	speaks  bool   // it carries octets of the peer
}

// sender is one end of a connection, with all moves there.
type sender struct {
	side     Side
	windows  *windows
	moves    []move
	requests map[uint64]int64 // when the request of a stream arrived
	framed   bool             // frames were read, so that requests holds all requests of the peer
	busy     []span           // when the link serialises packets, joined
	lost     []span           // when octets are lost and have not been sent again, joined
	arrived  int64            // when the last DATA had arrived
	ends     int64            // when the connection's last packet left
	trip     int64            // the least round trip, in ns
}

// reaction is the longest time, in ns, after which a sender still counts as reacting to what arrived.
const reaction = 1e6

// transfer works out what held the sender, or returns nil if it sent no DATA.
func (s *sender) transfer() *Transfer {
	slices.SortStableFunc(s.moves, func(a, b move) int {
		if a.at != b.at || a.arrives == b.arrives {
			return cmp.Compare(a.at, b.at)
		}
		if a.arrives {
			return -1
		}
		return 1
	})
	w := newWalk(s)
	for i := range s.moves {
		if i > 0 && s.moves[i].at > s.moves[i-1].at {
			w.pass(i, s.moves[i-1].at, s.moves[i].at)
		}
		w.take(&s.moves[i])
	}
	if w.transfer == nil {
		return nil
	}
	last := s.moves[len(s.moves)-1].at
	w.pass(len(s.moves), last, max(last, s.ends, s.arrived))
	return w.transfer
}

// walk goes through the moves of a sender.
type walk struct {
	*sender
	transfer *Transfer
	next     []int   // for each move, the first one from it on that sends DATA, or the number of moves
	heard    []int64 // for each move, when the latest acknowledgement up to it arrived
	spoken   []int64 // likewise, the latest octets of the peer

	flight, edge, reach, window int64
	lastData                    *frame
	lastSent                    int64
	busyAt, lostAt              int // spans that have passed
	congestion                  int64
}

func newWalk(s *sender) *walk {
	n := len(s.moves)
	w := &walk{sender: s, next: make([]int, n+1), heard: make([]int64, n), spoken: make([]int64, n), congestion: NoWindow, window: NoWindow}
	w.next[n] = n
	for i := n - 1; i >= 0; i-- {
		if w.next[i] = w.next[i+1]; s.moves[i].data > 0 {
			w.next[i] = i
		}
	}
	heard, spoken := int64(-Never), int64(-Never)
	for i := range s.moves {
		m := &s.moves[i]
		if m.arrives && m.acked > 0 {
			heard = m.at
		}
		if m.arrives && m.speaks {
			spoken = m.at
		}
		if f := m.frame; f != nil && !m.arrives {
			s.windows.of(f.stream).total += m.data
			s.windows.of(f.stream).finishes = s.windows.of(f.stream).finishes || f.fin
		}
		w.heard[i], w.spoken[i] = heard, spoken
	}
	return w
}

// take applies a move.
func (w *walk) take(m *move) {
	w.flight += m.wire - m.acked
	w.reach = max(w.reach, m.reach)
	if m.edge > 0 {
		w.edge, w.window = m.edge, m.window
	}
	if m.wire > 0 {
		w.lastSent = m.at
	}
	switch f := m.frame; {
	case f == nil:
	case m.arrives:
		w.windows.receive(f)
	case m.data > 0:
		if w.transfer == nil {
			w.transfer = &Transfer{Sender: w.side, From: m.at, To: m.at}
		}
		w.transfer.Octets += m.data
		w.windows.send(f, m.data)
		w.lastData = f
	default:
		w.windows.complete(f.stream)
	}
}

// pass explains the time [from, to) before move number i.
func (w *walk) pass(i int, from, to int64) {
	t := w.transfer
	if t == nil {
		return
	}
	next := w.next[i]
	stuck := false
	if next == len(w.moves) {
		stuck = w.windows.unfinished() && (w.windows.hasSession && w.windows.session <= 0 || w.windows.blocked())
		if !stuck {
			to = min(to, w.arrived)
		}
	}
	if from >= to {
		return
	}
	w.point(next, from)
	for at := max(from, t.To); at < to; {
		reason, end := w.reason(next, stuck, at, to)
		if n := len(t.Held); n > 0 && t.Held[n-1].Reason == reason {
			t.Held[n-1].To = end
		} else {
			t.Held = append(t.Held, Held{at, end, reason})
		}
		if w.congestion != NoWindow && w.congestion < w.flight || reason == CongestionWindow && w.congestion != w.flight {
			w.congestion = w.flight
			t.Points[len(t.Points)-1].Congestion = w.flight
		}
		at, t.To = end, end
	}
}

// point notes the windows at a moment. next is the move that sends DATA next.
func (w *walk) point(next int, at int64) {
	p := Point{At: at, Stream: NoWindow, Session: w.windows.sessionLeft(), Receive: w.window, Congestion: w.congestion, Flight: w.flight}
	if f := w.lastData; next < len(w.moves) {
		p.Stream = w.windows.left(w.moves[next].frame.stream)
	} else if f != nil {
		p.Stream = w.windows.left(f.stream)
	}
	w.transfer.Points = append(w.transfer.Points, p)
}

// reason returns what holds the sender at a moment, and until when it does at least, up to to. stuck says that streams wait for a window
// that never opens.
func (w *walk) reason(next int, stuck bool, at, to int64) (Reason, int64) {
	for w.busyAt < len(w.busy) && w.busy[w.busyAt].to <= at {
		w.busyAt++
	}
	if w.busyAt < len(w.busy) {
		if b := w.busy[w.busyAt]; b.from <= at {
			return Link, min(to, b.to)
		} else {
			to = min(to, b.from)
		}
	}
	lost := false
	for w.lostAt < len(w.lost) && w.lost[w.lostAt].to <= at {
		w.lostAt++
	}
	if w.lostAt < len(w.lost) {
		if l := w.lost[w.lostAt]; l.from <= at {
			lost, to = true, min(to, l.to)
		} else {
			to = min(to, l.from)
		}
	}
	if next == len(w.moves) {
		switch {
		case stuck && w.windows.hasSession && w.windows.session <= 0:
			return SessionWindow, to
		case stuck:
			return StreamWindow, to
		case lost:
			return LossRecovery, to
		}
		return Link, to
	}
	if asked, ok := w.requests[w.moves[next].frame.stream]; ok && asked > at {
		return w.idle(lost), min(to, asked)
	}
	return w.limit(next, lost), to
}

// idle returns what holds the sender while the stream that sends next has not been requested.
func (w *walk) idle(lost bool) Reason {
	switch {
	case w.windows.hasSession && w.windows.session <= 0 && w.windows.unfinished():
		return SessionWindow
	case lost:
		return LossRecovery
	case w.windows.blocked():
		return StreamWindow
	}
	return Application
}

// limit returns what keeps the sender from sending the DATA of a move now.
func (w *walk) limit(next int, lost bool) Reason {
	m := &w.moves[next]
	switch {
	case w.windows.hasSession && w.windows.session <= 0:
		return SessionWindow
	case w.windows.hasStreams && w.windows.left(m.frame.stream) <= 0:
		return StreamWindow
	case w.edge > 0 && w.reach+m.size > w.edge:
		return ReceiveWindow
	case lost:
		return LossRecovery
	}
	answers := !w.framed && m.at-w.spoken[next] <= reaction && w.spoken[next] >= w.lastSent
	clocked := m.at-w.heard[next] <= reaction && w.heard[next] >= w.lastSent
	paced := m.at-w.lastSent <= w.trip/8
	switch {
	case w.flight > 0 && !answers && (clocked || paced):
		return CongestionWindow
	case w.windows.blocked():
		return StreamWindow
	}
	return Application
}
