package session

import (
	"cmp"
	"slices"
)

// queue holds requests in the order in which to send them: higher priorities
// first, equal ones in the order of Fetch.
type queue []*exchange

func (q *queue) add(x *exchange) {
	i, _ := slices.BinarySearchFunc(*q, x, func(a, b *exchange) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.number, b.number))
	})
	*q = slices.Insert(*q, i, x)
}

// take removes the first request, or returns nil if there is none.
func (q *queue) take() *exchange {
	if len(*q) == 0 {
		return nil
	}
	x := (*q)[0]
	*q = (*q)[1:]
	return x
}

// remove removes x if it is in the queue.
func (q *queue) remove(x *exchange) bool {
	i := slices.Index(*q, x)
	if i < 0 {
		return false
	}
	*q = slices.Delete(*q, i, i+1)
	return true
}
