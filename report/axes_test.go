package report

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/store"
	"wiretime/study"
)

// collected is the report of a synthetic study; with -keep it is left for a look
// at it.
func collected(t *testing.T, s synthetic) Data {
	t.Helper()
	st, run := s.keep(t)
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	if *keepReport != "" {
		if err := Write(strings.TrimSuffix(*keepReport, ".html")+"-"+s.study+".html", d); err != nil && !errors.Is(err, ErrNotBuilt) {
			t.Error(err)
		}
	}
	return d
}

func TestVisitsAreSectionsOfTheirOwn(t *testing.T) {
	d := collected(t, visitStudy)
	if len(d.Sections) != 10 || d.Compared != "protocol" || d.Strategies != nil {
		t.Fatalf("%d sections, compared by %s, strategies %v; want one for each of 5 visits on 2 networks, by protocol, none", len(d.Sections), d.Compared, d.Strategies)
	}
	var names []string
	for _, f := range d.Visits {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, visitStudy.visits) {
		t.Errorf("the visits %v are explained", names)
	}
	for i, s := range d.Sections {
		visit := visitStudy.visits[i%5]
		if s.Shared != visit+" visit" || len(s.Cells) != 3 {
			t.Errorf("section %d is %q with %d cells", i, s.Shared, len(s.Cells))
		}
		for _, c := range s.Cells {
			if cell := d.Cells[c]; cell.Visit != visit || cell.Label != cell.Protocol || cell.Shared != s.Shared {
				t.Errorf("%q holds %+v", s.Shared, cell)
			}
		}
		if plt := answerOf(t, s, "plt"); visit == "0rtt" && (d.Cells[plt.Fastest].Protocol != "h3" || len(plt.Behind) != 0) {
			t.Errorf("0-RTT is compared with what is unsupported: %+v", plt)
		}
	}
	if cold := d.Checks[1]; cold.Rule != 2 || !strings.Contains(cold.Title, "visit says") {
		t.Errorf("rule 2 reads %q", cold.Title)
	}
}

func answerOf(t *testing.T, s Section, metric string) Answer {
	t.Helper()
	i := slices.IndexFunc(s.Answers, func(a Answer) bool { return a.Metric == metric })
	if i < 0 {
		t.Fatalf("section %s, %s has no answer by %s", s.Network, s.Shared, metric)
	}
	return s.Answers[i]
}

func TestStrategiesOfOneProtocolAreCompared(t *testing.T) {
	d := collected(t, strategyStudy)
	if len(d.Sections) != 3 || d.Compared != "strategy" || d.Visits != nil || len(d.Strategies) != 5 {
		t.Fatalf("%d sections, compared by %s, visits %v, strategies %v", len(d.Sections), d.Compared, d.Visits, d.Strategies)
	}
	for _, s := range d.Sections {
		var labels []string
		for _, c := range s.Cells {
			labels = append(labels, d.Cells[c].Label)
		}
		if !slices.Equal(labels, strategyStudy.strategies) || s.Shared != "" || len(answerOf(t, s, "plt").Behind) != 4 {
			t.Errorf("%s, %q compares %v", s.Network, s.Shared, labels)
		}
	}
}

func TestStrategiesOfSeveralProtocolsAreSections(t *testing.T) {
	few := strategyStudy
	few.study, few.protocols, few.networks, few.strategies, few.repeats = "strategies-protocols", []string{"https/1.1", "h2"}, few.networks[:2], []string{"browser", "sequential"}, 2
	few.visits = []string{"connected"}
	d := collected(t, few)
	var names []string
	for _, s := range d.Sections {
		names = append(names, s.Network+": "+s.Shared)
	}
	want := []string{
		"3g-weak: connected visit, strategy browser", "3g-weak: connected visit, strategy sequential",
		"lte: connected visit, strategy browser", "lte: connected visit, strategy sequential",
	}
	if !slices.Equal(names, want) || d.Compared != "protocol" {
		t.Errorf("sections are %v, compared by %s", names, d.Compared)
	}
}

func TestServersOfOneProtocolAreCompared(t *testing.T) {
	d := collected(t, serverStudy)
	if len(d.Sections) != 2 || d.Compared != "server" || d.Strategies != nil {
		t.Fatalf("%d sections, compared by %s, strategies %v", len(d.Sections), d.Compared, d.Strategies)
	}
	for _, s := range d.Sections {
		var labels []string
		for _, c := range s.Cells {
			labels = append(labels, d.Cells[c].Label)
		}
		if !slices.Equal(labels, serverStudy.servers) || s.Shared != "" || len(answerOf(t, s, "plt").Behind) != 2 {
			t.Errorf("%s, %q compares %v", s.Network, s.Shared, labels)
		}
	}
	want := []Fact{
		{"wiretime", "Wiretime's own, the same for every protocol."},
		{"nginx", "nginx version: nginx/1.22.1"},
		{"mine", "Version unknown: a command from the study file, or a program that is not installed."},
	}
	if !slices.Equal(d.Servers, want) {
		t.Errorf("the servers are explained as %v", d.Servers)
	}
}

