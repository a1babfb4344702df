package study

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"wiretime/network"
)

// PlannedLoad is one load of a plan.
type PlannedLoad struct {
	Index  int // place in the plan, from 0
	Cell   Cell
	Repeat int    // from 0
	Seed   uint64 // of everything random in the load
}

// Cells returns every combination of the axes that Except does not pick, in the order of the
// file: what is loaded changes slowest, what it is loaded over fastest. Where the study
// leaves the clock open, choose decides between ClockReal and ClockVirtual; without it (nil)
// the cell keeps ClockAuto. Only cells on one clock can be compared, so a choice that depends
// on the protocol or, with one protocol, on the strategy or the server takes comparisons away.
func (s *Study) Cells(choose func(Cell) string) []Cell {
	var cells []Cell
	values := map[Axis]string{}
	var combine func(axes []Axis)
	combine = func(axes []Axis) {
		if len(axes) == 0 {
			c := s.complete(NewCell(s.Workload, values, network.Path{}))
			if slices.ContainsFunc(s.Except, func(e Selection) bool { return e.Picks(c) }) {
				return
			}
			if c.Clock() == ClockAuto && choose != nil {
				c = c.With(AxisClock, choose(c))
			}
			cells = append(cells, c)
			return
		}
		for _, word := range s.Matrix[axes[0]] {
			values[axes[0]] = word
			combine(axes[1:])
		}
	}
	combine(s.Workload.CellOrder)
	return cells
}

// complete gives a cell its network.
func (s *Study) complete(c Cell) Cell {
	if s.Workload == Streams() {
		c.Network, _ = s.Options.network(c.Link()) // planned once when the study was read
		return c
	}
	name := c.On(AxisNetwork)
	if i := slices.IndexFunc(s.Networks, func(p network.Path) bool { return p.Name == name }); i >= 0 {
		c.Network = s.Networks[i]
	}
	return c
}

// Plan returns the loads of the study's cells in the order to run them:
// randomised complete blocks (Fisher, The Design of Experiments, 1935). Each
// repeat is a block that holds every cell once, in an order of its own drawn
// from the study's seed. What drifts with time (heat, other work on the machine) so falls on all cells
// alike, and a study cut short has nearly equal counts everywhere.
//
// A load's seed follows from the study's seed, the cell without its clock, and
// the repeat alone, so that a load meets the same luck wherever it stands in
// the order and whatever other cells the study has. Cells do not share seeds: the n-th packet
// of h2 and of h3 carry different things, so shared losses would not make the
// protocols' figures pair up, but would let one unlucky draw weigh on all of
// them. The cells' figures are independent samples and are compared as such. The
// two clocks of one cell do share seeds, for there the same packets meet the
// same luck.
func (s *Study) Plan(cells []Cell) []PlannedLoad {
	plan := make([]PlannedLoad, 0, len(cells)*s.Repeats)
	for repeat := range s.Repeats {
		order := rand.New(rand.NewPCG(s.Seed, uint64(repeat))).Perm(len(cells))
		for _, i := range order {
			plan = append(plan, PlannedLoad{len(plan), cells[i], repeat, loadSeed(s.Seed, cells[i].place(), repeat)})
		}
	}
	return plan
}

func loadSeed(study uint64, place string, repeat int) uint64 {
	text := fmt.Sprintf("%d\n%s\n%d", study, place, repeat)
	digest := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(digest[:])
}
