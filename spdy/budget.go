package spdy

import "time"

// budget limits how many frames a peer may send that cost this side something
// without advancing the peer's work: SETTINGS, PING, RST_STREAM, frames of
// streams that do not exist, DATA without octets, WINDOW_UPDATE beyond what was
// sent. A peer that exceeds it loses the session.
type budget struct {
	left   int
	filled time.Time
}

const (
	budgetMost = 2000 // frames at once
	budgetRate = 200  // frames per second after that
)

func newBudget() budget { return budget{left: budgetMost, filled: time.Now()} }

// earn adds the two WINDOW_UPDATEs that a DATA frame may cause: one for the
// stream, one for the session.
func (b *budget) earn() { b.left = min(b.left+2, budgetMost) }

// spend returns false when nothing is left.
func (b *budget) spend(n int) bool {
	b.left -= n
	if b.left < 0 {
		now := time.Now()
		earned := int(min(now.Sub(b.filled), time.Minute) * budgetRate / time.Second)
		b.left, b.filled = min(b.left+earned, budgetMost), now
	}
	return b.left >= 0
}
