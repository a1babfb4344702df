package report

import (
	"encoding/json"
	"math"
	"slices"

	"wiretime/capture"
	"wiretime/flowcontrol"
)

// Limits of what a report carries of connections. A chart takes up to 40 kB, so all of them stay below 3 MB.
const (
	mostFlows  = 60  // cells whose median load has a chart, the first ones
	mostEvents = 150 // lines of a sequence chart
	mostPoints = 240 // moments at which windows are drawn, and stretches of what held the sender
)

// Flow describes the connection of a cell's median load on which most DATA was sent. Moments are ms since navigation start. If none was
// seen, only Load, Connections and Unseen, of all connections, are set.
type Flow struct {
	Load        int         `json:"load"` // index of Data.Loads
	Connection  string      `json:"connection"`
	Connections int         `json:"connections"`      // that the load had
	Unseen      []string    `json:"unseen,omitempty"` // what of the connection could not be read, and why
	Sender      string      `json:"sender"`           // the end that sent most DATA
	Octets      int64       `json:"octets"`           // of that DATA
	Sums        []int64     `json:"sums"`             // for how long each of Data.Reasons held the sender, in ns
	Held        []heldSpan  `json:"held"`             // laid end to end
	Points      []flowPoint `json:"points"`
	Events      []flowEvent `json:"events"`
	More        int         `json:"more"` // how many events are left out at the end
}

// heldSpan is a stretch of time during which one reason held the sender longer than any other.
type heldSpan struct {
	from, to float64
	reason   int // index of Data.Reasons
}

// MarshalJSON writes an array, with times in whole microseconds.
func (h heldSpan) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{micro(h.from), micro(h.to), int64(h.reason)})
}

// flowPoint is a flowcontrol.Point.
type flowPoint struct {
	at     float64
	values [5]int64 // windows of stream and session, receive window, congestion window, flight
}

// MarshalJSON writes an array, with the time in whole microseconds and null for NoWindow.
func (p flowPoint) MarshalJSON() ([]byte, error) {
	at := micro(p.at)
	row := []*int64{&at}
	for i := range p.values {
		if p.values[i] == flowcontrol.NoWindow {
			row = append(row, nil)
		} else {
			row = append(row, &p.values[i])
		}
	}
	return json.Marshal(row)
}

// flowEvent is a line of a sequence chart. A moment that is not known is -1.
type flowEvent struct {
	Sender   string  `json:"from"`
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
	Stream   *uint64 `json:"stream,omitempty"`
	Text     string  `json:"text"`
	Left     *int64  `json:"left,omitempty"`    // of the stream's window
	Session  *int64  `json:"session,omitempty"` // left of the session's window
}

func micro(ms float64) int64 { return int64(math.Round(ms * 1000)) }

// reasonNames returns the names of what may hold a sender.
func reasonNames() []string {
	var names []string
	for _, r := range flowcontrol.Reasons() {
		names = append(names, r.String())
	}
	return names
}

// flowOf returns the chart of a load, or nil if it sent no DATA.
func flowOf(load int, of left) *Flow {
	var connection *flowcontrol.Connection
	var transfer *flowcontrol.Transfer
	for _, c := range of.connections {
		for _, t := range c.Transfers {
			if transfer == nil || t.Octets > transfer.Octets {
				connection, transfer = c, t
			}
		}
	}
	if transfer == nil {
		return unseen(load, of.connections)
	}
	f := describeTransfer(connection, transfer, since(of.har), mostEvents)
	f.Load, f.Connections = load, len(of.connections)
	return f
}

// describeTransfer returns the chart of what one end of a connection sent, with the connection's first events.
func describeTransfer(connection *flowcontrol.Connection, transfer *flowcontrol.Transfer, ms func(int64) float64, most int) *Flow {
	f := &Flow{
		Connection: connection.Flow.String(), Unseen: connection.Unseen,
		Sender: transfer.Sender.String(), Octets: transfer.Octets, Held: held(transfer, ms), Points: points(transfer, ms),
	}
	for _, sum := range transfer.Sums() {
		f.Sums = append(f.Sums, sum)
	}
	f.Events, f.More = describeEvents(connection.Events, ms, most)
	return f
}

