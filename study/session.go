package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session makes the loads of a site follow each other in one browser session. The first load is
// cold; each later one finds the client in the state that the cell's visit names.
type Session struct {
	Loads int // 2 to MaxSession; 0: each load has a session of its own
	// Every is the time from the start of one load to the start of the next. The path's time then
	// goes on through the whole session, and a load that takes longer than Every delays the next
	// one. 0: a load starts when the one before has ended, at the path's time 0.
	Every time.Duration
}

// MaxSession is how many loads a session may have.
const MaxSession = 1000

// words returns the values of AxisLoad in a study with this session.
func (s Session) words() []string {
	words := []string{"1"}
	for n := 2; n <= s.Loads; n++ {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// UseSession sets the session of the study's loads, and with it the values of AxisLoad.
func (s *Study) UseSession(session Session) {
	s.Options.Session = session
	s.Matrix[AxisLoad] = session.words()
}

// Load returns the number of the cell's load in its session, from 1. It returns 0 for a pool of several
// loads, and for a workload without sessions.
func (c Cell) Load() int {
	number, _ := strconv.Atoi(c.On(AxisLoad))
	return number
}

// ParseLoads reads a value on AxisLoad: a load's number, from 1, or a range such as 2-100, which pools these loads.
// It accepts only what loads writes, so that equal values are equal words.
func ParseLoads(word string) (first, last int, err error) {
	from, to, ranged := strings.Cut(word, "-")
	if !ranged {
		to = from
	}
	first, err = strconv.Atoi(from)
	if err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first || word != loads(first, last) {
		return 0, 0, fmt.Errorf("invalid load %.40q: want a number from 1, as in 57, or a range, as in 2-100", word)
	}
	return first, last, nil
}

// Pool returns the cell that stands for the loads from first to last of the session of c.
func (c Cell) Pool(first, last int) Cell { return c.With(AxisLoad, loads(first, last)) }

// Unpool returns the cell of a pool's first load, and the pool's value on AxisLoad. For any other cell it returns the
// cell itself and "".
func (c Cell) Unpool() (first Cell, pooled string) {
	from, to, err := ParseLoads(c.On(AxisLoad))
	if err != nil || from == to {
		return c, ""
	}
	return c.With(AxisLoad, strconv.Itoa(from)), c.On(AxisLoad)
}

// loads is the inverse of ParseLoads.
func loads(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// Pools returns the cells that a selection picks. A session counts as one cell: a selection without a load picks
// the pool of all its loads, and one with a range picks the pool of that range. It picks no load or range that
// begins after the end of the session, as in a quick run with shorter sessions.
func (s Selection) Pools(cells []Cell) []Cell {
	last := 1
	for _, c := range cells {
		last = max(last, c.Load())
	}
	words := []string{loads(1, last)}
	if named := s[AxisLoad]; named != nil {
		words = slices.DeleteFunc(slices.Clone(named), func(word string) bool {
			first, _, err := ParseLoads(word)
			return err != nil || first > last
		})
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
