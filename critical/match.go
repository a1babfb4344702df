package critical

import (
	"cmp"
	"slices"
	"sort"
)

// match assigns an exchange to each resource: among the unassigned ones of its
// URL, the one that began closest to when the resource was sent.
func (t *traffic) match(chains []*chain) map[*resource]*exchange {
	byURL := map[string]*candidates{}
	var unread []*exchange
	for _, c := range t.connections {
		for _, x := range c.exchanges {
			began, ok := x.begins()
			switch {
			case !ok:
			case x.url != "":
				if byURL[x.url] == nil {
					byURL[x.url] = &candidates{}
				}
				byURL[x.url].add(x, began)
			case len(x.needs[up]) == 0:
				unread = append(unread, x)
			}
		}
	}
	for _, c := range byURL {
		c.sort()
	}
	found := map[*resource]*exchange{}
	var rest []*resource // of HTTP/3
	for _, c := range chains {
		for _, r := range c.resources {
			if r.entry.FromCache != "" {
				continue
			}
			if named := byURL[r.address]; named != nil {
				if x := named.take(r.epoch+r.phases[atSend].from, r.epoch+r.end+slack); x != nil {
					found[r] = x
					continue
				}
			}
			if r.entry.Protocol == "h3" {
				rest = append(rest, r)
			}
		}
	}
	matchUnread(unread, rest, found)
	return found
}

// candidates are the exchanges of one URL.
type candidates struct {
	list []candidate // in the order of their begin
	// next holds for each place the first free candidate there or behind it, and last
	// the place after the last free one before it, or a place on the way there.
	next, last []int
}

type candidate struct {
	exchange *exchange
	began    int64 // ns since the Unix epoch
	number   int   // in the order of the connections
}

func (c *candidates) add(x *exchange, began int64) {
	c.list = append(c.list, candidate{x, began, len(c.list)})
}

func (c *candidates) sort() {
	slices.SortStableFunc(c.list, func(a, b candidate) int { return cmp.Compare(a.began, b.began) })
	c.next, c.last = make([]int, len(c.list)+1), make([]int, len(c.list)+1)
	for i := range c.next {
		c.next[i], c.last[i] = i, i
	}
}

// take returns the free exchange that began closest to a moment, and not after another,
// or nil. It is not free any more. Of two equally close ones it takes the first.
func (c *candidates) take(at, until int64) *exchange {
	best := c.following(at)
	if best >= 0 && c.list[best].began > until {
		best = -1
	}
	if before := follow(c.last, c.place(at)) - 1; before >= 0 {
		before = c.following(c.list[before].began) // the first of those that began at the same time
		a, b := c.list[before], candidate{}
		if best >= 0 {
			b = c.list[best]
		}
		if best < 0 || cmp.Or(cmp.Compare(at-a.began, b.began-at), cmp.Compare(a.number, b.number)) < 0 {
			best = before
		}
	}
	if best < 0 {
		return nil
	}
	c.next[best], c.last[best+1] = best+1, best
	return c.list[best].exchange
}

// following returns the place of the first free candidate that began at a moment or
// after it, or -1.
func (c *candidates) following(at int64) int {
	if i := follow(c.next, c.place(at)); i < len(c.list) {
		return i
	}
	return -1
}

// place returns the place of the first candidate that began at a moment or after it.
func (c *candidates) place(at int64) int {
	return sort.Search(len(c.list), func(i int) bool { return c.list[i].began >= at })
}

// follow goes from place to place until one leads to itself, and shortens the way for
// the next time.
func follow(way []int, place int) int {
	for way[place] != place {
		way[place] = way[way[place]]
		place = way[place]
	}
	return place
}

// matchUnread assigns responses whose requests could not be read, because they were
// sent as early data, to HTTP/3 resources that have no exchange, both in their order.
func matchUnread(unread []*exchange, resources []*resource, found map[*resource]*exchange) {
	if len(unread) == 0 {
		return
	}
	var begins []int64
	for _, x := range unread {
		began, _ := x.begins()
		begins = append(begins, began)
	}
	w := newWaiting(begins, resources)
	for i, x := range unread {
		if r := w.take(begins[i]); r != nil {
			x.asked = r.epoch + r.phases[atSend].from
			found[r] = x
		}
	}
}

// waiting finds the resources that waited for a response at a moment. It is a segment
// tree over the moments: a resource is in the few nodes that together cover its wait.
type waiting struct {
	moments []int64
	nodes   [][]int // numbers of resources, in their order
	list    []*resource
	taken   []bool
}

func newWaiting(moments []int64, resources []*resource) *waiting {
	moments = slices.Clone(moments)
	slices.Sort(moments)
	moments = slices.Compact(moments)
	n := len(moments)
	w := &waiting{moments: moments, nodes: make([][]int, 2*n), list: resources, taken: make([]bool, len(resources))}
	for number, r := range resources {
		sent, end := r.epoch+r.phases[atSend].from, r.epoch+r.end
		from := n + sort.Search(n, func(i int) bool { return moments[i] > sent })
		to := n + sort.Search(n, func(i int) bool { return moments[i] > end })
		for ; from < to; from, to = from/2, to/2 {
			if from%2 == 1 {
				w.nodes[from] = append(w.nodes[from], number)
				from++
			}
			if to%2 == 1 {
				to--
				w.nodes[to] = append(w.nodes[to], number)
			}
		}
	}
	return w
}

// take returns the first resource that waited at one of the moments and was not taken
// before, or nil.
func (w *waiting) take(at int64) *resource {
	place, _ := slices.BinarySearch(w.moments, at)
	best := -1
	for node := place + len(w.moments); node > 0; node /= 2 {
		for len(w.nodes[node]) > 0 && w.taken[w.nodes[node][0]] {
			w.nodes[node] = w.nodes[node][1:]
		}
		if list := w.nodes[node]; len(list) > 0 && (best < 0 || list[0] < best) {
			best = list[0]
		}
	}
	if best < 0 {
		return nil
	}
	w.taken[best] = true
	return w.list[best]
}
