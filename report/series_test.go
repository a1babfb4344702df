package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// pageOver returns a result of a page's cell on a path with that rate in kbit/s, RTT and loss.
func pageOver(protocol string, rate network.BitRate, rtt time.Duration, loss float64, more map[study.Axis]string) store.Result {
	l := network.Link{Rate: rate * 1000, Delay: rtt / 2, Loss: network.Loss{Rate: loss}, Queue: network.DefaultQueue(rate * 1000)}
	path := network.Path{Name: fmt.Sprintf("%d-%v-%v", rate, rtt, loss), Access: []network.Access{{Name: "access", Up: l, Down: l}}}
	values := map[study.Axis]string{study.AxisSite: "page", study.AxisProtocol: protocol, study.AxisNetwork: path.Name, study.AxisLoader: "builtin"}
	maps.Copy(values, more)
	return store.Result{Cell: study.NewCell(study.Pages(), values, path)}
}

// drawn writes each series as its axis, then each panel with its lines' values.
func drawn(all []Series) string {
	var words []string
	for _, s := range all {
		words = append(words, s.Axis+":")
		for _, p := range s.Panels {
			words = append(words, "["+p.Name+"]")
			for _, l := range p.Lines {
				words = append(words, fmt.Sprintf("%s %v", l.Label, valuesOf(l)))
			}
		}
	}
	return strings.Join(words, " ")
}

func valuesOf(l Line) (all []float64) {
	for _, p := range l.Points {
		all = append(all, p.At)
	}
	return all
}

func cellsOf(l Line) (all []int) {
	for _, p := range l.Points {
		all = append(all, p.Cell)
	}
	return all
}

// seriesOf draws results as a report does.
func seriesOf(results []store.Result, published ...store.Figure) []Series {
	pooled, at := Pooled(results)
	return collectSeries(pooled, results, at, published)
}

