package recording

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// skeleton is a made body without its padding: required pieces, with filler in between that
// gives the body the recorded size and compressibility.
type skeleton struct {
	pieces []string // filler goes between the pieces
	open   string   // delimiters that make filler inert
	close  string
	pad    string // an inert octet for gaps too small for filler
	binary bool   // filler may be arbitrary octets
}

// minFiller is the smallest filler worth its delimiters.
const minFiller = 64

// render writes the skeleton with filler to size octets in all, or without filler if the
// pieces are longer. level says how hard the filler is to compress: 0 trivial, 1 like
// random letters and digits, 2 like random octets.
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

// filler generates inert text: lines that are all the same, mixed with random ones.
type filler struct {
	random *rand.Rand
	share  float64 // share of lines that are harder to compress
	owed   float64
	hard   string // the alphabets of the two
	soft   string
}

// These are the alphabets of filler. None has an octet that would end a comment, a string
// or an element.
var (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+ "
	octets  = func() string {
		var b strings.Builder
		for c := 0x23; c < 0x100; c++ { // leaves out space, ! and ", and these
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

// line is the length of a line of filler.
const line = 64

// same is the line that repeats.
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

// seed derives the filler's seed from a request.
func seed(method, url string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(method + " " + url))
	return h.Sum64()
}

// tune renders a skeleton so that its encoded size comes close to wire octets. It adjusts
// how hard the filler is to compress, and adds filler if that is not enough. It returns the
// content and its encoded form.
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
		// Cost is nearly proportional to the share of random letters.
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
	longBody   = 8 << 20 // octets; larger bodies take long to encode
)

func away(body []byte, wire int64) int64 {
	return max(int64(len(body))-wire, wire-int64(len(body)))
}

// near reports whether a size is close enough to the wanted one: within 1 % or 16 octets.
func near(got, want int64) bool {
	away := max(got-want, want-got)
	return away <= 16 || away*100 <= want
}
