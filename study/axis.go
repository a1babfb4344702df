package study

import (
	"slices"
	"strings"
)

// Axis names a property by which the cells of a study differ. Selections and exports use the
// same name.
type Axis string

// The axes of page loads, of uploads, of streams, of crowds, and of several.
const (
	AxisSite     Axis = "site"     // site reference, such as "objects@40x20kB"; a URL on the live clock
	AxisProtocol Axis = "protocol" // a row of package protocol
	AxisNetwork  Axis = "network"  // name of the path
	AxisLoader   Axis = "loader"   // browser or client that loads the site
	AxisVisit    Axis = "visit"    // client's state before the load: VisitCold and so on
	AxisLoad     Axis = "load"     // the load's number in its browser session, such as "57"; "2-100" for a pool of these loads
	AxisServer   Axis = "server"   // web server: ServerOwn, a third-party one, or one that the study defines

	// How much the peer may send ahead: WindowDefault, a size such as "64KiB", or a preset of
	// package window.
	AxisClientWindow Axis = "client_window" // what the client grants the server over SPDY, HTTP/2 and HTTP/3
	AxisServerWindow Axis = "server_window" // what the server grants the client
	AxisTCPWindow    Axis = "tcp_window"    // TCP's largest buffers on both hosts; sizes only

	AxisTLS Axis = "tls" // version of TLS: TLS13 or TLS12

	AxisWithout Axis = "without" // what the protocol does without: WithoutNothing and so on

	AxisHint Axis = "hint" // how the server announces what a page needs: HintNone and so on

	AxisUpload Axis = "upload" // upload reference, such as "post@10MB"

	AxisMedia         Axis = "media"         // media reference, such as "file@1GB"
	AxisTransport     Axis = "transport"     // a row of package media/transport
	AxisPlayer        Axis = "player"        // player or downloader
	AxisLinkDelay     Axis = "link_delay"    // average one-way delay of the access links, such as "50ms"
	AxisLoss          Axis = "loss"          // packet error rate, such as "1%"
	AxisReconnections Axis = "reconnections" // number of moves to the other access link
	AxisManager       Axis = "manager"       // ManagerPlanned or ManagerNode
	AxisRebinding     Axis = "rebinding"     // RebindingNone, or what a NAT changes and when, such as "port@2s"

	AxisLossDirection  Axis = "loss_direction"  // which packets of a stream may be lost: LossBoth or LossDown
	AxisDelayVariation Axis = "delay_variation" // whether the network's manager varies a stream's link delay: VariationDrawn or VariationNone
	AxisParallel       Axis = "parallel"        // how many requests a stream's player has under way at once

	AxisClients  Axis = "clients"  // number of clients that are connected to a server at once
	AxisActivity Axis = "activity" // what they do: ActivityIdle or ActivityActive

	AxisCongestion Axis = "congestion" // TCP congestion control of both hosts, by Linux's name; System on the live clock
	AxisInitCwnd   Axis = "initcwnd"   // initial congestion window of TCP on both hosts, in segments; System on the live clock
	AxisTCPSACK    Axis = "tcp_sack"   // whether TCP of both hosts acknowledges selectively (RFC 2018): SACKOn or SACKOff
	AxisClock      Axis = "clock"      // ClockReal, ClockVirtual or ClockLive; ClockAuto until one is chosen
	AxisStrategy   Axis = "strategy"   // how a page's client uses connections, or what a stream's client does at handovers
	AxisAt         Axis = "at"         // the place whose workers load the page, such as "frankfurt", or PlaceAny
)

// Noun returns what sentences call a value of the axis, in the singular.
func (a Axis) Noun() string {
	if a == AxisAt {
		return "place"
	}
	return strings.ReplaceAll(string(a), "_", " ")
}

// AxisInfo says how study files, keys and sentences write an axis.
type AxisInfo struct {
	Axis   Axis
	Key    string // in the matrix of a study file; empty if the matrix does not have it
	Plural string // in a sentence
	Usual  string // the default value; empty if a study must name one
	Tacit  bool   // keys of cells leave the usual value out
	Prefix string // precedes a value in labels, as in "initcwnd 10"
	Suffix string // follows a value in labels, as in "1% loss"
}

// Say returns a value of the axis as labels write it.
func (i AxisInfo) Say(value string) string { return i.Prefix + value + i.Suffix }

// Workload describes a kind of load, such as page loads, by the axes of its cells.
type Workload struct {
	Name string     // in the plural
	Axes []AxisInfo // in the order in which sentences name them; a study lists its cells in this order, too

	Subject Axis // what is loaded
	Over    Axis // what it is loaded over
	By      Axis // what loads it

	Path     []Axis // the axes that a cell's network is named after
	KeyFirst []Axis // the axes that a cell's key begins with; seeds follow from keys, so this may not change
}

