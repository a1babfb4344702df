package study

import "slices"

// Axis is one of the things in which the cells of a study differ, by the word that
// selections and exports have for it.
type Axis string

// The axes of page loads, of streams, and of both.
const (
	AxisSite     Axis = "site"     // what is loaded: a site's reference, such as "objects@40x20kB"
	AxisProtocol Axis = "protocol" // what it is loaded over: a row of package protocol
	AxisNetwork  Axis = "network"  // the path's name
	AxisLoader   Axis = "loader"   // what loads it
	AxisVisit    Axis = "visit"    // what the client knows of the site: VisitCold and so on
	AxisServer   Axis = "server"   // what serves the site: ServerOwn, somebody else's, or one of the study's own

	AxisMedia         Axis = "media"         // what is streamed: a medium's reference, such as "file@1GB"
	AxisTransport     Axis = "transport"     // what it is streamed over: a row of package media/transport
	AxisPlayer        Axis = "player"        // what plays it
	AxisLinkDelay     Axis = "link_delay"    // average one-way delay of the access links, such as "50ms"
	AxisLoss          Axis = "loss"          // packet error rate, such as "1%"
	AxisReconnections Axis = "reconnections" // how often the client moves to the other access link

	AxisCongestion Axis = "congestion" // TCP congestion control of both hosts, by its name in Linux
	AxisInitCwnd   Axis = "initcwnd"   // initial congestion window of TCP on both hosts, in segments
	AxisClock      Axis = "clock"      // ClockReal or ClockVirtual; ClockAuto until one of them was chosen
	AxisStrategy   Axis = "strategy"   // how a page's client uses connections, what a stream's does at handovers
)

// AxisInfo says how an axis is written and spoken of.
type AxisInfo struct {
	Axis   Axis
	Key    string // in the matrix of a study file
	Plural string // in a sentence
	Usual  string // its value where a study names none; empty if a study must
	// Tacit says that the key of a cell leaves the usual value out.
	Tacit  bool
	Suffix string // what follows a value that does not speak for itself
}

// Workload is a kind of load: page loads, or streams. It says by which axes the cells of a
// study of its kind differ.
type Workload struct {
	Name string // in the plural
	// Axes are in the order in which sentences name them.
	Axes []AxisInfo
	// Subject is what is loaded, Over what it is loaded over, By what loads it.
	Subject, Over, By Axis

	KeyOrder  []Axis // of the axes in the key of a cell, but for the clock
	CellOrder []Axis // of a study's cells: the axis that changes slowest first
}

// The axes that cells of every kind have.
var (
	congestion = AxisInfo{Axis: AxisCongestion, Key: "congestion", Plural: "congestion controls", Usual: "cubic"}
	initcwnd   = AxisInfo{Axis: AxisInitCwnd, Key: "initcwnd", Plural: "initial windows", Usual: "10"}
	clock      = AxisInfo{Axis: AxisClock, Key: "clock", Plural: "clocks", Usual: ClockReal, Tacit: true}
)

var pageLoads = Workload{
	Name: "pages", Subject: AxisSite, Over: AxisProtocol, By: AxisLoader,
	Axes: []AxisInfo{
		{Axis: AxisSite, Key: "sites", Plural: "sites"},
		{Axis: AxisNetwork, Key: "networks", Plural: "networks"},
		{Axis: AxisLoader, Key: "loaders", Plural: "loaders"},
		congestion, initcwnd, clock,
		{Axis: AxisVisit, Key: "visits", Plural: "visits", Usual: VisitCold, Tacit: true},
		{Axis: AxisProtocol, Key: "protocols", Plural: "protocols"},
		{Axis: AxisStrategy, Key: "strategies", Plural: "strategies", Usual: StrategyBrowser, Tacit: true},
		{Axis: AxisServer, Key: "servers", Plural: "servers", Usual: ServerOwn, Tacit: true},
	},
	KeyOrder:  []Axis{AxisSite, AxisProtocol, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisVisit, AxisStrategy, AxisServer},
	CellOrder: []Axis{AxisSite, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisClock, AxisVisit, AxisServer, AxisStrategy, AxisProtocol},
}

var mediaStreams = Workload{
	Name: "streams", Subject: AxisMedia, Over: AxisTransport, By: AxisPlayer,
	Axes: []AxisInfo{
		{Axis: AxisMedia, Key: "media", Plural: "media"},
		{Axis: AxisLinkDelay, Key: "link_delays", Plural: "link delays"},
		{Axis: AxisLoss, Key: "losses", Plural: "losses", Usual: "0%", Suffix: " loss"},
		{Axis: AxisReconnections, Key: "reconnections", Plural: "numbers of reconnections", Usual: "0", Suffix: " reconnections"},
		{Axis: AxisPlayer, Key: "players", Plural: "players"},
		congestion, initcwnd, clock,
		{Axis: AxisTransport, Key: "transports", Plural: "transports"},
		{Axis: AxisStrategy, Key: "strategies", Plural: "strategies", Usual: StrategyReconnect},
	},
	KeyOrder:  []Axis{AxisMedia, AxisTransport, AxisPlayer, AxisLinkDelay, AxisLoss, AxisReconnections, AxisStrategy, AxisCongestion, AxisInitCwnd},
	CellOrder: []Axis{AxisMedia, AxisLinkDelay, AxisLoss, AxisReconnections, AxisPlayer, AxisCongestion, AxisInitCwnd, AxisClock, AxisStrategy, AxisTransport},
}

// Pages returns the workload of page loads.
func Pages() *Workload { return &pageLoads }

// Streams returns the workload of media streams.
func Streams() *Workload { return &mediaStreams }

// Workloads returns all workloads.
func Workloads() []*Workload { return []*Workload{&pageLoads, &mediaStreams} }

// Has reports whether cells of the workload have the axis.
func (w *Workload) Has(axis Axis) bool { return w.at(axis) >= 0 }

// Info describes an axis that cells of the workload have.
func (w *Workload) Info(axis Axis) AxisInfo { return w.Axes[w.at(axis)] }

func (w *Workload) at(axis Axis) int {
	return slices.IndexFunc(w.Axes, func(i AxisInfo) bool { return i.Axis == axis })
}

// order returns the axes in the workload's order.
func (w *Workload) order() []Axis {
	axes := make([]Axis, len(w.Axes))
	for i, a := range w.Axes {
		axes[i] = a.Axis
	}
	return axes
}

// names are the words for the axes in a study file's selections.
func (w *Workload) names() []string {
	names := make([]string, len(w.Axes))
	for i, a := range w.Axes {
		names[i] = string(a.Axis)
	}
	return names
}
