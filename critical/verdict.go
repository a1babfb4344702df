package critical

import "fmt"

// cause is a cause that a verdict names: a kind, or the total cost of lost
// packets.
type cause struct {
	ns    int64
	words string
}

// Verdict names the path's biggest cause in one sentence. Loss recovery and head-of-line
// blocking count as one, the cost of lost packets. Every load of the page pays for
// set-up and path delay, so if one of them is the biggest, Verdict also names the
// biggest of the others. If losses are neither, a second sentence gives their cost.
func (p *Path) Verdict() string {
	sums, lost := p.Sums(), p.lost()
	var causes, others []cause
	for _, k := range Kinds() {
		if k == HeadOfLine {
			continue
		}
		c := cause{sums[k], fmt.Sprintf("%s, %s", k, p.share(sums[k]))}
		if k == Loss {
			c = lost
		}
		if causes = append(causes, c); k != SetUp && k != Delay {
			others = append(others, c)
		}
	}
	first, other := biggest(causes), biggest(others)
	words := "The biggest cause is " + first.words
	if first != other && other.ns > 0 {
		words += "; after what the distance costs, it is " + other.words
	}
	if first != lost && other != lost && lost.ns > 0 {
		words += ". Then there are " + lost.words
	}
	return words + "."
}

// lost returns the cost of lost packets.
func (p *Path) lost() cause {
	sums := p.Sums()
	c := cause{ns: sums[Loss] + sums[HeadOfLine]}
	c.words = "lost packets, " + p.share(c.ns)
	switch own, others := sums[Loss], sums[HeadOfLine]; {
	case own > 0 && others > 0:
		c.words += fmt.Sprintf(", %.0f ms of it %s and %.0f ms %s", float64(own)/1e6, Loss, float64(others)/1e6, HeadOfLine)
	case own > 0:
		c.words += fmt.Sprintf(", all of it %s", Loss)
	case others > 0:
		c.words += fmt.Sprintf(", all of it %s", HeadOfLine)
	}
	return c
}

// share writes a time as a part of onLoad.
func (p *Path) share(ns int64) string {
	return fmt.Sprintf("%.0f ms of %.0f ms (%.0f %%)", float64(ns)/1e6, float64(p.OnLoad)/1e6, 100*float64(ns)/float64(p.OnLoad))
}

// biggest returns the cause that took longest; on a tie the first.
func biggest(causes []cause) cause {
	best := causes[0]
	for _, c := range causes {
		if c.ns > best.ns {
			best = c
		}
	}
	return best
}
