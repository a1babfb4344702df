package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wiretime/english"
	"wiretime/store"
	"wiretime/study"
)

// Axes describes which axes a run uses, and by which axes its cells are compared.
type Axes struct {
	Workload   *study.Workload
	Visits     bool // some cell has a visit that is not cold
	Strategies bool // some cell has another strategy than the browser's; of streams, some cell has handovers
	Servers    bool // some cell has another server than Wiretime's own

	// compared are the axes by which cells are compared.
	compared []study.Axis
	// apart are the rarely used axes that the run uses and on which the cells of a section agree.
	apart []study.Axis
	// rest are the axes that vary and that neither sections nor compared tell. In the report's sections, the cells of one agree on aside, and
	// labelled name its columns, beside compared.
	rest, aside, labelled []study.Axis
	// panels are the axes that vary and by which a series has a panel for each value.
	panels []study.Axis
	// numbers are the numbers that vary.
	numbers []study.Number
}

// AxesOf derives the axes from the cells of a run. Pages are compared by protocol; with a
// single protocol, by server; with a single server too, by strategy. Streams are compared by
// transport and strategy, as far as these vary.
func AxesOf(results []store.Result) Axes {
	if len(results) == 0 {
		return Axes{Workload: study.Pages(), compared: pageKind.contenders[:1]}
	}
	some := func(is func(study.Cell) bool) bool {
		return slices.ContainsFunc(results, func(r store.Result) bool { return is(r.Cell) })
	}
	varies := func(axis study.Axis) bool {
		return some(func(c study.Cell) bool { return c.On(axis) != results[0].Cell.On(axis) })
	}
	unusual := func(axis study.Axis) bool {
		return some(func(c study.Cell) bool { return c.Unusual(axis) })
	}
	a := Axes{
		Workload: results[0].Cell.Workload,
		Visits:   unusual(study.AxisVisit), Servers: unusual(study.AxisServer),
		Strategies: unusual(study.AxisStrategy) || unusual(study.AxisReconnections),
	}
	a.compared = a.kind().compare(varies)
	for _, axis := range a.kind().apart {
		if unusual(axis) && !slices.Contains(a.compared, axis) {
			a.apart = append(a.apart, axis)
		}
	}
	sections := slices.Concat([]study.Axis{a.Workload.Subject}, a.Workload.Path, a.apart, []study.Axis{study.AxisClock})
	a.panels = slices.DeleteFunc(slices.Clone(sections), func(axis study.Axis) bool { return !varies(axis) })
	a.numbers = numbersOf(a.Workload, results)
	told := slices.Concat(sections, a.compared)
	for _, info := range a.Workload.Axes {
		if varies(info.Axis) && !slices.Contains(told, info.Axis) {
			a.rest = append(a.rest, info.Axis)
		}
	}
	a.aside = a.rest
	if !slices.ContainsFunc(a.compared, varies) { // then the rest is what the study compares, and by different loaders only if there is nothing else
		isLoader := func(axis study.Axis) bool { return axis == a.Workload.By && len(a.rest) > 1 }
		a.labelled = slices.DeleteFunc(slices.Clone(a.rest), isLoader)
		a.aside = slices.DeleteFunc(slices.Clone(a.rest), func(axis study.Axis) bool { return !isLoader(axis) })
	}
	return a
}

// Compared names the axes by which cells are compared: "protocol", "server" or "strategy" for
// pages; "transport", "strategy" or "transport and strategy" for streams.
func (a Axes) Compared() string {
	words := make([]string, len(a.compared))
	for i, axis := range a.compared {
		words[i] = string(axis)
	}
	return strings.Join(words, " and ")
}

// Shared returns the values on rarely used axes that all cells of a section have, such as
// "resumed visit" and "strategy parallel-2".
func (a Axes) Shared(c study.Cell) []string {
	var words []string
	for _, axis := range a.apart {
		if axis == study.AxisVisit {
			words = append(words, c.On(axis)+" visit")
		} else {
			words = append(words, string(axis)+" "+c.On(axis))
		}
	}
	return words
}

