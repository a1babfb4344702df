package report

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/media/record"
	"wiretime/store"
	"wiretime/study"
)

// watched is the report of a synthetic study of streams; with -keep it is left for a
// look at it.
func watched(t *testing.T, s syntheticStreams) Data {
	t.Helper()
	st, run := s.keep(t)
	d, err := Collect(st, run, Files{Stream: readStream})
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

func TestAFileByTheLinksDelay(t *testing.T) {
	d := watched(t, fileStudy)
	if d.Compared != "transport" || d.Strategies != nil || len(d.Sections) != 8 || d.Sections[0].Shared != "" {
		t.Errorf("compared by %s, strategies %v, %d sections, the first %q", d.Compared, d.Strategies, len(d.Sections), d.Sections[0].Shared)
	}
	if got := d.Series; len(got) != 2 || got[0].Axis != "link_delay" || len(got[0].Panels) != 2 || got[1].Axis != "loss" || len(got[1].Panels) != 4 {
		t.Fatalf("the series are %+v", got)
	}
	p := d.Series[0].Panels[1]
	if p.Name != "loss 0.1 %" || len(p.Lines) != 3 || p.Lines[2].Label != "quic" {
		t.Fatalf("the panel is %+v", p)
	}
	for i, c := range cellsOf(p.Lines[2]) {
		if cell := d.Cells[c]; cell.Protocol != "quic" || cell.Link.Loss != 0.001 || cell.Link.Delay != float64(fileStudy.delays[i])/1e6 {
			t.Errorf("value %d is of %+v", i, cell)
		}
	}
	if n := d.Networks[1]; n.Title != "link delay 20 ms, loss 0.1 %" || n.Facts[0] != (Fact{"link delay", "20 ms one-way on average, in each direction"}) {
		t.Errorf("the network reads %+v", n)
	}
	if n := d.Networks[0]; n.Facts[2].Value != "none: the client stays with its access link" || n.Facts[3] != (Fact{"rate", "100 Mbit/s of each access link, in each direction"}) {
		t.Errorf("the network reads %+v", n)
	}
	if !slices.Equal(d.Checks, zeroed(d.Checks, streamChecks)) {
		t.Errorf("checks are %+v", d.Checks)
	}
	if d.Claims[0].Pairs[1].Name != "20 ms loss 0.1 %" || d.Claims[0].Test != "ratio of TTD below 1" {
		t.Errorf("the claim reads %+v", d.Claims[0])
	}
	for _, c := range d.Cells {
		l := d.Loads[c.MedianLoad].Timeline
		if l == nil || l.Buffer != nil || l.Spans != nil || l.Seeks != nil || len(l.Delay) == 0 {
			t.Fatalf("the file's timeline is %+v", l)
		}
	}
}

// zeroed are the checks with the counts that others have.
func zeroed(counts, checks []Check) []Check {
	all := slices.Clone(checks)
	for i := range all {
		all[i].Broken = counts[i].Broken
	}
	return all
}

func TestViewingsByTheNumberOfReconnections(t *testing.T) {
	d := watched(t, viewStudy)
	if d.Compared != "transport and strategy" || len(d.Strategies) != 4 || len(d.Sections) != 3 || len(d.Sections[0].Cells) != 7 {
		t.Errorf("compared by %s, strategies %v, %d sections", d.Compared, d.Strategies, len(d.Sections))
	}
	if got := d.Series; len(got) != 1 || got[0].Axis != "reconnections" || len(got[0].Panels) != 1 || got[0].Panels[0].Name != "" {
		t.Fatalf("the series are %+v", got)
	}
	var labels []string
	for _, l := range d.Series[0].Panels[0].Lines {
		labels = append(labels, l.Label)
	}
	if want := []string{"tcp · reconnect", "sctp · reconnect", "sctp · multihome", "quic · reconnect", "quic · 0-rtt", "quic · migrate", "tcp · migrate"}; !slices.Equal(labels, want) {
		t.Errorf("the lines are %q, want %q", labels, want)
	}
	if n := d.Networks[2]; n.Name != "80ms-8x" || n.Title != "8 reconnections" {
		t.Errorf("the network is called %q, %q", n.Name, n.Title)
	}
	for _, facts := range [][]Fact{d.Streams.Media, d.Streams.Transports, d.Streams.Players, d.Strategies} {
		for _, f := range facts {
			if f.Value == "" {
				t.Errorf("%s is not explained", f.Name)
			}
		}
	}
	for _, c := range d.Cells {
		if c.Unsupported > 0 {
			continue
		}
		if l := d.Loads[c.MedianLoad].Timeline; len(l.Handovers) != c.Link.Reconnections || len(l.Spans) == 0 || l.Duration != 40_000 {
			t.Errorf("%s with %d reconnections: %d are shown", c.Label, c.Link.Reconnections, len(l.Handovers))
		}
	}
}

func TestSectionsOfOneTransportCompareStrategies(t *testing.T) {
	s := viewStudy
	s.study = "streams-strategies"
	s.contenders, s.moves, s.repeats = []contender{{"quic", "reconnect"}, {"quic", "migrate"}}, []int{3}, 1
	d := watched(t, s)
	if d.Compared != "strategy" || d.Cells[1].Label != "migrate" || d.Series != nil || d.Networks[0].Title != "link delay 80 ms" {
		t.Errorf("compared by %s, labelled %s; series %v; network %s", d.Compared, d.Cells[1].Label, d.Series, d.Networks[0].Title)
	}
}

func TestClocksAreComparedByTheTimesOfStreams(t *testing.T) {
	s := fileStudy
	s.study = "streams-clocks"
	s.clocks, s.delays, s.losses, s.repeats, s.claims = []string{"real", virtual}, s.delays[:2], s.losses[:1], 2, nil
	d := watched(t, s)
	if d.Clocks == nil || d.Clocks.Metric != "ttd" || len(d.Clocks.Pairs) != 6 || d.Clocks.Pairs[0].Ratio != 1 {
		t.Errorf("the clocks are compared as %+v", d.Clocks)
	}
	if names := []string{d.Series[0].Panels[0].Name, d.Series[0].Panels[1].Name}; !slices.Equal(names, []string{"real clock", "virtual clock"}) {
		t.Errorf("the panels are %q", names)
	}
}

func TestWatchPassesOnWhyARecordCannotBeRead(t *testing.T) {
	s := viewStudy
	s.contenders, s.moves, s.repeats = s.contenders[:1], []int{0}, 1
	st, run := s.keep(t)
	gone := errors.New("the disk is gone")
	_, err := Collect(st, run, Files{Stream: func(store.Load) (*record.Stream, error) { return nil, gone }})
	if !errors.Is(err, gone) {
		t.Errorf("error is %v", err)
	}
}

func TestPagesHaveNothingOfStreams(t *testing.T) {
	few := serverStudy
	few.study, few.repeats = "servers-once", 1
	d := collected(t, few)
	if d.Streams != nil || d.Cells[0].Link != nil || d.Cells[0].Visit != study.VisitCold || d.Cells[0].Server != study.ServerOwn {
		t.Errorf("streams %+v, the first cell %+v", d.Streams, d.Cells[0])
	}
}

func TestStreamsHaveNothingOfPages(t *testing.T) {
	s := fileStudy
	s.study = "streams-once"
	s.delays, s.losses, s.repeats, s.claims = s.delays[:1], s.losses[:1], 1, nil
	for _, c := range watched(t, s).Cells {
		written, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(written), `"visit"`) || strings.Contains(string(written), `"server"`) || c.Link == nil {
			t.Errorf("the cell is written as %s", written)
		}
	}
}

func TestSeriesLeaveOutWhatDoesNotVary(t *testing.T) {
	cell := func(delay time.Duration, loss float64) store.Result {
		return store.Result{Cell: streamOver("tcp", study.Link{Delay: delay, Loss: loss})}
	}
	results := []store.Result{cell(3, 0), cell(1, 0), cell(2, 0), cell(1, 0.5)}
	series := seriesOf(results)
	if len(series) != 2 || len(series[0].Panels) != 1 || !slices.Equal(cellsOf(series[0].Panels[0].Lines[0]), []int{1, 2, 0}) {
		t.Errorf("by delay: %+v", series)
	}
	if s := series[1]; s.Axis != "loss" || len(s.Panels) != 1 || s.Panels[0].Name != "link delay 0.000001 ms" || !slices.Equal(cellsOf(s.Panels[0].Lines[0]), []int{1, 3}) {
		t.Errorf("by loss: %+v", s)
	}
}
