package report

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// number is a number by which cells may differ: the value of an axis, or a part of it.
type number struct {
	axis  study.Axis
	id    string
	name  string // in a sentence
	label string // of the axis of a chart, with the unit in parentheses
	// value returns the number of a cell, or false if the cell has none.
	value func(study.Cell) (float64, bool)
	// word writes the number for a tick on the axis of a chart.
	word func(study.Cell) string
	// rest returns the rest of the value on the axis, without the numbers that have the given IDs, as a key and in words. The words
	// leave out what does not vary in the run. It is nil if the value has no more than the number.
	rest func(a Axes, c study.Cell, but ...string) (key, words string)
}

// linkNumbers are the properties of a stream's link.
var linkNumbers = []number{
	ofLink(study.AxisLinkDelay, "delay", "link delay", "Average link delay, one-way (ms)", func(l study.Link) float64 { return float64(l.Delay) / 1e6 }),
	ofLink(study.AxisLoss, "loss", "loss", "Packet error rate, each direction (%)", func(l study.Link) float64 { return 100 * l.Loss }),
	ofLink(study.AxisReconnections, "reconnections", "number of reconnections", "Reconnections", func(l study.Link) float64 { return float64(l.Reconnections) }),
}

func ofLink(axis study.Axis, id, name, label string, of func(study.Link) float64) number {
	value := func(c study.Cell) (float64, bool) { return of(c.Link()), true }
	return number{axis: axis, id: id, name: name, label: label, value: value, word: plain(value)}
}

// pathNumbers are the properties of networks that are numbers.
var pathNumbers = []number{
	ofPath("rate", "rate", "Rate down (Mbit/s)", func(d, _ *network.Link) float64 { return float64(d.Rate) / 1e6 }),
	ofPath("rtt", "RTT", "RTT without queues (ms)", func(d, u *network.Link) float64 { return float64(d.Delay+u.Delay) / 1e6 }),
	ofPath("loss", "loss", "Packets lost at random, down (%)", func(d, _ *network.Link) float64 { return 100 * d.Loss.Rate }),
}

// siteNumbers are the numbers in the names of sites.
var siteNumbers = []number{
	ofSite("pages", "number of pages", "Pages at once", `^(search|search-full)@(?P<n>\d+)$`, "$1"),
	ofSite("hosts", "number of hosts", "Hosts that share the images", `^(world-flags)(?:@(?P<n>\d+))?$`, "$1"),
	ofSite("objects", "number of objects", "Images of the page", `^(objects)@(?P<n>\d+)x(.+)$`, "$1 of $3"),
}

// ofPath returns a property of paths with one access link that never changes; other paths do not have the number.
func ofPath(id, name, label string, of func(down, up *network.Link) float64) number {
	value := func(c study.Cell) (float64, bool) {
		p := &c.Network
		if len(p.Access) != 1 || p.Moves() || len(p.Events) > 0 || p.Access[0].Down.Rate == 0 || p.Access[0].Down.Loss.GilbertElliott != nil {
			return 0, false
		}
		return of(&p.Access[0].Down, &p.Access[0].Up), true
	}
	return number{axis: study.AxisNetwork, id: id, name: name, label: label, value: value, word: plain(value),
		rest: func(a Axes, c study.Cell, but ...string) (string, string) {
			var said []string
			for _, other := range a.numbers {
				if other.axis == study.AxisNetwork && !slices.Contains(but, other.id) {
					said = append(said, other.say(c))
				}
			}
			return without(c.Network, but), strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ", ")
		}}
}

// say writes a cell's number with its name and unit, as in "RTT 50 ms"; nothing if the cell has none.
func (n number) say(c study.Cell) string {
	if _, ok := n.value(c); !ok {
		return ""
	}
	return strings.TrimSpace(n.name + " " + n.word(c) + " " + unitOf(n.label))
}

