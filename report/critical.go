package report

import "wiretime/critical"

// Critical describes the critical path of a cell's median load. It is one load, not an average.
type Critical struct {
	Load    int     `json:"load"`
	OnLoad  int64   `json:"onLoad"`  // ns; of a visit to several pages the sum
	Kinds   []int64 `json:"kinds"`   // ns, in the order of Data.Kinds; they add up to OnLoad
	Verdict string  `json:"verdict"` // in words; of the last page
}

// kindNames are the kinds of time on critical paths.
func kindNames() []string {
	var names []string
	for _, k := range critical.Kinds() {
		names = append(names, k.String())
	}
	return names
}

// explain sums up the critical paths of a load's pages.
func explain(load int, paths []*critical.Path) *Critical {
	c := &Critical{Load: load, Kinds: make([]int64, len(critical.Kinds()))}
	for _, p := range paths {
		for k, sum := range p.Sums() {
			c.Kinds[k] += sum
		}
		c.OnLoad += p.OnLoad
		c.Verdict = p.Verdict()
	}
	return c
}
