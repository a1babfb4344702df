package compare

// Look is one of the moments at which growing samples are compared.
type Look struct {
	Number  int     // from 1
	Repeats int     // of each cell, that count at this look
	Alpha   float64 // the level of this look
}

// firstLook is how many repeats the first look has, unless a statistic needs more for an interval.
const firstLook = 8

// Looks returns the looks at samples that grow to at most so many repeats, each half as large again as the one before. The
// levels of the looks add up to less than Alpha: the first has a half of it, the k-th one in k(k+1) parts. Whoever stops at any of them
// is therefore wrong with a probability of Alpha at most, however the looks depend on each other and however many there are
// (Lan and DeMets, Discrete sequential boundaries for clinical trials, 1983, spend Alpha over time in this way; that
// the parts may be added follows from Boole's inequality and assumes nothing).
func Looks(most int, figures []Figure) []Look {
	first := max(firstLook, fewest(figures, Alpha/2))
	var looks []Look
	for n := first; len(looks) == 0 || looks[len(looks)-1].Repeats < most; n += n / 2 {
		k := len(looks) + 1
		looks = append(looks, Look{k, min(n, most), Alpha / float64(k*(k+1))})
	}
	return looks
}

// fewest returns how many values the figures need for intervals at a level.
func fewest(figures []Figure, alpha float64) int {
	n := 0
	for _, f := range figures {
		n = max(n, f.Statistic.Fewest(1-alpha))
	}
	return n
}

// Follow holds what growing samples have decided so far.
type Follow struct {
	latest  *Comparison
	decided map[int]Pair // by the place in the comparison
}

// Add takes over what a look has come to, and reports whether every pair is decided. What an earlier look has decided stays: only then do the
// levels of the looks add up.
func (f *Follow) Add(c *Comparison, l Look) (done bool) {
	if f.decided == nil {
		f.decided = map[int]Pair{}
	}
	f.latest, done = c, true
	c.Looks = l.Number
	for i, p := range c.Pairs {
		if before, ok := f.decided[i]; ok {
			c.Pairs[i] = before
			continue
		}
		c.Pairs[i].Look = l.Number
		switch {
		case p.Decided():
			f.decided[i] = c.Pairs[i]
		case p.Verdict == Refused, p.NA == 0, p.NB == 0: // further loads would not change that
		default:
			done = false
		}
	}
	return done
}

// Result returns the comparison as the looks have left it; nil before the first.
func (f *Follow) Result() *Comparison { return f.latest }