// The axes that all workloads share.
var (
	congestion = AxisInfo{Axis: AxisCongestion, Key: "congestion", Plural: "congestion controls", Usual: "cubic"}
	initcwnd   = AxisInfo{Axis: AxisInitCwnd, Key: "initcwnd", Plural: "initial windows", Usual: "10", Prefix: "initcwnd "}
	tcpSACK    = AxisInfo{Axis: AxisTCPSACK, Key: "tcp_sack", Plural: "settings of SACK", Usual: SACKOn, Tacit: true, Prefix: "SACK "}
	clock      = AxisInfo{Axis: AxisClock, Key: "clock", Plural: "clocks", Usual: ClockReal, Tacit: true}
)

// The windows of page loads and of uploads.
var (
	tcpWindow    = AxisInfo{Axis: AxisTCPWindow, Key: "tcp_windows", Plural: "TCP windows", Usual: WindowDefault, Tacit: true, Prefix: "TCP window "}
	clientWindow = AxisInfo{Axis: AxisClientWindow, Key: "client_windows", Plural: "client windows", Usual: WindowDefault, Tacit: true, Prefix: "client window "}
	serverWindow = AxisInfo{Axis: AxisServerWindow, Key: "server_windows", Plural: "server windows", Usual: WindowDefault, Tacit: true, Prefix: "server window "}
)

// tlsVersion is the TLS version of page loads and of uploads.
var tlsVersion = AxisInfo{Axis: AxisTLS, Key: "tls", Plural: "TLS versions", Usual: TLS13, Tacit: true, Prefix: "TLS "}

var pageLoads = Workload{
	Name: "pages", Subject: AxisSite, Over: AxisProtocol, By: AxisLoader,
	Axes: []AxisInfo{
		{Axis: AxisSite, Key: "sites", Plural: "sites"},
		{Axis: AxisNetwork, Key: "networks", Plural: "networks"},
		{Axis: AxisLoader, Key: "loaders", Plural: "loaders"},
		congestion, initcwnd, clock,
		{Axis: AxisVisit, Key: "visits", Plural: "visits", Usual: VisitCold, Tacit: true},
		{Axis: AxisLoad, Plural: "loads of the session", Usual: "1", Tacit: true, Prefix: "load "},
		{Axis: AxisProtocol, Key: "protocols", Plural: "protocols"},
		{Axis: AxisServer, Key: "servers", Plural: "servers", Usual: ServerOwn, Tacit: true},
		{Axis: AxisStrategy, Key: "strategies", Plural: "strategies", Usual: StrategyBrowser, Tacit: true},
		tcpWindow, clientWindow, serverWindow,
		{Axis: AxisHint, Key: "hints", Plural: "hints", Usual: HintNone, Tacit: true, Prefix: "hint "},
		tlsVersion,
		tcpSACK,
		{Axis: AxisWithout, Key: "without", Plural: "things to do without", Usual: WithoutNothing, Tacit: true, Prefix: "without "},
		{Axis: AxisAt, Key: "at", Plural: "places", Usual: PlaceAny, Tacit: true, Prefix: "at "},
	},
	Path:     []Axis{AxisNetwork},
	KeyFirst: []Axis{AxisSite, AxisProtocol, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisVisit, AxisStrategy, AxisServer},
}

var fileUploads = Workload{
	Name: "uploads", Subject: AxisUpload, Over: AxisProtocol, By: AxisLoader,
	Axes: []AxisInfo{
		{Axis: AxisUpload, Key: "uploads", Plural: "uploads"},
		{Axis: AxisNetwork, Key: "networks", Plural: "networks"},
		{Axis: AxisLoader, Key: "loaders", Plural: "loaders"},
		congestion, initcwnd, clock,
		{Axis: AxisProtocol, Key: "protocols", Plural: "protocols"},
		{Axis: AxisServer, Key: "servers", Plural: "servers", Usual: ServerOwn, Tacit: true},
		tcpWindow, clientWindow, serverWindow,
		tlsVersion,
	},
	Path:     []Axis{AxisNetwork},
	KeyFirst: []Axis{AxisUpload, AxisProtocol, AxisNetwork, AxisLoader, AxisCongestion, AxisInitCwnd, AxisServer},
}

