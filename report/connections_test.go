package report

import (
	"slices"
	"testing"

	"wiretime/capture"
	"wiretime/flowcontrol"
)

// TestNewConnections: every connection is there, with a flow for each end that sent DATA, and with as many events as the page lists.
func TestNewConnections(t *testing.T) {
	none := NewConnections(&capture.HAR{}, nil)
	if none.Connections == nil || len(none.Connections) != 0 || len(none.Reasons) == 0 {
		t.Errorf("without a capture: %+v", none)
	}
	sealed := &flowcontrol.Connection{Opened: 3e6, Unseen: []string{"the frames: no keys"}}
	all := NewConnections(&capture.HAR{}, []*flowcontrol.Connection{conversation(5), sealed, conversation(mostFrames + 7)}).Connections
	if len(all) != 3 {
		t.Fatalf("%d connections, want 3", len(all))
	}
	for _, c := range []struct{ at, flows, events, more int }{{0, 1, 5, 0}, {1, 0, 0, 0}, {2, 1, mostFrames, 7}} {
		got := all[c.at]
		if len(got.Flows) != c.flows || len(got.Events) != c.events || got.More != c.more {
			t.Errorf("connection %d: %d flows, %d events and %d more; want %d, %d and %d", c.at, len(got.Flows), len(got.Events), got.More, c.flows, c.events, c.more)
		}
	}
	if f := all[0].Flows[0]; f.Octets != 5 || f.Connections != 3 || len(f.Events) != 0 {
		t.Errorf("the flow is %+v", f)
	}
	if got := all[1]; got.Opened != 3 || !slices.Equal(got.Unseen, sealed.Unseen) {
		t.Errorf("a connection without keys is %+v", got)
	}
}