// shared says on what the cells of a section agree beside their site, network and clock.
func (a Axes) shared(c study.Cell) string {
	words := a.Shared(c)
	for _, axis := range a.aside {
		words = append(words, spoken(c, axis))
	}
	return strings.Join(words, ", ")
}

// sectionKey is equal for the cells of one section.
func (a Axes) sectionKey(c study.Cell) string {
	return strings.Join([]string{c.Subject(), c.Network.Name, c.Clock(), a.shared(c)}, "\x00")
}

// column names a cell within its section.
func (a Axes) column(c study.Cell) string { return a.Label(c, a.aside...) }

// same names the axes on which the cells of a section agree and those of a run may not.
func (a Axes) same(results []store.Result) []string {
	names := []string{"network"}
	for _, axis := range slices.Concat(a.apart, a.aside) {
		names = append(names, axis.Noun())
	}
	if slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.Clock() != results[0].Cell.Clock() }) {
		names = append(names, string(study.AxisClock))
	}
	return names
}

// Label names a cell within its section: by its values on the axes by which cells are compared,
// and on every other axis that varies in the run and that the section does not name. It leaves
// out the latter axes that the caller names itself.
func (a Axes) Label(c study.Cell, named ...study.Axis) string {
	var words []string
	for _, axis := range a.compared {
		words = append(words, c.On(axis))
	}
	for _, axis := range a.rest {
		if !slices.Contains(named, axis) {
			words = append(words, spoken(c, axis))
		}
	}
	return strings.Join(words, " · ")
}

// spoken returns the cell's value on an axis in the words of a sentence.
func spoken(c study.Cell, axis study.Axis) string {
	switch axis {
	case study.AxisLinkDelay:
		return duration(c.Link().Delay)
	case study.AxisLoss:
		return "loss " + percent(c.Link().Loss)
	case study.AxisReconnections:
		return english.Count(c.Link().Reconnections, "reconnection")
	}
	return c.Workload.Info(axis).Say(c.On(axis))
}

// visitMeanings explains each visit: what the client knows of the site beforehand.
var visitMeanings = []Fact{
	{study.VisitCold, "The client has never visited the site."},
	{study.VisitResumed, "The client has been there before and resumes its TLS sessions; connections are closed and the cache is empty."},
	{study.VisitZeroRTT, "As resumed, and the client's first requests go out with the handshake, as early data."},
	{study.VisitConnected, "The client has been there before and its connections are still open; the cache is empty."},
	{study.VisitCached, "The client has been there before, resumes its TLS sessions and has what its cache may keep; connections are closed."},
	{study.VisitAgain, "The client has just been there: its connections are open, and it requests only what its cache lacks or must revalidate."},
	{study.VisitReload, "The client reloads the page: its connections are open, and it asks whether its cache is still valid."},
}

// describeVisits explains the visits that the cells have; none if all are cold.
func (a Axes) describeVisits(results []store.Result) []Fact {
	if !a.Visits {
		return nil
	}
	var facts []Fact
	for _, f := range visitMeanings {
		if slices.ContainsFunc(results, func(r store.Result) bool { return r.Cell.On(study.AxisVisit) == f.Name }) {
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
	return meanings(results, func(c study.Cell) string { return c.On(study.AxisStrategy) }, a.kind().strategy)
}

// describeServers describes the servers of the cells by their versions in the run's
// environment. It returns none if all are Wiretime's own.
func (a Axes) describeServers(results []store.Result, environment json.RawMessage) ([]Fact, error) {
	if !a.Servers {
		return nil, nil
	}
	known := map[string]any{}
	if err := json.Unmarshal(environment, &known); len(environment) > 0 && err != nil {
		return nil, fmt.Errorf("read the run's environment: %w", err)
	}
	var facts []Fact
	described := map[string]bool{}
	for _, r := range results {
		name := r.Cell.On(study.AxisServer)
		if described[name] {
			continue
		}
		described[name] = true
		version, ok := known[study.ServerVersionKey(name)].(string)
		switch {
		case name == study.ServerOwn:
			version = "Wiretime's own, the same for every protocol."
		case !ok:
			version = "Version unknown: a command from the study file, or a program that is not installed."
		}
		facts = append(facts, Fact{name, version})
	}
	return facts, nil
}
