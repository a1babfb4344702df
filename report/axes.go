package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wiretime/media/player"
	"wiretime/store"
)

// The values that most studies leave the axes at.
const (
	coldVisit       = "cold"
	browserStrategy = "browser"
	ownServer       = "wiretime"
)

// The values of Axes.Compared where it is more than one axis' name.
const (
	byTransport            = "transport"
	byTransportAndStrategy = "transport and strategy"
)

// Axes says how a run's cells are told apart where it uses axes that few studies
// use. The zero value is that of a run whose loads are all cold, by the browser's
// strategy and from Wiretime's own server.
type Axes struct {
	Streams    bool // the cells are of streams: their protocols are transports
	Visits     bool // some cell has a visit that is not cold
	Strategies bool // some cell has another strategy than the browser's; of streams, some cell has handovers
	Servers    bool // some cell has another server than Wiretime's own

	// compared is empty for the protocol.
	compared string
	// links are the properties of streams' links that vary.
	links []linkAxis
}

// AxesOf looks at the cells of a run. They are compared by their protocols; where there is
// one protocol, by their servers, or where there is one server too, by their strategies.
// Streams are compared by their transports and, where these vary, by their strategies.
func AxesOf(results []store.Result) Axes {
	some := func(is func(store.Cell) bool) bool {
		return slices.ContainsFunc(results, func(r store.Result) bool { return is(r.Cell) })
	}
	varies := func(on func(store.Cell) string) bool {
		return some(func(c store.Cell) bool { return on(c) != on(results[0].Cell) })
	}
	if some(func(c store.Cell) bool { return c.Link != nil }) {
		return Axes{
			links: slices.DeleteFunc(slices.Clone(linkAxes), func(l linkAxis) bool {
				return !varies(func(c store.Cell) string { return l.words(c.Link) })
			}),
			Streams:    true,
			Strategies: some(func(c store.Cell) bool { return c.Link.Reconnections > 0 || c.Strategy != string(player.Reconnect) }),
			compared:   comparedOfStreams(varies(func(c store.Cell) string { return c.Protocol }), varies(func(c store.Cell) string { return c.Strategy })),
		}
	}
	a := Axes{
		Visits:     some(func(c store.Cell) bool { return c.Visit != coldVisit }),
		Strategies: some(func(c store.Cell) bool { return c.Strategy != browserStrategy }),
		Servers:    some(func(c store.Cell) bool { return c.Server != ownServer }),
	}
	switch {
	case varies(func(c store.Cell) string { return c.Protocol }):
	case varies(func(c store.Cell) string { return c.Server }):
		a.compared = "server"
	case varies(func(c store.Cell) string { return c.Strategy }):
		a.compared = "strategy"
	}
	return a
}

func comparedOfStreams(transports, strategies bool) string {
	switch {
	case transports && strategies:
		return byTransportAndStrategy
	case strategies:
		return "strategy"
	}
	return byTransport
}

// Compared names the axis by which cells are compared: "protocol", "strategy" or "server";
// of streams "transport", "strategy" or "transport and strategy".
func (a Axes) Compared() string { return cmp.Or(a.compared, "protocol") }

// Contender is the cell's value on that axis.
func (a Axes) Contender(c store.Cell) string {
	switch a.compared {
	case "server":
		return c.Server
	case "strategy":
		return c.Strategy
	case byTransportAndStrategy:
		return c.Protocol + " · " + c.Strategy
	}
	return c.Protocol
}

// Shared is what cells that are compared with each other have in common of the
// axes that few studies use, such as "resumed visit" and "strategy parallel-2".
func (a Axes) Shared(c store.Cell) []string {
	var words []string
	if a.Visits {
		words = append(words, c.Visit+" visit")
	}
	if a.Strategies && !a.Streams && a.compared != "strategy" {
		words = append(words, "strategy "+c.Strategy)
	}
	if a.Servers && a.compared != "server" {
		words = append(words, "server "+c.Server)
	}
	return words
}

// shared is Shared as one text.
func (a Axes) shared(c store.Cell) string { return strings.Join(a.Shared(c), ", ") }

