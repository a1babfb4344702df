package study

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"wiretime/network"
)

// Cell is one combination of a study's axes.
type Cell struct {
	Site, Protocol     string       // a medium and a transport in a study of streams
	Network            network.Path // of streams: as it is on average
	Loader, Congestion string       // the loader is a player in a study of streams
	InitCwnd           int          // segments
	Clock              string       // ClockReal or ClockVirtual; ClockAuto until one of them was chosen
	Visit, Strategy    string
	Server             string
	Link               *Link // of a study of streams; nil for pages
}

// Key names the cell by all its axes; it is unique within the study. The
// network counts by its name. The real clock, the cold visit, the loader's
// own strategy and Wiretime's own server are not named: a key without one means those.
// The key of a stream's cell names all its axes but the real clock.
func (c Cell) Key() string {
	if c.Clock == ClockReal {
		return c.place()
	}
	return c.place() + " clock=" + c.Clock
}

// place names the cell by all its axes but the clock.
func (c Cell) place() string {
	if c.Link != nil {
		return fmt.Sprintf("media=%s transport=%s player=%s link_delay=%s loss=%s reconnections=%d strategy=%s congestion=%s initcwnd=%d",
			c.Site, c.Protocol, c.Loader, delayWord(c.Link.Delay), lossWord(c.Link.Loss), c.Link.Reconnections, c.Strategy, c.Congestion, c.InitCwnd)
	}
	place := fmt.Sprintf("site=%s protocol=%s network=%s loader=%s congestion=%s initcwnd=%d",
		c.Site, c.Protocol, c.Network.Name, c.Loader, c.Congestion, c.InitCwnd)
	if c.Visit != VisitCold {
		place += " visit=" + c.Visit
	}
	if c.Strategy != StrategyBrowser {
		place += " strategy=" + c.Strategy
	}
	if c.Server != ServerOwn {
		place += " server=" + c.Server
	}
	return place
}

// PlannedLoad is one load of a plan.
type PlannedLoad struct {
	Index  int // place in the plan, from 0
	Cell   Cell
	Repeat int    // from 0
	Seed   uint64 // of everything random in the load
}

// Cells returns every combination of the axes that Except does not pick, in the order of the file: the
// site changes slowest, then network, loader, congestion control, initial
// window, clock, visit, server and strategy, and the protocol fastest. Where the study
// leaves the clock open, choose decides between ClockReal and ClockVirtual;
// without it (nil) the cell keeps ClockAuto. Only cells on one clock can be
// compared, so a choice that depends on the protocol or, with one protocol, on
// the strategy or the server takes comparisons away.
func (s *Study) Cells(choose func(Cell) string) []Cell {
	var cells []Cell
	for _, site := range s.Sites {
		for i, path := range s.Networks {
			for _, loader := range s.Loaders {
				for _, congestion := range s.Congestion {
					for _, segments := range s.InitCwnd {
						for _, clock := range s.Clocks {
							cells = append(cells, s.visits(Cell{
								Site: site, Network: path, Link: s.link(i), Loader: loader, Congestion: congestion, InitCwnd: segments, Clock: clock,
							}, choose)...)
						}
					}
				}
			}
		}
	}
	return cells
}

// link is that of a network, by its place in Networks; nil in a study of pages.
func (s *Study) link(network int) *Link {
	if !s.Streams() {
		return nil
	}
	return &s.Links[network]
}

// visits returns every combination of visit, server, strategy and protocol for a cell
// that lacks these.
func (s *Study) visits(cell Cell, choose func(Cell) string) []Cell {
	var cells []Cell
	for _, cell.Visit = range s.Visits {
		for _, cell.Server = range s.Servers {
			for _, cell.Strategy = range s.Strategies {
				for _, cell.Protocol = range s.Protocols {
					c := cell
					if slices.ContainsFunc(s.Except, func(e Selection) bool { return e.Picks(c) }) {
						continue
					}
					if c.Clock == ClockAuto && choose != nil {
						c.Clock = choose(c)
					}
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
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
