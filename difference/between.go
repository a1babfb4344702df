package difference

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"wiretime/stats"
)

// Difference says why the loads of one side take longer than those of another: what the mean of their onLoads differs by.
// Its times are ns; positive ones make B slower.
type Difference struct {
	A         Side          `json:"a"`
	B         Side          `json:"b"`
	OnLoad    Time          `json:"onLoad"`    // B's less A's
	Causes    []Attribution `json:"causes"`    // all of them, in the order of Causes; their times add up to OnLoad's
	Resources []Resource    `json:"resources"` // that are on a path, the largest difference first; their times add up to OnLoad's
}

// Side describes the loads of one side.
type Side struct {
	Loads    []string `json:"loads"`    // by their IDs
	Typical  string   `json:"typical"`  // the load whose times by cause are nearest to the mean
	OnLoad   int64    `json:"onLoad"`   // mean
	Requests float64  `json:"requests"` // on the critical path that came over the network, mean
	Up       float64  `json:"up"`       // octets at the IP layer that arrived before onLoad, mean
	Down     float64  `json:"down"`     // likewise
}

// Time is a difference of times in ns, with its 95 % confidence interval if both sides have at least six loads.
type Time struct {
	Value    int64     `json:"ns"`
	Interval *Interval `json:"interval,omitempty"`
}

// Interval is a 95 % percentile bootstrap interval, in ns.
type Interval struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Clear reports whether the interval excludes zero. Without an interval nothing is clear.
func (t Time) Clear() bool { return t.Interval != nil && (t.Interval.Low > 0 || t.Interval.High < 0) }

// Attribution is a cause's part in the difference.
type Attribution struct {
	Cause Cause `json:"cause"`
	Time
	// A and B are the mean times of each side's path, in ns. Value is B - A, except for Bandwidth and Bytes: Bandwidth has the
	// times of both, and Bytes has none.
	A int64 `json:"a"`
	B int64 `json:"b"`
	// OctetsA and OctetsB are, for Bytes, the octets that the paths waited for, mean.
	OctetsA float64 `json:"octetsA,omitempty"`
	OctetsB float64 `json:"octetsB,omitempty"`

	Parts  []Part  `json:"parts,omitempty"`  // what is known more closely; their times add up to Value
	Places []Place `json:"places,omitempty"` // where it arises, the largest difference first; their times add up to Value
}

// Part is a part of a cause, such as the TLS handshake of the set-up. An empty name is what is not known more closely.
type Part struct {
	Name string `json:"part"`
	Time int64  `json:"ns"`
}

// Place is the part of a cause that arises at one resource.
type Place struct {
	URL  string `json:"url"` // without its scheme; empty: after the last resource, before onLoad
	Time int64  `json:"ns"`
}

// Resource is the part of the difference that arises at one resource.
type Resource struct {
	URL    string   `json:"url"` // as in Place
	Time   int64    `json:"ns"`
	A      int      `json:"a"` // loads on whose path it is
	B      int      `json:"b"`
	Causes []Amount `json:"causes"` // the largest difference first
}

// Amount is a cause's part in the difference at a resource.
type Amount struct {
	Cause Cause `json:"cause"`
	Time  int64 `json:"ns"`
}

// These are the loads that Between does not compare.
var (
	ErrPages = errors.New("not the same number of pages")
	ErrTabs  = errors.New("its pages were loaded at once, so their times do not add up to the load's")
)

// Between explains the difference between the loads of two sides, each of which must have at least one. The seed is that
// of the intervals. The error wraps ErrPages if not all loads have the same number of pages with an onLoad, and ErrTabs if
// one has pages that were loaded at once.
func Between(a, b []*Load, seed uint64) (*Difference, error) {
	for _, l := range slices.Concat(a, b) {
		if l.Pages != a[0].Pages {
			return nil, fmt.Errorf("%w: load %s has %d, load %s has %d", ErrPages, a[0].ID, a[0].Pages, l.ID, l.Pages)
		}
		if l.atOnce {
			return nil, fmt.Errorf("load %s: %w", l.ID, ErrTabs)
		}
	}
	meanA, meanB := meanOf(a), meanOf(b)
	d := &Difference{A: sideOf(a, meanA), B: sideOf(b, meanB), OnLoad: Time{Value: meanB.onLoad - meanA.onLoad}}
	d.attribute(differences(meanA, meanB), meanA, meanB)
	for i := range d.Resources {
		r := &d.Resources[i]
		r.A, r.B = onPath(a, r.URL), onPath(b, r.URL)
	}
	d.addIntervals(a, b, seed)
	return d, nil
}

// differences returns by how much the means differ at each place. Their sum is the difference of onLoad.
func differences(a, b mean) map[place]int64 {
	all := map[place]int64{}
	for at, amount := range b.spent {
		all[at] += amount.time
	}
	for at, amount := range a.spent {
		all[at] -= amount.time
	}
	for d := range a.octets {
		cost := costOfBytes(a.link(d), b.link(d))
		var r round
		for _, at := range slices.SortedFunc(maps.Keys(all), place.compare) {
			if at.cause != Bandwidth || direction(at.isUp) != d {
				continue
			}
			of := r.next(cost * (b.spent[at].octets - a.spent[at].octets))
			all[at] -= of
			at.cause = Bytes
			all[at] += of
		}
	}
	return all
}