func TestSeriesOfPages(t *testing.T) {
	const ms = time.Millisecond
	var grid, lossy, windows, loads, pages []store.Result
	for _, protocol := range []string{"https/1.1", "h2"} {
		for _, rate := range []network.BitRate{1000, 250, 500} {
			for _, rtt := range []time.Duration{50 * ms, 200 * ms} {
				grid = append(grid, pageOver(protocol, rate, rtt, 0, nil))
			}
		}
		for _, loss := range []float64{0, 0.05, 0.1} {
			lossy = append(lossy, pageOver(protocol, 1000, 50*ms, loss, nil))
		}
		for _, window := range []string{"32", "4", "10"} {
			windows = append(windows, pageOver(protocol, 1000, 50*ms, 0, map[study.Axis]string{study.AxisInitCwnd: window}))
		}
		for _, n := range []string{"1", "10", "50"} {
			pages = append(pages, pageOver(protocol, 1000, 50*ms, 0, map[study.Axis]string{study.AxisSite: "search@" + n}),
				pageOver(protocol, 1000, 50*ms, 0, map[study.Axis]string{study.AxisSite: "search-full@" + n}))
		}
	}
	loads = append(loads, pageOver("h2", 1000, 50*ms, 0, nil), pageOver("h2", 250, 50*ms, 0, nil))
	bus, err := network.Profile("wibro-bus-out")
	if err != nil {
		t.Fatal(err)
	}
	riding := slices.Clone(grid[:6])
	riding[0].Cell.Network = bus
	var session []store.Result
	for _, protocol := range []string{"https/1.1", "h2"} {
		for _, load := range []string{"1", "2", "3"} {
			session = append(session, pageOver(protocol, 1000, 50*ms, 0, map[study.Axis]string{study.AxisVisit: study.VisitConnected, study.AxisLoad: load}))
		}
	}
	for _, test := range []struct {
		name    string
		results []store.Result
		want    string
	}{
		{"by the loads of sessions", session, "load: [] https/1.1 [1 2 3] h2 [1 2 3]"},
		{"by rate, a panel for each RTT", grid, "rate: [RTT 50 ms] https/1.1 [0.25 0.5 1] h2 [0.25 0.5 1] [RTT 200 ms] https/1.1 [0.25 0.5 1] h2 [0.25 0.5 1]"},
		{"by loss", lossy, "loss: [] https/1.1 [0 5 10] h2 [0 5 10]"},
		{"by the value of an axis", windows, "initcwnd: [] https/1.1 [4 10 32] h2 [4 10 32]"},
		{"by the number in a site's name", pages, "pages: [search] https/1.1 [1 10 50] h2 [1 10 50] [search-full] https/1.1 [1 10 50] h2 [1 10 50]"},
		{"two values are no line of a page", loads, ""},
		{"a path that moves has no rate", riding, "rate: [RTT 200 ms] https/1.1 [0.25 0.5 1]"},
	} {
		if got := drawn(seriesOf(test.results)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestSeriesOfOtherWorkloads: a series always has metrics, without which the report cannot draw it.
func TestSeriesOfOtherWorkloads(t *testing.T) {
	var uploads, crowds []store.Result
	for _, window := range []string{"64KiB", "1MiB", "4MiB"} {
		uploads = append(uploads, store.Result{Cell: study.NewCell(study.Uploads(), map[study.Axis]string{study.AxisUpload: "1MB", study.AxisProtocol: "h2", study.AxisTCPWindow: window}, network.Path{})})
	}
	for _, n := range []string{"4", "10", "32"} {
		crowds = append(crowds, store.Result{Cell: study.NewCell(study.Crowds(), map[study.Axis]string{study.AxisClients: "10", study.AxisProtocol: "h2", study.AxisInitCwnd: n}, network.Path{})})
	}
	if got := seriesOf(uploads); drawn(got) != "tcp_window: [] h2 [65536 1.048576e+06 4.194304e+06]" || len(got[0].Metrics) == 0 {
		t.Errorf("series of uploads: %s, %+v", drawn(got), got)
	}
	if got := seriesOf(crowds); len(got) > 0 {
		t.Errorf("series of crowds without metrics: %s", drawn(got))
	}
}

func TestSeriesSayHowTheirAxisIsWritten(t *testing.T) {
	results := []store.Result{pageOver("h2", 256, 0, 0, nil), pageOver("h2", 10240, 0, 0, nil), pageOver("h2", 512, 0, 0, nil)}
	s := seriesOf(results)[0]
	want := []Tick{{0.256, "0.256"}, {0.512, "0.512"}, {10.24, "10.24"}}
	if s.Name != "rate" || s.Label != "Rate down (Mbit/s)" || !slices.Equal(s.Ticks, want) || !slices.Equal(cellsOf(s.Panels[0].Lines[0]), []int{0, 2, 1}) {
		t.Errorf("the series is %+v", s)
	}
}

func TestAPanelOfTooManyLinesIsNotDrawn(t *testing.T) {
	var results []store.Result
	for cc := range mostLines + 1 {
		for _, window := range []string{"4", "10", "32"} {
			results = append(results, pageOver("h2", 1000, 0, 0, map[study.Axis]string{study.AxisInitCwnd: window, study.AxisCongestion: fmt.Sprintf("cc%c", 'a'+cc)}))
		}
	}
	if s := seriesOf(results); len(s) != 0 {
		t.Errorf("drawn: %s", drawn(s))
	}
	if s := seriesOf(results[:3*mostLines]); len(s) != 1 {
		t.Errorf("%d lines are drawn as %s", mostLines, drawn(s))
	}
}

func TestSeriesHavePublishedFigures(t *testing.T) {
	results := []store.Result{pageOver("h2", 256, 0, 0, nil), pageOver("h2", 1024, 0, 0, nil), pageOver("h2", 512, 0, 0, nil)}
	figure := func(of int, statistic string, value float64) store.Figure {
		return store.Figure{Cell: results[of].Cell.Key(), Metric: "plt", Statistic: statistic, Value: value}
	}
	line := seriesOf(results, figure(1, study.Mean, 30), figure(2, study.Median, 20), figure(0, "max", 10))[0].Panels[0].Lines[0]
	var got []float64
	for _, p := range line.Points {
		got = append(got, p.Printed["plt"])
	}
	if !slices.Equal(got, []float64{0, 20, 30}) {
		t.Errorf("the published figures are %v", got)
	}
}