// without writes all of a path but its names and those of its properties that have the given IDs, in both directions.
func without(p network.Path, ids []string) string {
	p.Name, p.Source, p.Note, p.Access = "", "", "", slices.Clone(p.Access)
	a := &p.Access[0]
	for _, l := range []*network.Link{&a.Down, &a.Up} {
		if slices.Contains(ids, "rate") {
			if l.Queue == network.DefaultQueue(l.Rate) {
				l.Queue = network.Queue{}
			}
			l.Rate = 0
		}
		if slices.Contains(ids, "rtt") {
			l.Delay = 0
		}
		if slices.Contains(ids, "loss") {
			l.Loss.Rate = 0
		}
	}
	text, _ := json.Marshal(p) // a path always has a JSON form
	return string(text)
}

// ofSite returns the number in the names of some sites: the group n of the pattern, 1 where a name leaves it out. rest is a template
// of regexp.Expand for the rest of the name.
func ofSite(id, name, label, pattern, rest string) number {
	form := regexp.MustCompile(pattern)
	value := func(c study.Cell) (float64, bool) {
		m := form.FindStringSubmatch(c.Subject())
		if m == nil {
			return 0, false
		}
		return parse(cmp.Or(m[form.SubexpIndex("n")], "1"))
	}
	return number{axis: study.AxisSite, id: id, name: name, label: label, value: value, word: plain(value),
		rest: func(_ Axes, c study.Cell, _ ...string) (string, string) {
			family := form.ReplaceAllString(c.Subject(), rest)
			return family, family
		}}
}

// ofAxis returns the values of an axis that are numbers, with or without a unit: 10, 64KiB or 0.5ms. Others have no place on it.
func ofAxis(info study.AxisInfo) number {
	name := strings.ReplaceAll(string(info.Axis), "_", " ")
	return number{axis: info.Axis, id: string(info.Axis), name: name, label: strings.ToUpper(name[:1]) + name[1:],
		value: func(c study.Cell) (float64, bool) { return quantity(c.On(info.Axis)) },
		word:  func(c study.Cell) string { return c.On(info.Axis) }}
}

var quantityForm = regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([A-Za-z%]*)$`)

// units are the units of values in octets, ms or bit/s.
var units = map[string]float64{
	"": 1, "%": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	"us": 1e-3, "ms": 1, "s": 1e3, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9,
}

// quantity reads a number with or without a unit, and reports whether the word is one.
func quantity(word string) (float64, bool) {
	m := quantityForm.FindStringSubmatch(word)
	if m == nil {
		return 0, false
	}
	unit, known := units[m[2]]
	v, ok := parse(m[1])
	return v * unit, ok && known
}

func parse(digits string) (float64, bool) {
	v, err := strconv.ParseFloat(digits, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// write writes a number with at most four decimals.
func write(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }

// plain writes a value without its unit, which the label has.
func plain(value func(study.Cell) (float64, bool)) func(study.Cell) string {
	return func(c study.Cell) string {
		v, _ := value(c)
		return write(v)
	}
}

// unitOf returns the unit in the label of an axis.
func unitOf(label string) string {
	_, unit, _ := strings.Cut(label, "(")
	return strings.TrimSuffix(unit, ")")
}

// numbersOf returns the numbers by which the results' cells differ.
func numbersOf(k kind, w *study.Workload, results []store.Result) []number {
	varies := func(n number) bool {
		first, ok := 0.0, false
		return slices.ContainsFunc(results, func(r store.Result) bool {
			v, has := n.value(r.Cell)
			if has && !ok {
				first, ok = v, true
			}
			return has && v != first
		})
	}
	return slices.DeleteFunc(allNumbers(k, w), func(n number) bool { return !varies(n) })
}

// allNumbers returns the numbers that cells may have: first those that the workload lists, then the axes whose values are numbers.
func allNumbers(k kind, w *study.Workload) []number {
	all := slices.Clone(k.numbers)
	for _, info := range w.Axes {
		if slices.ContainsFunc(k.numbers, func(n number) bool { return n.axis == info.Axis }) || info.Axis == w.Over || info.Axis == w.By || info.Axis == w.Subject {
			continue
		}
		all = append(all, ofAxis(info))
	}
	return all
}
