package study

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Session makes the loads of a site follow each other in one browser session. The first load is
// cold; each later one finds the client in the state that the cell's visit says.
type Session struct {
	Loads int // 0: each load has a session of its own
	// Every is the time from the start of one load to the start of the next, over one path whose
	// time goes on; a load that takes longer delays the next one. 0: a load starts when the one
	// before has ended, and each begins at the path's time 0.
	Every time.Duration
}

// MaxSession is how many loads a session may have.
const MaxSession = 1000

// words returns the values of AxisLoad in a study with such sessions.
func (s Session) words() []string {
	words := []string{"1"}
	for n := 2; n <= s.Loads; n++ {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// UseSession makes the study one of such sessions.
func (s *Study) UseSession(session Session) {
	s.Options.Session = session
	s.Matrix[AxisLoad] = session.words()
}

// Load returns the cell's load by its number in a session, from 1. It is 0 for a pool of several
// loads, and for a stream.
func (c Cell) Load() int {
	number, _ := strconv.Atoi(c.On(AxisLoad))
	return number
}

// ParseLoads reads a value on AxisLoad: a number, or a range such as 2-100, which pools these loads.
func ParseLoads(word string) (first, last int, err error) {
	from, to, ranged := strings.Cut(word, "-")
	if !ranged {
		to = from
	}
	first, err = strconv.Atoi(from)
	if err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first || ranged && first == last {
		return 0, 0, fmt.Errorf("invalid load %.40q: want a number from 1, as in 57, or a range, as in 2-100", word)
	}
	return first, last, nil
}

// Pool returns the cell that stands for several loads of the session of c.
func (c Cell) Pool(first, last int) Cell { return c.With(AxisLoad, loads(first, last)) }

// Unpool returns the cell of a pool's first load, and the pool's loads. They are empty for a cell that
// is no pool.
func (c Cell) Unpool() (first Cell, pooled string) {
	from, to, err := ParseLoads(c.On(AxisLoad))
	if err != nil || from == to {
		return c, ""
	}
	return c.With(AxisLoad, strconv.Itoa(from)), c.On(AxisLoad)
}

func loads(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// Pools returns what a selection picks of cells. A session counts as one cell: a selection that does
// not name a load picks the pool of all its loads, and one that names a range the pool of these.
// Other cells are as they are.
func (s Selection) Pools(cells []Cell) []Cell {
	last := 1
	for _, c := range cells {
		last = max(last, c.Load())
	}
	words := s[AxisLoad]
	if words == nil {
		words = []string{loads(1, last)}
	}
	var pools []Cell
	for _, c := range cells {
		if !c.Workload.Has(AxisLoad) {
			if s.Picks(c) {
				pools = append(pools, c)
			}
			continue
		}
		if c.Load() != 1 {
			continue // the session's first load stands for it
		}
		for _, word := range words {
			if pool := c.With(AxisLoad, word); s.Picks(pool) {
				pools = append(pools, pool)
			}
		}
	}
	return pools
}
