package protection

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"wiretime/costtest"
)

// TestCostOfReassembly adds pieces in the order that costs most: the first one comes last.
func TestCostOfReassembly(t *testing.T) {
	const pieces = 200_000
	costtest.Check(t, pieces*4, costtest.Limit{Fixed: 1 << 20, PerOctet: 128, Time: 2 * time.Microsecond}, func() {
		var a Assembly
		for i := pieces - 1; i >= 0; i-- {
			a.Add(uint64(4*i), []byte("abcd"))
		}
		if len(a.Data) != 4*pieces {
			t.Errorf("%d octets, want %d", len(a.Data), 4*pieces)
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
		var a Assembly
		costtest.Check(t, len(text)*(1+len(order)/4)+len(order), costtest.Limit{Fixed: 1 << 20, PerOctet: 128, Time: 2 * time.Microsecond}, func() {
			a = Assembly{}
			for rest := order; len(rest) >= 4 && len(text) > 0; rest = rest[4:] {
				from := int(binary.BigEndian.Uint16(rest)) % len(text)
				to := min(len(text), from+int(binary.BigEndian.Uint16(rest[2:])))
				a.Add(uint64(from), text[from:to])
				for i := from; i < to; i++ {
					reached[i] = true
				}
			}
		})
		whole := 0
		for whole < len(reached) && reached[whole] {
			whole++
		}
		if !bytes.Equal(a.Data, text[:whole]) {
			t.Errorf("got %q, want %q", a.Data, text[:whole])
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
		var a Assembly
		for _, i := range random.Perm(500) {
			a.Add(uint64(10*i), text[10*i:min(len(text), 10*i+random.IntN(30)+10)])
		}
		if !bytes.Equal(a.Data, text) {
			t.Fatal("the octets are not those that were sent")
		}
	}
}
