package critical

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
)

// cost is what an octet of a capture may cost.
var cost = costtest.Limit{Fixed: 1 << 20, PerOctet: 128, Time: 2 * time.Microsecond}

// TestCostOfReassembly adds pieces in the order that costs most: the first one comes last.
func TestCostOfReassembly(t *testing.T) {
	const pieces = 200_000
	costtest.Check(t, pieces*4, cost, func() {
		var a assembly
		for i := pieces - 1; i >= 0; i-- {
			a.add(uint64(4*i), []byte("abcd"))
		}
		if len(a.data) != 4*pieces {
			t.Errorf("%d octets, want %d", len(a.data), 4*pieces)
		}
	})
}

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

// FuzzAssembly adds the octets of a text in pieces that overlap, and compares it with what
// comes out. Each four octets of order say where a piece begins and how long it is.
func FuzzAssembly(f *testing.F) {
	f.Add([]byte("hello, world"), []byte{0, 3, 0, 9, 0, 0, 0, 5})
	f.Add([]byte("hello"), []byte{0, 4, 0, 1, 0, 3, 0, 9, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, text, order []byte) {
		reached := make([]bool, len(text))
		var a assembly
		costtest.Check(t, len(text)*(1+len(order)/4)+len(order), cost, func() {
			a = assembly{}
			for rest := order; len(rest) >= 4 && len(text) > 0; rest = rest[4:] {
				from := int(binary.BigEndian.Uint16(rest)) % len(text)
				to := min(len(text), from+int(binary.BigEndian.Uint16(rest[2:])))
				a.add(uint64(from), text[from:to])
				for i := from; i < to; i++ {
					reached[i] = true
				}
			}
		})
		whole := 0
		for whole < len(reached) && reached[whole] {
			whole++
		}
		if !bytes.Equal(a.data, text[:whole]) {
			t.Errorf("got %q, want %q", a.data, text[:whole])
		}
	})
}

// TestReassemblyInAnyOrder shuffles pieces that overlap.
func TestReassemblyInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 5000)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	for range 100 {
		var a assembly
		for _, i := range random.Perm(500) {
			a.add(uint64(10*i), text[10*i:min(len(text), 10*i+random.IntN(30)+10)])
		}
		if !bytes.Equal(a.data, text) {
			t.Fatal("the octets are not those that were sent")
		}
	}
}
