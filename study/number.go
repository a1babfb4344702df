package study

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wiretime/network"
)

// Number is a number by which cells may differ: the value of an axis, or a part of it.
type Number struct {
	ID    string // such as "rate"; the axis's name if the number is all that the axis says
	Axis  Axis
	Name  string // in a sentence
	Label string // of the axis of a chart, with the unit in parentheses unless Word has it

	of    func(Cell) (float64, bool)
	rest  func(Cell) string                   // of a site: the rest of its name
	clear func(*network.Link)                 // of a path: takes the number out of a link
	word  func(c Cell, number float64) string // nil: the number alone
}

// Of returns the number of a cell, or false if the cell has none.
func (n Number) Of(c Cell) (float64, bool) { return n.of(c) }

// Word writes the number of a cell that has one, with at most four decimals, or as the axis has it.
func (n Number) Word(c Cell) string {
	v, _ := n.of(c)
	if n.word != nil {
		return n.word(c, v)
	}
	return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
}

// Say writes a cell's number with its name and unit, as in "RTT 50 ms"; nothing if the cell has none.
func (n Number) Say(c Cell) string {
	if _, ok := n.of(c); !ok {
		return ""
	}
	_, unit, _ := strings.Cut(n.Label, "(")
	return strings.TrimSpace(n.Name + " " + n.Word(c) + " " + strings.TrimSuffix(unit, ")"))
}

// Beside writes what a cell's value on an axis says beside the given numbers of that axis: cells with equal texts differ there
// in nothing but these numbers. It is empty if the numbers are all that the axis says.
func Beside(c Cell, numbers ...Number) string {
	switch n := numbers[0]; {
	case n.rest != nil:
		return n.rest(c)
	case n.clear == nil:
		return ""
	}
	p := c.Network
	p.Name, p.Source, p.Note, p.Access = "", "", "", slices.Clone(p.Access)
	for i := range p.Access {
		for _, n := range numbers {
			n.clear(&p.Access[i].Down)
			n.clear(&p.Access[i].Up)
		}
	}
	text, _ := json.Marshal(p) // a path always has a JSON form
	return string(text)
}

// linkNumbers are the properties of a stream's link.
var linkNumbers = []Number{
	ofLink(AxisLinkDelay, "link delay", "Average link delay, one-way (ms)", func(l Link) float64 { return float64(l.Delay) / 1e6 }),
	ofLink(AxisLoss, "loss", "Packet error rate (%)", func(l Link) float64 { return 100 * l.Loss }),
	ofLink(AxisReconnections, "number of reconnections", "Reconnections", func(l Link) float64 { return float64(l.Reconnections) }),
}

func ofLink(axis Axis, name, label string, of func(Link) float64) Number {
	return Number{ID: string(axis), Axis: axis, Name: name, Label: label, of: func(c Cell) (float64, bool) { return of(c.Link()), true }}
}

// pathNumbers are the properties of networks that are numbers.
var pathNumbers = []Number{
	ofPath("rate", "rate", "Rate down (Mbit/s)", func(d, _ *network.Link) float64 { return float64(d.Rate) / 1e6 }, func(l *network.Link) {
		if l.Queue == network.DefaultQueue(l.Rate) {
			l.Queue = network.Queue{}
		}
		l.Rate = 0
	}),
	ofPath("rtt", "RTT", "RTT without queues (ms)", func(d, u *network.Link) float64 { return float64(d.Delay+u.Delay) / 1e6 }, func(l *network.Link) { l.Delay = 0 }),
	ofPath("loss", "loss", "Packets lost at random, down (%)", func(d, _ *network.Link) float64 { return 100 * d.Loss.Rate }, func(l *network.Link) { l.Loss.Rate = 0 }),
}

