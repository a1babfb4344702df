package study

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/network"
)

// Value holds a cell's value on one axis.
type Value struct {
	Axis Axis
	Word string
}

// Cell holds one combination of a study's values, one from each axis.
type Cell struct {
	Workload *Workload
	// Values has one value for each axis of the workload, in the workload's order.
	Values []Value
	// Network is the path of the cell's loads. Each stream draws changes of its own over time;
	// for streams, Network is the average path, without them.
	Network network.Path
}

// NewCell returns a cell of a workload. It has the usual value on each axis that values leaves
// out.
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

// On returns the cell's value on an axis, or "" if its workload lacks the axis.
func (c Cell) On(axis Axis) string {
	for _, v := range c.Values {
		if v.Axis == axis {
			return v.Word
		}
	}
	return ""
}

// Unusual reports whether the cell has the axis, with a value other than the usual one.
func (c Cell) Unusual(axis Axis) bool {
	return c.Workload.Has(axis) && c.On(axis) != c.Workload.Info(axis).Usual
}

// With returns a copy of the cell with another value on an axis, which its workload must have.
func (c Cell) With(axis Axis, word string) Cell {
	c.Values = slices.Clone(c.Values)
	c.Values[c.Workload.at(axis)].Word = word
	return c
}

// Subject returns what is loaded: a site reference or a media reference.
func (c Cell) Subject() string { return c.On(c.Workload.Subject) }

// Over returns what it is loaded over: a web protocol or a media transport.
func (c Cell) Over() string { return c.On(c.Workload.Over) }

// By returns what loads it: a loader or a player.
func (c Cell) By() string { return c.On(c.Workload.By) }

// Clock returns the clock of the cell's loads.
func (c Cell) Clock() string { return c.On(AxisClock) }

// InitCwnd returns the initial congestion window of TCP, in segments; 0 on the live clock, where it is not known.
func (c Cell) InitCwnd() int {
	segments, _ := strconv.Atoi(c.On(AxisInitCwnd)) // whoever made the cell has checked it
	return segments
}

// Link returns the access links of a stream.
func (c Cell) Link() Link {
	var l Link // Link.Values wrote the words
	l.Delay, _ = time.ParseDuration(c.On(AxisLinkDelay))
	percent, _ := strconv.ParseFloat(strings.TrimSuffix(c.On(AxisLoss), "%"), 64)
	l.Loss = percent / 100
	l.Reconnections, _ = strconv.Atoi(c.On(AxisReconnections))
	l.LossDown, l.Constant = c.On(AxisLossDirection) == LossDown, c.On(AxisDelayVariation) == VariationNone
	return l
}

// Parallel returns how many requests the player of a stream has under way at once.
func (c Cell) Parallel() int {
	requests, _ := strconv.Atoi(c.On(AxisParallel)) // whoever made the cell has checked it
	return requests
}

// Key names the cell by its axes, uniquely within the study. It leaves out the usual value of
// tacit axes, such as the real clock.
func (c Cell) Key() string {
	if clock := c.Clock(); clock != ClockReal {
		return c.place() + " clock=" + clock
	}
	return c.place()
}

// place returns the cell's key without its clock.
func (c Cell) place() string {
	var words []string
	for _, axis := range c.Workload.KeyOrder() {
		if info := c.Workload.Info(axis); !info.Tacit || c.On(axis) != info.Usual {
			words = append(words, string(axis)+"="+c.On(axis))
		}
	}
	return strings.Join(words, " ")
}

// But names the cell by all axes other than the given ones. Cells with the same such name
// differ only on those axes.
func (c Cell) But(axes ...Axis) string {
	var words []string
	for _, v := range c.Values {
		if !slices.Contains(axes, v.Axis) {
			words = append(words, string(v.Axis)+"="+v.Word)
		}
	}
	return strings.Join(words, " ")
}
