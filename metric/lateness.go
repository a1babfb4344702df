package metric

import (
	"math"
	"slices"
)

// lateness gives the q-quantile (0 < q <= 1, nearest rank) of how late the
// emulator let the delivered packets go, in ms.
func (l *Load) lateness(q float64) (float64, bool) {
	if l.Packets == nil {
		return 0, false
	}
	var late []int64
	for i := range l.Packets.Records {
		if p := &l.Packets.Records[i]; p.HasLateness {
			late = append(late, p.Lateness)
		}
	}
	if len(late) == 0 {
		return 0, false
	}
	slices.Sort(late)
	rank := int(math.Ceil(q * float64(len(late))))
	return milliseconds(late[rank-1]), true
}