// attribute fills in the causes and the resources from the differences of places.
func (d *Difference) attribute(all map[place]int64, a, b mean) {
	d.Causes = make([]Attribution, causes)
	for _, c := range Causes() {
		d.Causes[c].Cause = c
	}
	resources := map[string]int{}
	for _, at := range slices.SortedFunc(maps.Keys(all), place.compare) {
		t, c := all[at], &d.Causes[at.cause]
		c.Value += t
		c.add(at, t)
		i, ok := resources[at.url]
		if !ok {
			i = len(d.Resources)
			resources[at.url] = i
			d.Resources = append(d.Resources, Resource{URL: at.url})
		}
		d.Resources[i].add(at.cause, t)
	}
	for at, amount := range a.spent {
		d.Causes[at.cause].A += amount.time
		d.Causes[Bytes].OctetsA += amount.octets
	}
	for at, amount := range b.spent {
		d.Causes[at.cause].B += amount.time
		d.Causes[Bytes].OctetsB += amount.octets
	}
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Parts = largest(c.Parts, func(p Part) int64 { return p.Time })
		c.Places = largest(c.Places, func(p Place) int64 { return p.Time })
		if len(c.Parts) == 1 && c.Parts[0].Name == "" {
			c.Parts = nil
		}
	}
	for i := range d.Resources {
		d.Resources[i].Causes = largest(d.Resources[i].Causes, func(a Amount) int64 { return a.Time })
	}
	slices.SortStableFunc(d.Resources, func(a, b Resource) int { return compareSizes(a.Time, b.Time) })
}

func (c *Attribution) add(at place, t int64) {
	i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Name == at.part })
	if i < 0 {
		i = len(c.Parts)
		c.Parts = append(c.Parts, Part{Name: at.part})
	}
	c.Parts[i].Time += t
	// Places of one resource follow each other.
	if n := len(c.Places); n == 0 || c.Places[n-1].URL != at.url {
		c.Places = append(c.Places, Place{URL: at.url})
	}
	c.Places[len(c.Places)-1].Time += t
}

func (r *Resource) add(c Cause, t int64) {
	r.Time += t
	if n := len(r.Causes); n == 0 || r.Causes[n-1].Cause != c {
		r.Causes = append(r.Causes, Amount{Cause: c})
	}
	r.Causes[len(r.Causes)-1].Time += t
}

// largest returns the items that are not zero, the largest first, whatever their sign.
func largest[T any](items []T, time func(T) int64) []T {
	items = slices.DeleteFunc(items, func(i T) bool { return time(i) == 0 })
	slices.SortStableFunc(items, func(a, b T) int { return compareSizes(time(a), time(b)) })
	return items
}

// compareSizes orders times by their size, the largest first, whatever their sign.
func compareSizes(a, b int64) int { return cmp.Compare(max(b, -b), max(a, -a)) }

// onPath counts the loads on whose path a resource is.
func onPath(loads []*Load, url string) int {
	n := 0
	for _, l := range loads {
		for at := range l.spent {
			if at.url == url {
				n++
				break
			}
		}
	}
	return n
}

func sideOf(loads []*Load, m mean) Side {
	s := Side{OnLoad: m.onLoad, Requests: m.requests, Up: m.octets[direction(true)], Down: m.octets[direction(false)]}
	var sums [causes]float64
	for at, a := range m.spent {
		sums[at.cause] += float64(a.time)
	}
	nearest := math.Inf(1)
	for _, l := range loads {
		s.Loads = append(s.Loads, l.ID)
		distance := 0.0
		for c, t := range l.sums() {
			distance += math.Abs(float64(t) - sums[c])
		}
		if distance < nearest {
			nearest, s.Typical = distance, l.ID
		}
	}
	return s
}

// addIntervals adds the intervals of onLoad and of all causes.
func (d *Difference) addIntervals(a, b []*Load, seed uint64) {
	sidesA, sidesB := totalsOf(a), totalsOf(b)
	intervals := stats.NewBootstrap(seed).Intervals(len(a), len(b), int(causes)+1, func(drawnA, drawnB []int, figures []float64) {
		subtract(meanOfDrawn(sidesA, drawnA), meanOfDrawn(sidesB, drawnB), figures)
	})
	if intervals == nil {
		return
	}
	interval := func(i int) *Interval {
		return &Interval{int64(math.Round(intervals[i].Low)), int64(math.Round(intervals[i].High))}
	}
	for i := range d.Causes {
		d.Causes[i].Interval = interval(i)
	}
	d.OnLoad.Interval = interval(int(causes))
}

// totals are the times of a load by cause, and what it waited for in both directions.
type totals struct {
	causes [causes]float64
	links  [2]link
}

func totalsOf(loads []*Load) []totals {
	all := make([]totals, len(loads))
	for i, l := range loads {
		m := meanOf([]*Load{l})
		for c, t := range l.sums() {
			all[i].causes[c] = float64(t)
		}
		for d := range all[i].links {
			all[i].links[d] = m.link(d)
		}
	}
	return all
}

func meanOfDrawn(all []totals, drawn []int) (m totals) {
	n := float64(len(drawn))
	for _, i := range drawn {
		for c, t := range all[i].causes {
			m.causes[c] += t / n
		}
		for d, l := range all[i].links {
			m.links[d].time += l.time / n
			m.links[d].octets += l.octets / n
			m.links[d].all += l.all / n
		}
	}
	return m
}

// subtract writes by how much each cause, and after them onLoad, differs.
func subtract(a, b totals, figures []float64) {
	total := 0.0
	for c := range causes {
		figures[c] = b.causes[c] - a.causes[c]
		total += figures[c]
	}
	for d := range a.links {
		of := costOfBytes(a.links[d], b.links[d]) * (b.links[d].octets - a.links[d].octets)
		figures[Bandwidth] -= of
		figures[Bytes] += of
	}
	figures[causes] = total
}