// ofPath returns a property of paths with one access link that never changes; other paths do not have the number.
func ofPath(id, name, label string, of func(down, up *network.Link) float64, without func(*network.Link)) Number {
	return Number{ID: id, Axis: AxisNetwork, Name: name, Label: label, clear: without, of: func(c Cell) (float64, bool) {
		p := &c.Network
		if len(p.Access) != 1 || p.Moves() || len(p.Events) > 0 || p.Access[0].Down.Rate == 0 || p.Access[0].Down.Loss.GilbertElliott != nil {
			return 0, false
		}
		return of(&p.Access[0].Down, &p.Access[0].Up), true
	}}
}

// siteNumbers are the numbers in the names of sites.
var siteNumbers = []Number{
	ofSite("pages", "number of pages", "Pages at once", `^(search|search-full)@(?P<n>\d+)$`, "$1"),
	ofSite("hosts", "number of hosts", "Hosts that share the images", `^(world-flags)(?:@(?P<n>\d+))?$`, "$1"),
	ofSite("objects", "number of objects", "Images of the page", `^(objects)@(?P<n>\d+)x(.+)$`, "$1 of $3"),
}

// ofSite returns the number in the names of some sites: the group n of the pattern, 1 where a name leaves it out. rest is a
// template of regexp.Expand for the rest of the name.
func ofSite(id, name, label, pattern, rest string) Number {
	form := regexp.MustCompile(pattern)
	return Number{ID: id, Axis: AxisSite, Name: name, Label: label,
		rest: func(c Cell) string { return form.ReplaceAllString(c.Subject(), rest) },
		of: func(c Cell) (float64, bool) {
			m := form.FindStringSubmatch(c.Subject())
			if m == nil {
				return 0, false
			}
			return parseNumber(cmp.Or(m[form.SubexpIndex("n")], "1"))
		}}
}

// ofAxis returns the values of an axis that are numbers, with or without a unit: 10, 64KiB or 0.5ms. Others have no place on it.
func ofAxis(info AxisInfo) Number {
	name := strings.ReplaceAll(string(info.Axis), "_", " ")
	return Number{ID: string(info.Axis), Axis: info.Axis, Name: name, Label: strings.ToUpper(name[:1]) + name[1:],
		of:   func(c Cell) (float64, bool) { return quantity(c.On(info.Axis)) },
		word: func(c Cell, _ float64) string { return c.On(info.Axis) }}
}

// Places returns the values of an axis as places beside each other, from 0, for figures along names such as those of sites. Other
// values have no place.
func Places(axis Axis, values []string) Number {
	name := strings.ReplaceAll(string(axis), "_", " ")
	return Number{ID: string(axis), Axis: axis, Name: name, Label: strings.ToUpper(name[:1]) + name[1:],
		of: func(c Cell) (float64, bool) {
			i := slices.Index(values, c.On(axis))
			return float64(i), i >= 0
		},
		word: func(c Cell, _ float64) string { return c.On(axis) }}
}

// Numbers returns the numbers that cells of the workload may have: first those that are parts of an axis's values, then the axes whose
// values are numbers.
func (w *Workload) Numbers() []Number {
	var all []Number
	if w.Has(AxisLinkDelay) {
		all = append(all, linkNumbers...)
	}
	if w.Has(AxisNetwork) {
		all = append(all, pathNumbers...)
	}
	if w.Subject == AxisSite {
		all = append(all, siteNumbers...)
	}
	for _, info := range w.Axes {
		if slices.ContainsFunc(all, func(n Number) bool { return n.Axis == info.Axis }) || info.Axis == w.Over || info.Axis == w.By || info.Axis == w.Subject {
			continue
		}
		all = append(all, ofAxis(info))
	}
	return all
}

// Number returns the workload's number with that ID, or false if it has none.
func (w *Workload) Number(id string) (Number, bool) {
	all := w.Numbers()
	if i := slices.IndexFunc(all, func(n Number) bool { return n.ID == id }); i >= 0 {
		return all[i], true
	}
	return Number{}, false
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
	v, ok := parseNumber(m[1])
	return v * unit, ok && known
}

func parseNumber(digits string) (float64, bool) {
	v, err := strconv.ParseFloat(digits, 64)
	return v, err == nil && !math.IsInf(v, 0)
}
