package study

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/network"
)

// Value is the place of a cell on an axis.
type Value struct {
	Axis Axis
	Word string
}

// Cell is one combination of a study's axes.
type Cell struct {
	Workload *Workload
	// Values has one value for each axis of the workload, in the workload's order.
	Values []Value
	// Network is the path of the cell's loads. Streams draw their own, as often as not with
	// changes in time: this is what all of them have in common.
	Network network.Path
}

// NewCell makes a cell of a workload. On axes without a value it has the usual one.
func NewCell(w *Workload, values map[Axis]string, path network.Path) Cell {
	c := Cell{Workload: w, Values: make([]Value, len(w.Axes)), Network: path}
	for i, a := range w.Axes {
		word, ok := values[a.Axis]
		if !ok {
			word = a.Usual
		}
		c.Values[i] = Value{a.Axis, word}
	}
	return c
}

// On returns the cell's value on an axis; empty if its workload has no such axis.
func (c Cell) On(axis Axis) string {
	for _, v := range c.Values {
		if v.Axis == axis {
			return v.Word
		}
	}
	return ""
}

// Unusual reports whether the cell has the axis, and on it another value than the usual one.
func (c Cell) Unusual(axis Axis) bool {
	return c.Workload.Has(axis) && c.On(axis) != c.Workload.Info(axis).Usual
}

// With returns the cell with another value on an axis that it has.
func (c Cell) With(axis Axis, word string) Cell {
	c.Values = slices.Clone(c.Values)
	c.Values[c.Workload.at(axis)].Word = word
	return c
}

// Subject returns what is loaded: a site's or a medium's reference.
func (c Cell) Subject() string { return c.On(c.Workload.Subject) }

// Over returns what it is loaded over: a web protocol or a media transport.
func (c Cell) Over() string { return c.On(c.Workload.Over) }

// By returns what loads it: a loader or a player.
func (c Cell) By() string { return c.On(c.Workload.By) }

// Clock returns the clock of the cell's loads.
func (c Cell) Clock() string { return c.On(AxisClock) }

// InitCwnd returns the initial congestion window in segments.
func (c Cell) InitCwnd() int {
	segments, _ := strconv.Atoi(c.On(AxisInitCwnd)) // checked when the study was read
	return segments
}

// Link returns the access links of a stream.
func (c Cell) Link() Link {
	var l Link // its words were made of these very values
	l.Delay, _ = time.ParseDuration(c.On(AxisLinkDelay))
	percent, _ := strconv.ParseFloat(strings.TrimSuffix(c.On(AxisLoss), "%"), 64)
	l.Loss = percent / 100
	l.Reconnections, _ = strconv.Atoi(c.On(AxisReconnections))
	return l
}

// Key names the cell by its axes; it is unique within the study. Some axes are left out
// where they have their usual value, such as the real clock.
func (c Cell) Key() string {
	if clock := c.Clock(); clock != ClockReal {
		return c.place() + " clock=" + clock
	}
	return c.place()
}

// place names the cell by all its axes but the clock.
func (c Cell) place() string {
	var words []string
	for _, axis := range c.Workload.KeyOrder {
		if info := c.Workload.Info(axis); !info.Tacit || c.On(axis) != info.Usual {
			words = append(words, string(axis)+"="+c.On(axis))
		}
	}
	return strings.Join(words, " ")
}

// But names the cell by all its axes but some: cells with one such name differ in nothing
// else.
func (c Cell) But(axes ...Axis) string {
	var words []string
	for _, v := range c.Values {
		if !slices.Contains(axes, v.Axis) {
			words = append(words, string(v.Axis)+"="+v.Word)
		}
	}
	return strings.Join(words, " ")
}
