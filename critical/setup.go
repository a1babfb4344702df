package critical

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
)

// setUp is what a resource waits for before it is sent: a DNS look-up and a
// connection. Octets of these may be missing while they are being opened.
type setUp struct {
	otherwise Kind        // while none is being opened
	lookUp    *connection // or nil
	dial      *connection // that the resource used, or nil
	opening   [][]span    // each joined: a look-up or connection was being opened
	lost      [][]span    // each joined: octets of it were missing meanwhile
}

// add adds the look-up or connection that the resource used.
func (u *setUp) add(c *connection) {
	if c.isLookUp() {
		u.lookUp = c
	} else {
		u.dial = c
	}
	u.opening, u.lost = append(u.opening, []span{c.opening}), append(u.lost, c.lost)
}

// addOthers adds the connections to the same address that were opened before c. The
// browser may have tried them first, because a failed dial attempt is replaced and leaves
// no trace in HAR.
func (u *setUp) addOthers(all *attempts, c *connection) {
	earlier, _ := slices.BinarySearch(all.from, c.opening.from)
	for i := earlier; i > 0; i -= i & -i {
		u.opening, u.lost = append(u.opening, all.opening[i-1]), append(u.lost, all.lost[i-1])
	}
}

func (u *setUp) kind(at int64) Kind {
	contains := func(spans []span) bool { return within(spans, at) }
	switch {
	case slices.ContainsFunc(u.lost, contains):
		return Loss
	case slices.ContainsFunc(u.opening, contains):
		return SetUp
	}
	return u.otherwise
}

// cuts returns the moments within a span at which kind may change.
func (u *setUp) cuts(s span) []int64 {
	var cuts []int64
	for _, spans := range slices.Concat(u.opening, u.lost) {
		cuts = appendEdges(cuts, spans, s, 0)
	}
	return cuts
}

// attempts holds the connections to one address in the order in which their openings
// began. It is a Fenwick tree: element i-1 holds the joined spans of the i & -i
// connections up to the i-th, so that the spans of the first n connections are those of
// few elements.
type attempts struct {
	from          []int64 // when the openings began
	opening, lost [][]span
}

// newAttempts groups connections by the address to which they were opened.
func newAttempts(connections []*connection) map[netip.AddrPort]*attempts {
	groups := map[netip.AddrPort][]*connection{}
	for _, c := range connections {
		groups[c.flow.Destination] = append(groups[c.flow.Destination], c)
	}
	all := make(map[netip.AddrPort]*attempts, len(groups))
	for address, group := range groups {
		slices.SortFunc(group, func(a, b *connection) int { return cmp.Compare(a.opening.from, b.opening.from) })
		n := len(group)
		a := &attempts{from: make([]int64, n), opening: make([][]span, n), lost: make([][]span, n)}
		for i, c := range group {
			a.from[i] = c.opening.from
			a.opening[i] = joined(append(a.opening[i], c.opening))
			a.lost[i] = joined(append(a.lost[i], c.lost...))
			if parent := i + (i+1)&-(i+1); parent < n {
				a.opening[parent] = append(a.opening[parent], a.opening[i]...)
				a.lost[parent] = append(a.lost[parent], a.lost[i]...)
			}
		}
		all[address] = a
	}
	return all
}

// clipped returns the parts of spans, which are joined, that lie within a span.
func clipped(spans []span, within span) []span {
	var out []span
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > within.from })
	for ; i < len(spans) && spans[i].from < within.to; i++ {
		out = append(out, span{max(spans[i].from, within.from), min(spans[i].to, within.to)})
	}
	return out
}
