package recording

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// skeleton is a made body without what makes it as long and as compressible as the recorded
// one was: pieces that must stand, and filler between them.
type skeleton struct {
	pieces []string // filler comes between two
	open   string   // what filler begins and ends with, so that it means nothing
	close  string
	pad    string // one octet that means nothing by itself, for gaps too small for filler
	binary bool   // filler may be any octets
}

// minFiller is how much filler is worth its open and close.
const minFiller = 64

// render writes the skeleton with filler to size octets in all, or without if it is longer
// by itself. level is how hard the filler is to compress: 0 not at all, 1 as random letters
// and digits, 2 as random octets.
func (s *skeleton) render(size int64, level float64, seed uint64) []byte {
	spare := size
	for _, piece := range s.pieces {
		spare -= int64(len(piece))
	}
	gaps := max(1, len(s.pieces)-1)
	if each := int64(minFiller + len(s.open) + len(s.close)); spare/each < int64(gaps) {
		gaps = int(max(1, spare/each))
	}
	var b bytes.Buffer
	b.Grow(int(max(size, 0)) + 64)
	f := newFiller(seed, level, s.binary)
	for i, piece := range s.pieces {
		b.WriteString(piece)
		if i >= gaps || spare <= 0 || len(s.pieces) > 1 && i == len(s.pieces)-1 {
			continue
		}
		share := spare / int64(gaps-i)
		spare -= share
		s.gap(&b, f, int(share))
	}
	return b.Bytes()
}

// gap writes octets of filler.
func (s *skeleton) gap(b *bytes.Buffer, f *filler, octets int) {
	inside := octets - len(s.open) - len(s.close)
	if inside < 0 {
		b.WriteString(strings.Repeat(s.pad, octets))
		return
	}
	b.WriteString(s.open)
	f.write(b, inside)
	b.WriteString(s.close)
}

// filler is text that says nothing: lines, some of which are always the same, and some
// random.
type filler struct {
	random *rand.Rand
	share  float64 // of the lines that are harder to compress
	owed   float64
	hard   string // the alphabets of the two
	soft   string
}

// Alphabets of filler. None of them has an octet that would end a comment, a string or an
// element.
var (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+ "
	octets  = func() string {
		var b strings.Builder
		for c := 0x23; c < 0x100; c++ { // not the quotes and the space before, nor these
			if !strings.ContainsRune("&'*-/<>\\", rune(c)) && c != 0x7f {
				b.WriteByte(byte(c))
			}
		}
		return b.String()
	}()
	every = func() string {
		b := make([]byte, 256)
		for i := range b {
			b[i] = byte(i)
		}
		return string(b)
	}()
)

// line is how long a line of filler is.
const line = 64

// same is the line that does not change.
const same = "the body that stood here was not recorded and this only fills i\n"

func newFiller(seed uint64, level float64, binary bool) *filler {
	f := &filler{random: rand.New(rand.NewPCG(seed, 0x57697265)), share: level, hard: letters}
	if level > 1 {
		f.share, f.hard, f.soft = level-1, octets, letters
		if binary {
			f.hard = every
		}
	}
	return f
}

func (f *filler) write(b *bytes.Buffer, octets int) {
	for octets > 0 {
		n := min(octets, line)
		octets -= n
		alphabet := f.soft
		if f.owed += f.share; f.owed >= 1 {
			f.owed--
			alphabet = f.hard
		}
		if alphabet == "" {
			b.WriteString(same[:n])
			continue
		}
		for range n {
			b.WriteByte(alphabet[f.random.Uint32()>>8%uint32(len(alphabet))])
		}
	}
}

// seed is what the filler of a URL begins with.
func seed(method, url string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(method + " " + url))
	return h.Sum64()
}

// tune renders a skeleton so that it has nearly wire octets in a coding: with filler that is
// as hard to compress as that takes, and if even the hardest is not enough, with more of it.
// It gives content and what is sent.
func (s *skeleton) tune(size, wire int64, coding string, seed uint64, by *coder) (content, sent []byte, err error) {
	try := func(level float64) int64 {
		c := s.render(size, level, seed)
		var e []byte
		if e, err = by.encode(c, coding); err == nil && (sent == nil || away(e, wire) < away(sent, wire)) {
			content, sent = c, e
		}
		return int64(len(e))
	}
	low, high := 0.0, hardest
	least, most := try(low), int64(0)
	if least < wire {
		most = try(high)
	}
	guesses := maxGuesses
	if size > longBody {
		guesses = 1
	}
	for range guesses {
		switch {
		case err != nil || near(int64(len(sent)), wire) || least >= wire:
			return content, sent, err
		case most < wire:
			size += wire - most
			most = try(high)
			continue
		}
		// What a share of random letters costs is nearly proportional to it.
		level := low + (high-low)*float64(wire-least)/float64(most-least)
		if level <= low || level >= high {
			level = (low + high) / 2
		}
		if got := try(level); got < wire {
			low, least = level, got
		} else {
			high, most = level, got
		}
	}
	return content, sent, err
}

const (
	hardest    = 2.0
	maxGuesses = 8
	longBody   = 8 << 20 // octets, which take time to code
)

func away(body []byte, wire int64) int64 {
	return max(int64(len(body))-wire, wire-int64(len(body)))
}

// near says whether a body has as many octets on the wire as it should: within one in a
// hundred, or within 16.
func near(got, want int64) bool {
	away := max(got-want, want-got)
	return away <= 16 || away*100 <= want
}
