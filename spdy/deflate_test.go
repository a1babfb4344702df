package spdy

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// TestDeflaterOutput holds the compressed octets themselves: how long header
// blocks are shows in measured loads.
func TestDeflaterOutput(t *testing.T) {
	want := map[Compression]string{
		CompressSafe: "207268 c3ce2bfa4ecbe0f7",
		CompressAll:  "190151 e6d9756af2f69ce9",
		CompressNone: "370731 526d5391043c8d80",
	}
	for c, want := range want {
		for _, idle := range []bool{false, true} {
			z, sum, octets := newDeflater(V31, c), sha256.New(), 0
			for _, pieces := range awkwardBlocks() {
				block := z.block(nil, pieces)
				sum.Write(block)
				octets += len(block)
				if idle {
					z.rest()
					z.spare = weak.Pointer[matchIndex]{} // as if it had been collected
				}
			}
			if got := fmt.Sprintf("%d %x", octets, sum.Sum(nil)[:8]); got != want {
				t.Errorf("compression %d, idle after each block: %t: %s, want %s", c, idle, got, want)
			}
		}
	}
}

// TestIdleDeflaterKeepsNoIndex: the index of an idle session goes with the next garbage collection.
func TestIdleDeflaterKeepsNoIndex(t *testing.T) {
	z := newDeflater(V31, CompressAll)
	z.block(nil, []piece{{text: "text"}})
	z.rest()
	runtime.GC()
	if z.spare.Value() != nil {
		t.Error("the index is still there")
	}
	if held := cap(z.window) + 16*cap(z.holes); held > 3000 {
		t.Errorf("it holds %d octets", held)
	}
}

// TestWindowThatWasAnnounced: a reference further back than the zlib stream's header allows ends the
// session, whatever is there.
func TestWindowThatWasAnnounced(t *testing.T) {
	block := func(header ...byte) []byte {
		z := newDeflater(V31, CompressAll)
		text := strings.Repeat("a", 1000) + strings.Repeat("b", 300)
		return append(header, z.block(nil, []piece{{text: text + strings.Repeat("a", 200)}})[2:]...)
	}
	for _, c := range []struct {
		header []byte
		fails  bool
	}{{[]byte{0x48, 0x2c}, false}, {[]byte{0x78, 0x20}, false}, {[]byte{0x08, 0x3c}, true}} {
		_, err := newInflater(V31).block(block(c.header...), 1<<16)
		if failed := err != nil && strings.Contains(err.Error(), "invalid distance"); failed != c.fails || err != nil && !failed {
			t.Errorf("header %x: %v", c.header, err)
		}
	}
}

// awkwardBlocks are 300 KB of requests, secrets that repeat earlier text, pieces
// shorter than a match, longer than the longest, and far longer than the window.
func awkwardBlocks() [][]piece {
	random := rand.New(rand.NewPCG(7, 9))
	var all [][]piece
	for i, fields := range requests(300) {
		pieces, _ := appendPieces(V31, nil, fields)
		text := func(n int) string {
			b := make([]byte, random.IntN(n+1))
			for i := range b {
				b[i] = "abcdefgh 0123456789=;/"[random.IntN(1+i%22)]
			}
			return string(b)
		}
		pieces = append(pieces, piece{text: text(5)}, piece{text: text(40), secret: true}, piece{text: text(600)})
		switch i % 50 {
		case 10:
			pieces = append(pieces, piece{text: strings.Repeat(text(700), 8)})
		case 20:
			pieces = append(pieces, piece{text: text(20000)})
		case 30:
			pieces = append(pieces, piece{text: text(9000), secret: true})
		case 40:
			pieces = append(pieces, piece{text: strings.Repeat("x", 3000)})
		}
		all = append(all, pieces)
	}
	return all
}