// labels names each cell within its section: by what it is compared by, and by
// the loader, congestion control and initial window where the study varies them.
func labels(results []store.Result) []string {
	varies := func(of func(store.Cell) string) bool {
		return slices.ContainsFunc(results, func(r store.Result) bool { return of(r.Cell) != of(results[0].Cell) })
	}
	axes := []func(store.Cell) string{
		func(c store.Cell) string { return c.Loader },
		func(c store.Cell) string { return c.Congestion },
		func(c store.Cell) string { return "initcwnd " + strconv.Itoa(c.InitCwnd) },
	}
	axes = slices.DeleteFunc(axes, func(of func(store.Cell) string) bool { return !varies(of) })
	first := AxesOf(results).Contender
	labels := make([]string, len(results))
	for i, r := range results {
		words := []string{first(r.Cell)}
		for _, of := range axes {
			words = append(words, of(r.Cell))
		}
		labels[i] = strings.Join(words, " · ")
	}
	return labels
}

// visitMeanings says of each visit what the client knew, in the order of studies.
var visitMeanings = []Fact{
	{coldVisit, "The client knows nothing of the site."},
	{"resumed", "The client has been there before and takes up its TLS sessions again; connections are closed and the cache is empty."},
	{"0rtt", "As resumed, and the client's first requests go out with the handshake, as early data."},
	{"connected", "The client has been there before and its connections are still open; the cache is empty."},
	{"cached", "The client has been there before, takes up its TLS sessions again and has what its cache may keep; connections are closed."},
}

// describeVisits explains the visits that the cells have; none if all are cold.
func (a Axes) describeVisits(results []store.Result) []Fact {
	if !a.Visits {
		return nil
	}
	var facts []Fact
	for _, f := range visitMeanings {
		if slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.Visit == f.Name }) {
			facts = append(facts, f)
		}
	}
	return facts
}

// describeStrategies explains the strategies that the cells have, in their order;
// none if all are the browser's, or no stream has a handover.
func (a Axes) describeStrategies(results []store.Result) []Fact {
	if !a.Strategies {
		return nil
	}
	describe := describeStrategy
	if a.Streams {
		describe = func(name string) string { return handoverMeanings[name] }
	}
	return meanings(results, func(c store.Cell) string { return c.Strategy }, describe)
}

// describeServers says of the servers that the cells have what they are, in their order, by
// what a run's environment knows of them; none if all are Wiretime's own.
func (a Axes) describeServers(results []store.Result, environment json.RawMessage) ([]Fact, error) {
	if !a.Servers {
		return nil, nil
	}
	known := map[string]any{}
	if err := json.Unmarshal(environment, &known); len(environment) > 0 && err != nil {
		return nil, fmt.Errorf("read the run's environment: %w", err)
	}
	var facts []Fact
	for _, r := range results {
		name := r.Cell.Server
		if slices.ContainsFunc(facts, func(f Fact) bool { return f.Name == name }) {
			continue
		}
		version, ok := known["server_"+name].(string)
		switch {
		case name == ownServer:
			version = "Wiretime's own, the same for every protocol."
		case !ok:
			version = "The version is not known: a command of the study's, or a program that is not installed."
		}
		facts = append(facts, Fact{name, version})
	}
	return facts, nil
}

func describeStrategy(name string) string {
	connections := map[string]string{"parallel": "6 connections", "pipelined": "1 connection"}
	word := name
	for _, numbered := range []string{"parallel", "pipelined"} {
		if n, ok := strings.CutPrefix(name, numbered+"-"); ok {
			word = numbered
			connections[numbered] = n + " connections"
			if n == "1" {
				connections[numbered] = "1 connection"
			}
		}
	}
	switch word {
	case browserStrategy:
		return "As browsers do: over HTTP/1.1 up to 6 connections per host, over other protocols one per origin for all requests."
	case "sequential":
		return "One request at a time, each on a connection of its own."
	case "keep-alive":
		return "One request at a time, on one connection per origin."
	case "parallel":
		return "Up to " + connections[word] + " per host, each with one request at a time."
	case "unlimited":
		return "A connection for each request that finds none idle."
	case "pipelined":
		return "Requests are sent without waiting for answers, on up to " + connections[word] + " per host."
	case "multiplexed":
		return "One connection per origin for all requests at once."
	}
	return ""
}
