package spdy

import "testing"

// TestTurns checks which of two streams with data to send goes first: the more urgent one, and with equal turns the one
// that was ready first.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		equal bool
		first Priority
	}{{false, Highest}, {true, Lowest}} {
		s := &Session{version: V3, config: Config{EqualTurns: c.equal}}
		s.enqueue(&Stream{priority: Lowest})
		s.enqueue(&Stream{priority: Highest})
		if got := s.next().priority; got != c.first {
			t.Errorf("equal turns: %t: the first is of priority %d, want %d", c.equal, got, c.first)
		}
	}
}
