package critical

import (
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
)

// cost is what an octet of a capture may cost.
var cost = costtest.Limit{Fixed: 1 << 20, PerOctet: 128, Time: 2 * time.Microsecond}

// TestCostOfOverlaps adds segments of TCP that each claim to be as long as one can be, and begin one octet after the one
// before. The capture has one octet of each.
func TestCostOfOverlaps(t *testing.T) {
	const segments, captured = 20_000, 40 + 1
	costtest.Check(t, segments*captured, cost, func() {
		o := octets{lane: new(lane)}
		for i := range segments {
			o.add(&packet{headers: capture.Headers{Sequence: uint32(i + 1), Payload: []byte("x"), PayloadLength: 65495}})
		}
		o.lane.finish()
		if len(o.lane.segments) == 0 {
			t.Error("no segment arrived")
		}
	})
}