var mediaStreams = Workload{
	Name: "streams", Subject: AxisMedia, Over: AxisTransport, By: AxisPlayer,
	Axes: []AxisInfo{
		{Axis: AxisMedia, Key: "media", Plural: "media"},
		{Axis: AxisLinkDelay, Key: "link_delays", Plural: "link delays"},
		{Axis: AxisLoss, Key: "losses", Plural: "losses", Usual: "0%", Suffix: " loss"},
		{Axis: AxisLossDirection, Key: "loss_directions", Plural: "directions of loss", Usual: LossBoth, Tacit: true, Prefix: "loss direction "},
		{Axis: AxisReconnections, Key: "reconnections", Plural: "numbers of reconnections", Usual: "0", Suffix: " reconnections"},
		{Axis: AxisDelayVariation, Key: "delay_variations", Plural: "variations of the delay", Usual: VariationDrawn, Tacit: true, Prefix: "delay variation "},
		{Axis: AxisPlayer, Key: "players", Plural: "players"},
		congestion, initcwnd, clock,
		{Axis: AxisTransport, Key: "transports", Plural: "transports"},
		{Axis: AxisStrategy, Key: "strategies", Plural: "strategies", Usual: StrategyReconnect},
		{Axis: AxisParallel, Key: "parallel", Plural: "numbers of requests at once", Usual: "1", Tacit: true, Suffix: " at once"},
		tcpSACK,
		{Axis: AxisManager, Key: "managers", Plural: "managers", Usual: ManagerPlanned, Tacit: true, Prefix: "manager "},
		{Axis: AxisRebinding, Key: "rebindings", Plural: "rebindings", Usual: RebindingNone, Tacit: true, Prefix: "rebinding "},
	},
	Path:     []Axis{AxisLinkDelay, AxisLoss, AxisLossDirection, AxisReconnections, AxisDelayVariation},
	KeyFirst: []Axis{AxisMedia, AxisTransport, AxisPlayer, AxisLinkDelay, AxisLoss, AxisReconnections, AxisStrategy, AxisCongestion, AxisInitCwnd},
}

var crowds = Workload{
	Name: "crowds", Subject: AxisClients, Over: AxisProtocol, By: AxisActivity,
	Axes: []AxisInfo{
		{Axis: AxisClients, Key: "clients", Plural: "numbers of clients", Suffix: " clients"},
		{Axis: AxisSite, Key: "sites", Plural: "sites"},
		{Axis: AxisActivity, Key: "activities", Plural: "activities"},
		congestion, initcwnd, clock,
		{Axis: AxisProtocol, Key: "protocols", Plural: "protocols"},
		{Axis: AxisServer, Key: "servers", Plural: "servers", Usual: ServerOwn, Tacit: true},
	},
	KeyFirst: []Axis{AxisClients, AxisActivity, AxisSite, AxisProtocol, AxisServer},
}

// Pages returns the workload of page loads.
func Pages() *Workload { return &pageLoads }

// Streams returns the workload of media streams.
func Streams() *Workload { return &mediaStreams }

// Uploads returns the workload of uploads.
func Uploads() *Workload { return &fileUploads }

// Crowds returns the workload of many clients against one server.
func Crowds() *Workload { return &crowds }

// Workloads returns all workloads.
func Workloads() []*Workload { return []*Workload{&pageLoads, &mediaStreams, &fileUploads, &crowds} }

// WorkloadOf returns the workload whose cells have values on these axes, or nil if no workload has them.
func WorkloadOf(values map[Axis]string) *Workload {
	for _, w := range Workloads() {
		_, loaded := values[w.Subject]
		if _, by := values[w.By]; loaded && by { // a crowd has a site, too, but no loader
			return w
		}
	}
	return nil
}

// Has reports whether the workload's cells have the axis.
func (w *Workload) Has(axis Axis) bool { return w.at(axis) >= 0 }

// Info describes an axis, which the workload must have.
func (w *Workload) Info(axis Axis) AxisInfo { return w.Axes[w.at(axis)] }

// KeyOrder returns the order of the axes in a cell's key, without the clock: KeyFirst, then the
// other axes in the order of the table.
func (w *Workload) KeyOrder() []Axis {
	order := slices.Clone(w.KeyFirst)
	for _, i := range w.Axes {
		if i.Axis != AxisClock && !slices.Contains(order, i.Axis) {
			order = append(order, i.Axis)
		}
	}
	return order
}

// CellOrder returns the order in which a study lists its cells, the slowest-changing axis first:
// the order of the table, with Over last.
func (w *Workload) CellOrder() []Axis {
	var order []Axis
	for _, i := range w.Axes {
		if i.Axis != w.Over {
			order = append(order, i.Axis)
		}
	}
	return append(order, w.Over)
}

func (w *Workload) at(axis Axis) int {
	return slices.IndexFunc(w.Axes, func(i AxisInfo) bool { return i.Axis == axis })
}
