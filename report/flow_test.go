package report

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"wiretime/capture"
	"wiretime/flowcontrol"
	"wiretime/store"
)

// conversation is a connection of so many stretches of a ms each, with as many points and frames.
func conversation(n int) *flowcontrol.Connection {
	t := &flowcontrol.Transfer{Sender: flowcontrol.Server, From: 1e6, To: 1e6 + int64(n)*1e6, Octets: int64(n)}
	c := &flowcontrol.Connection{Protocol: "spdy/3", Transfers: []*flowcontrol.Transfer{t}}
	for i := range n {
		at := 1e6 + int64(i)*1e6
		t.Held = append(t.Held, flowcontrol.Held{From: at, To: at + 1e6, Reason: []flowcontrol.Reason{flowcontrol.Link, flowcontrol.StreamWindow}[i%2]})
		t.Points = append(t.Points, flowcontrol.Point{At: at, Stream: int64(n - i), Session: flowcontrol.NoWindow, Receive: 100, Congestion: flowcontrol.NoWindow, Flight: 3})
		c.Events = append(c.Events, flowcontrol.Event{Kind: "PING", Sent: at, Received: flowcontrol.Never, Frames: 1, StreamLeft: flowcontrol.NoWindow, SessionLeft: flowcontrol.NoWindow})
	}
	return c
}

// TestFlowStaysSmall charts connections of any length: the bar is whole, and the chart's size has a limit.
func TestFlowStaysSmall(t *testing.T) {
	for _, n := range []int{1, 100, mostPoints, mostPoints + 1, 100_000} {
		f := flowOf(0, left{har: &capture.HAR{}, connections: []*flowcontrol.Connection{conversation(1), conversation(n)}})
		sum, at := int64(0), 1.0
		for _, ns := range f.Sums {
			sum += ns
		}
		for _, h := range f.Held {
			if h.from != at || h.to <= h.from {
				t.Fatalf("%d stretches: %+v after %v ms", n, h, at)
			}
			at = h.to
		}
		if at != float64(n+1) || sum != int64(n)*1e6 || len(f.Held) > mostPoints || len(f.Points) > mostPoints || len(f.Events)+f.More != n || len(f.Events) > mostEvents {
			t.Errorf("%d stretches: %d to %v ms, %d ns in all, %d points, %d events and %d more", n, len(f.Held), at, sum, len(f.Points), len(f.Events), f.More)
		}
		text, err := json.Marshal(f)
		if most := 40_000; err != nil || len(text) > most {
			t.Errorf("%d stretches: %d octets of JSON, want at most %d; %v", n, len(text), most, err)
		}
	}
	text, err := json.Marshal(flowOf(0, left{har: &capture.HAR{}, connections: []*flowcontrol.Connection{conversation(1)}}))
	const want = `{"load":0,"connection":"protocol 0 invalid AddrPort \u003e invalid AddrPort","connections":1,"sender":"server","octets":1,` +
		`"sums":[0,0,0,0,0,0,1000000],"held":[[1000,2000,6]],"points":[[1000,1,null,100,null,3]],"events":[{"from":"client","sent":1,"received":-1,"text":"PING"}],"more":0}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	if f := flowOf(0, left{har: &capture.HAR{}, connections: []*flowcontrol.Connection{{}}}); f != nil {
		t.Errorf("a connection without DATA has the chart %+v", f)
	}
}

// TestFlowSaysWhatCouldNotBeSeen: connections without keys over QUIC show no DATA, and the chart says why.
func TestFlowSaysWhatCouldNotBeSeen(t *testing.T) {
	sealed := func() *flowcontrol.Connection {
		return &flowcontrol.Connection{Unseen: []string{"the frames: no keys"}}
	}
	f := flowOf(7, left{har: &capture.HAR{}, connections: []*flowcontrol.Connection{sealed(), {}, sealed()}})
	if f == nil || f.Load != 7 || f.Connections != 3 || !slices.Equal(f.Unseen, []string{"the frames: no keys"}) || len(f.Held) > 0 {
		t.Errorf("the chart is %+v", f)
	}
}

// TestThePointsKeepTheLeastWindow draws a window that is used up at one of many moments, with and without a window of the session.
func TestThePointsKeepTheLeastWindow(t *testing.T) {
	for _, session := range []int64{flowcontrol.NoWindow, 1 << 20} {
		c := conversation(10 * mostPoints)
		points := c.Transfers[0].Points
		for i := range points {
			points[i].Stream, points[i].Session = 1000, session
		}
		points[1234].Stream = 0
		f := flowOf(0, left{har: &capture.HAR{}, connections: []*flowcontrol.Connection{c}})
		if !slices.ContainsFunc(f.Points, func(p flowPoint) bool { return p.values[0] == 0 }) {
			t.Errorf("with %d octets left of the session's window, the stream's is never used up", session)
		}
	}
}

// TestOnlyTheFirstCellsHaveCharts asks for the connections of the first cells' median loads alone.
func TestOnlyTheFirstCellsHaveCharts(t *testing.T) {
	st, run := clockStudy.keep(t)
	var asking sync.Mutex
	asked := 0
	data, err := Collect(st, run, Files{HAR: readSynthetic, Connections: func(store.Load) ([]*flowcontrol.Connection, error) {
		asking.Lock()
		defer asking.Unlock()
		asked++
		return []*flowcontrol.Connection{conversation(3)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := min(mostFlows, len(data.Cells)); asked != want {
		t.Errorf("the connections of %d loads were read, want %d", asked, want)
	}
	for i, cell := range data.Cells {
		if cell.Flow == nil || cell.Flow.Load != cell.MedianLoad || len(data.Reasons) == 0 {
			t.Errorf("cell %d: %+v", i, cell.Flow)
		}
	}
}
