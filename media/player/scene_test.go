package player

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// The segments of these tests have sizes that are easy to compute with.
const (
	hdOctets  = 1_000_000
	fhdOctets = 2_000_000
	qhdOctets = 4_000_000
)

var sizes = [3]int64{hdOctets, fhdOctets, qhdOctets}

var errGone = errors.New("the server is gone")

// viewing is a video of 100 segments, watched from its beginning without seeks by
// the paper's rule.
func viewing() Config {
	return Config{Mode: View, Segments: 100, Sizes: sizes, Rule: Paper, OnHandover: Reconnect}
}

// scene is a player under test.
type scene struct {
	*Player
	t *testing.T
}

func begin(t *testing.T, c Config) scene {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return scene{p, t}
}

// connected returns a player that has made its first request at 100 ms.
func connected(t *testing.T, c Config) scene {
	t.Helper()
	s := begin(t, c)
	s.Connected(100*ms, 1)
	s.Orders()
	return s
}

// comes delivers a whole response at one moment.
func (s scene) comes(at time.Duration, request int, octets int64) {
	s.Answered(at, request, octets, 0)
	s.Received(at, request, octets)
}

func (s scene) lastLoad() Load { return s.loads[len(s.loads)-1] }

// ordered checks the orders since its last call.
func (s scene) ordered(want ...string) {
	s.t.Helper()
	var got []string
	for _, o := range s.Orders() {
		got = append(got, o.words())
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("at %v it orders %q, want %q", s.now, got, want)
	}
}

func (o Order) words() string {
	switch o.Kind {
	case Ask:
		words := fmt.Sprintf("ask %d in %d: %v %d from %d", o.Request, o.Session, o.Resolution, o.Segment, o.Offset)
		if o.Length > 0 {
			words += fmt.Sprintf(", %d octets", o.Length)
		}
		return words
	case Cancel:
		return fmt.Sprintf("cancel %d in %d", o.Request, o.Session)
	default:
		return fmt.Sprintf("%s %d", o.Kind, o.Session)
	}
}

// looks checks what the viewer sees at a moment.
func (s scene) looks(at time.Duration, state State, position, buffer time.Duration) {
	s.t.Helper()
	s.Advance(at)
	if got := s.Status(); got.State != state || got.Position != position || got.Buffer != buffer {
		s.t.Errorf("at %v it is %s at %v with %v buffered, want %s at %v with %v", at, got.State, got.Position, got.Buffer, state, position, buffer)
	}
}

// octets checks how the octets received so far were used.
func (s scene) octets(played, wasted, held int64) {
	s.t.Helper()
	f := s.Figures()
	if f.Played != played || f.Wasted != wasted || f.Held != held || f.Received != played+wasted+held {
		s.t.Errorf("at %v, of %d octets %d are played, %d wasted and %d held, want %d, %d and %d", s.now, f.Received, f.Played, f.Wasted, f.Held, played, wasted, held)
	}
}