func TestServersOfSeveralProtocolsAreSections(t *testing.T) {
	few := serverStudy
	few.study, few.protocols, few.networks, few.strategies, few.repeats = "servers-protocols", []string{"https/1.1", "h2"}, few.networks[:1], []string{"browser", "sequential"}, 2
	few.servers = few.servers[:2]
	d := collected(t, few)
	var names []string
	for _, s := range d.Sections {
		names = append(names, s.Shared)
	}
	want := []string{
		"strategy browser, server wiretime", "strategy sequential, server wiretime", "strategy browser, server nginx", "strategy sequential, server nginx",
	}
	if !slices.Equal(names, want) || d.Compared != "protocol" {
		t.Errorf("sections are %q, compared by %s", names, d.Compared)
	}
}

// Reports of runs that leave visits, strategies and servers alone do not speak of them.
func TestTheUsualVisitAndStrategyAreNotMentioned(t *testing.T) {
	one := clockStudy
	one.networks, one.repeats = one.networks[:1], 1
	d := collected(t, one)
	if d.Visits != nil || d.Strategies != nil || d.Servers != nil || d.Compared != "protocol" || !slices.Equal(d.Checks, pageChecks) || d.Sections[0].Shared != "" || d.Cells[0].Shared != "" {
		t.Errorf("visits %v, strategies %v, checks %v, section %q", d.Visits, d.Strategies, d.Checks, d.Sections[0].Shared)
	}
}

func TestClocksAreComparedWithinAVisitAndAStrategy(t *testing.T) {
	var results []store.Result
	for _, visit := range []string{"cold", "cached"} {
		for _, strategy := range []string{"browser", "unlimited"} {
			for _, clock := range []string{"real", "virtual"} {
				results = append(results, store.Result{Values: map[string][]float64{"plt": {1}}, Cell: page("n", map[study.Axis]string{
					study.AxisProtocol: "h2", study.AxisClock: clock, study.AxisVisit: visit, study.AxisStrategy: strategy})})
			}
		}
	}
	clocks, err := CompareClocks(results, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(clocks.Pairs) != 4 {
		t.Fatalf("%d pairs, want 4", len(clocks.Pairs))
	}
	for i, p := range clocks.Pairs {
		if p.Real != 2*i || p.Virtual != 2*i+1 {
			t.Errorf("pair %d is of cells %d and %d", i, p.Real, p.Virtual)
		}
	}
}

func TestStrategiesAreExplained(t *testing.T) {
	for name, want := range map[string]string{
		"browser": "As browsers do", "sequential": "a connection of its own", "keep-alive": "one connection per origin",
		"parallel": "Up to 6 connections per host", "parallel-2": "Up to 2 connections per host", "parallel-1": "Up to 1 connection per host",
		"unlimited": "none idle", "pipelined": "up to 1 connection per host", "pipelined-4": "up to 4 connections per host",
		"multiplexed": "all requests at once", "threads": "Up to 6 connections in all", "threads-1": "Up to 1 connection in all",
	} {
		if got := describeStrategy(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not say %q", name, got, want)
		}
	}
}

func TestWaterfallHoldsAllPagesOfAJourney(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	h := &capture.HAR{Log: capture.Log{
		Pages: []capture.Page{
			{ID: "page_1", Started: start, Timings: capture.PageTimings{OnContentLoad: 30, OnLoad: 50}},
			{ID: "page_2", Started: at(1000), Timings: capture.PageTimings{OnContentLoad: 20, OnLoad: -1}},
		},
		Entries: []capture.Entry{
			{Page: "page_1", Started: at(1), Request: capture.Request{URL: "https://a.test/"}},
			{Page: "page_2", Started: at(1002), Request: capture.Request{URL: "https://a.test/next"}},
			{Page: "page_3", Started: at(2000), Request: capture.Request{URL: "https://a.test/of-no-page"}},
		},
	}}
	w := newVocabulary().waterfall(h)
	if len(w.Requests) != 2 || w.Requests[1].start != 1002 || w.DCL != 1020 || w.OnLoad != 50 {
		t.Errorf("the waterfall is %+v", w)
	}
}
