package study

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"wiretime/network"
)

// PlannedLoad describes one load of a plan.
type PlannedLoad struct {
	Index  int // position in the plan, from 0
	Cell   Cell
	Repeat int    // from 0
	Seed   uint64 // seeds everything random in the load
}

// Cells returns every combination of the axes' values that Except and Only leave, in the order of
// the file: what is loaded changes slowest, what it is loaded over changes fastest.
//
// choose returns ClockReal or ClockVirtual for a cell whose clock is ClockAuto. If choose is nil,
// the cell keeps ClockAuto. Figures on different clocks are not compared, so choose should return
// the same clock for all cells that the study compares: those that differ in their protocol or,
// in a study of a single protocol, in their strategy or server.
func (s *Study) Cells(choose func(Cell) string) []Cell {
	var cells []Cell
	values := map[Axis]string{}
	var combine func(axes []Axis)
	combine = func(axes []Axis) {
		if len(axes) == 0 {
			c := NewCell(s.Workload, values, network.Path{})
			c.Network = s.network(c)
			picks := func(e Selection) bool { return e.Picks(c) }
			for _, only := range [][]Selection{s.Only, s.Part} {
				if len(only) > 0 && !slices.ContainsFunc(only, picks) {
					return
				}
			}
			if slices.ContainsFunc(s.Except, picks) {
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
	combine(s.Workload.CellOrder())
	return cells
}

// network returns the path of a cell: the average path over its access links if the workload
// describes them by axes, else the path that the network axis names.
func (s *Study) network(c Cell) network.Path {
	if s.Workload.Has(AxisLinkDelay) {
		path, _ := s.Options.AveragePath(c.Link()) // whoever made the study has checked it
		return path
	}
	i := slices.IndexFunc(s.Networks, func(p network.Path) bool { return p.Name == c.On(AxisNetwork) })
	if i < 0 {
		return network.Path{}
	}
	return s.Networks[i]
}

// Plan returns the loads of the cells in the order to run them. The loads of a session follow each other; cells must
// have them in their order, from the first load on. The order is one of randomised complete blocks
// (Fisher, The Design of Experiments, 1935). Each repeat is a block that holds every cell once,
// in an order drawn from the study's seed. Drift over time (heat, other work on the machine)
// therefore affects all cells alike, and a run that is cut short has nearly equal counts for all
// cells.
//
// A load's seed depends only on the study's seed, the cell without its clock, and the repeat, so
// a load draws the same losses and jitter wherever it stands in the order and whatever other
// cells the study has. Cells do not share seeds. The n-th packet of h2 and of h3 carry different
// data, so shared losses would not pair the protocols' figures, but one unlucky draw would affect
// all of them. The figures of two cells are independent samples and are compared as such. The two
// clocks of one cell do share seeds, since both carry the same packets.
func (s *Study) Plan(cells []Cell) []PlannedLoad {
	plan := make([]PlannedLoad, 0, len(cells)*s.Repeats)
	groups := sessions(cells)
	for repeat := range s.Repeats {
		order := rand.New(rand.NewPCG(s.Seed, uint64(repeat))).Perm(len(groups))
		for _, i := range order {
			for _, c := range groups[i] {
				plan = append(plan, PlannedLoad{len(plan), c, repeat, loadSeed(s.Seed, c.place(), repeat)})
			}
		}
	}
	return plan
}

// sessions groups the cells of each session, in the order of its loads. A cell without a session is a group of
// its own. The groups are in the order of their first cells.
func sessions(cells []Cell) [][]Cell {
	var groups [][]Cell
	at := map[string]int{}
	for _, c := range cells {
		if c.Load() == 1 {
			at[c.But(AxisLoad)] = len(groups)
		}
		if c.Load() <= 1 {
			groups = append(groups, []Cell{c})
			continue
		}
		g := at[c.But(AxisLoad)]
		groups[g] = append(groups[g], c)
	}
	return groups
}

func loadSeed(study uint64, place string, repeat int) uint64 {
	text := fmt.Sprintf("%d\n%s\n%d", study, place, repeat)
	digest := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(digest[:])
}