// describeEvents returns the lines of a sequence chart, and how many are left out at its end.
func describeEvents(events []flowcontrol.Event, ms func(int64) float64, most int) (lines []flowEvent, more int) {
	more = max(0, len(events)-most)
	lines = []flowEvent{}
	for i := range events[:len(events)-more] {
		e := &events[i]
		line := flowEvent{Sender: e.Sender.String(), Sent: ms(e.Sent), Received: ms(e.Received), Text: e.String(), Left: known(e.StreamLeft), Session: known(e.SessionLeft)}
		if e.OnStream {
			line.Stream = &e.Stream
		}
		lines = append(lines, line)
	}
	return lines, more
}

// unseen returns the chart of a load whose DATA could not be seen, or nil if there was nothing to see.
func unseen(load int, connections []*flowcontrol.Connection) *Flow {
	f := &Flow{Load: load, Connections: len(connections), Sums: []int64{}, Held: []heldSpan{}, Points: []flowPoint{}, Events: []flowEvent{}}
	for _, c := range connections {
		f.Unseen = append(f.Unseen, c.Unseen...)
	}
	if f.Unseen == nil {
		return nil
	}
	slices.Sort(f.Unseen)
	f.Unseen = slices.Compact(f.Unseen)
	return f
}

func known(window int64) *int64 {
	if window == flowcontrol.NoWindow {
		return nil
	}
	return &window
}

// since returns a function that converts ns since the Unix epoch to ms since the first page's navigation start, rounded to 1 us, and
// Never to -1.
func since(h *capture.HAR) func(int64) float64 {
	epoch := int64(0)
	if len(h.Log.Pages) > 0 {
		epoch = h.Log.Pages[0].Started.UnixNano()
	}
	return func(at int64) float64 {
		if at == flowcontrol.Never {
			return -1
		}
		return math.Round(float64(at-epoch)/1e3) / 1e3
	}
}

// held returns what held the sender in at most mostPoints stretches. If there are more, each of as many equal parts of the transfer is
// assigned to the reason that has most of it.
func held(t *flowcontrol.Transfer, ms func(int64) float64) []heldSpan {
	list := make([]heldSpan, 0, min(len(t.Held), mostPoints))
	add := func(from, to int64, reason int) {
		if n := len(list); n > 0 && list[n-1].reason == reason {
			list[n-1].to = ms(to)
			return
		}
		list = append(list, heldSpan{ms(from), ms(to), reason})
	}
	if len(t.Held) <= mostPoints {
		for _, h := range t.Held {
			add(h.From, h.To, int(h.Reason))
		}
		return list
	}
	rest := t.Held
	for i := range int64(mostPoints) {
		from, to := part(t, i), part(t, i+1)
		sums := make([]int64, len(flowcontrol.Reasons()))
		best := 0
		for len(rest) > 0 && rest[0].From < to {
			r := int(rest[0].Reason)
			if sums[r] += min(to, rest[0].To) - max(from, rest[0].From); sums[r] > sums[best] {
				best = r
			}
			if rest[0].To > to {
				break
			}
			rest = rest[1:]
		}
		add(from, to, best)
	}
	return list
}

// part returns where one of mostPoints equal parts of a transfer begins.
func part(t *flowcontrol.Transfer, i int64) int64 {
	whole, rest := (t.To-t.From)/mostPoints, (t.To-t.From)%mostPoints
	return t.From + whole*i + rest*i/mostPoints
}

// points returns the windows over time. If there are more than mostPoints moments, each of as many equal parts of the transfer keeps the
// moment at which the smaller window is smallest.
func points(t *flowcontrol.Transfer, ms func(int64) float64) []flowPoint {
	list := make([]flowPoint, 0, min(len(t.Points), mostPoints))
	next := int64(0) // the part that the next point begins
	for i := range t.Points {
		p := &t.Points[i]
		point := flowPoint{ms(p.At), [5]int64{p.Stream, p.Session, p.Receive, p.Congestion, p.Flight}}
		switch n := len(list); {
		case len(t.Points) <= mostPoints || next < mostPoints && p.At >= part(t, next):
			for next < mostPoints && p.At >= part(t, next) {
				next++
			}
			list = append(list, point)
		case n > 0 && point.least() < list[n-1].least():
			list[n-1] = point
		}
	}
	return list
}

// least returns the smaller one of the windows of stream and session that are known.
func (p *flowPoint) least() int64 {
	least := int64(math.MaxInt64)
	for _, window := range p.values[:2] {
		if window != flowcontrol.NoWindow {
			least = min(least, window)
		}
	}
	return least
}
