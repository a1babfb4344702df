package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// gridRun is a run over two rates and three RTTs in which h2 takes twice the RTT and h3 as long as the RTT, give or take 1 ms.
func gridRun() []store.Result {
	var results []store.Result
	for _, protocol := range []string{"h2", "h3"} {
		for _, rate := range []network.BitRate{1000, 250} {
			for _, rtt := range []int{100, 50, 200} {
				r := pageOver(protocol, rate, time.Duration(rtt)*time.Millisecond, 0, nil)
				onload := float64(rtt) * map[string]float64{"h2": 2, "h3": 1}[protocol]
				r.Values = map[string][]float64{"onload": {onload - 1, onload - 0.5, onload, onload, onload + 0.5, onload + 7}}
				results = append(results, r)
			}
		}
	}
	return results
}

var onLoad = []study.Metric{{Name: "onload", Title: "onLoad", Unit: "ms"}, {Name: "bytes", Title: "Octets", Unit: "B"}}

// shown writes a figure as its axes, then each panel's points.
func shown(f Figure) string {
	words := []string{f.Title, f.Unit, f.Along.Name}
	if f.Against != nil {
		words = append(words, f.Against.Name)
	}
	for _, p := range f.Panels {
		words = append(words, "["+p.Name+"]")
		for _, s := range p.Points {
			word := fmt.Sprintf("%s %v:%.4g", f.Lines[s.Line], s.At, s.Value)
			if f.Against != nil {
				word = fmt.Sprintf("%s %v,%v:%.4g", f.Lines[s.Line], s.At, s.Against, s.Value)
			}
			if s.Printed != nil {
				word += fmt.Sprintf("(%.4g)", *s.Printed)
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func TestFigures(t *testing.T) {
	results := gridRun()
	published := []store.Figure{
		{Cell: results[0].Cell.Key(), Metric: "onload", Statistic: "mean", Value: 150},
		{Cell: results[6].Cell.Key(), Metric: "onload", Statistic: "mean", Value: 50},
	}
	h2, h3 := Choice{"protocol": {"h2"}}, Choice{"protocol": {"h3"}}
	for _, test := range []struct {
		name string
		spec FigureSpec
		want string
	}{
		{"a line for each protocol along the RTT at one rate", FigureSpec{Along: "rtt", Metric: "onload", For: Choice{"rate": {"0.25"}}},
			"onLoad ms RTT [] h2 50:100 h2 100:200 h2 200:400 h3 50:50 h3 100:100 h3 200:200"},
		{"chosen lines in seconds, a panel for each rate", FigureSpec{Along: "rtt", Metric: "onload", Unit: "s", Panels: "rate", Lines: []FigureLine{{Title: "HTTP/2", Of: h2}}},
			"onLoad s RTT [rate 0.25 Mbit/s] HTTP/2 50:0.1 HTTP/2 100:0.2 HTTP/2 200:0.4 [rate 1 Mbit/s] HTTP/2 50:0.1 HTTP/2 100:0.2 HTTP/2 200:0.4"},
		{"means, with those that a paper printed", FigureSpec{Along: "rtt", Metric: "onload", Statistic: "mean", For: Choice{"rate": {"1"}, "protocol": {"h2"}}},
			"onLoad, mean ms RTT [] h2 50:101 h2 100:201(150) h2 200:401"},
		{"the ratio of two protocols, with that of two printed figures", FigureSpec{Along: "rtt", Metric: "onload", Statistic: "mean", For: Choice{"rate": {"1"}}, Lines: []FigureLine{{Title: "to h2", Ratio: []Choice{h2, h3}}}},
			"Ratio of onLoad, mean  RTT [] to h2 50:0.505 to h2 100:0.5025(0.3333) to h2 200:0.5012"},
		{"bars for each protocol", FigureSpec{Along: "protocol", Metric: "onload", For: Choice{"rate": {"1"}, "rtt": {"100"}}, Lines: []FigureLine{{Title: "onLoad"}}},
			"onLoad ms protocol [] onLoad 0:200 onLoad 1:100"},
		{"a heat map", FigureSpec{Along: "rate", Against: "rtt", Metric: "onload", Lines: []FigureLine{{Title: "to h2", Ratio: []Choice{h2, h3}}}},
			"Ratio of onLoad  rate RTT [] to h2 0.25,50:0.5 to h2 0.25,100:0.5 to h2 0.25,200:0.5 to h2 1,50:0.5 to h2 1,100:0.5 to h2 1,200:0.5"},
	} {
		f, err := Draw(results, onLoad, published, 1, test.spec)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := shown(f); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestFigureIntervals: the point of a statistic has the statistic's own interval.
func TestFigureIntervals(t *testing.T) {
	results := gridRun()[:1]
	for statistic, want := range map[string]string{"median": "200 199..207 true 6", "mean": "201 199.5..203.5 true 6", "max": "207 199..207 false 6"} {
		f, err := Draw(results, onLoad, nil, 1, FigureSpec{Along: "rtt", Metric: "onload", Statistic: statistic})
		if err != nil {
			t.Fatal(err)
		}
		p := f.Panels[0].Points[0]
		if got := fmt.Sprintf("%.4g %.4g..%.4g %v %d", p.Value, p.Low, p.High, p.Interval, p.N); got != want {
			t.Errorf("%s: got %s, want %s", statistic, got, want)
		}
	}
}

// TestFigurePanelsOfNames: an axis whose values are words has a panel for each of them.
func TestFigurePanelsOfNames(t *testing.T) {
	var results []store.Result
	for i, visit := range []string{study.VisitCold, study.VisitResumed} {
		r := pageOver("h2", 1000, 100*time.Millisecond, 0, map[study.Axis]string{study.AxisVisit: visit})
		r.Values = map[string][]float64{"onload": {float64(300 - 100*i)}}
		results = append(results, r)
	}
	f, err := Draw(results, onLoad, nil, 1, FigureSpec{Along: "rtt", Metric: "onload", Panels: "visit"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown(f), "onLoad ms RTT [cold visit] h2 100:300 [resumed visit] h2 100:200"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestFiguresThatAreRefused(t *testing.T) {
	h2 := Choice{"protocol": {"h2"}}
	for want, spec := range map[string]FigureSpec{
		`unknown number "speed" for along: the study has rate, rtt, loss, pages`: {Along: "speed", Metric: "onload"},
		`unknown axis or number "sites"`:                                         {Along: "rtt", Metric: "onload", For: Choice{"sites": {"page"}}},
		`unknown metric "plt"`:                                                   {Along: "rtt", Metric: "plt"},
		`unknown statistic "average"`:                                            {Along: "rtt", Metric: "onload", Statistic: "average"},
		`unknown unit "min" for figures in ms`:                                   {Along: "rtt", Metric: "onload", Unit: "min"},
		`has several cells at RTT 100, which differ in network: choose one`:      {Along: "rtt", Metric: "onload"},
		`line "x" shows no cell that has onload`:                                 {Along: "rtt", Metric: "onload", Lines: []FigureLine{{Title: "x", Of: Choice{"rate": {"3"}}}}},
		`a heat map shows ratios`:                                                {Along: "rate", Against: "rtt", Metric: "onload", Lines: []FigureLine{{Of: h2}}},
		`some lines are ratios and some are not`:                                 {Along: "rtt", Metric: "onload", Lines: []FigureLine{{Of: h2}, {Ratio: []Choice{h2, h2}}}},
		`a heat map needs numbers on both axes`:                                  {Along: "protocol", Against: "rtt", Metric: "onload", Lines: []FigureLine{{Ratio: []Choice{h2, h2}}}},
		`the lines have the units ms and B`:                                      {Along: "rtt", Lines: []FigureLine{{Metric: "onload"}, {Metric: "bytes"}}},
	} {
		if _, err := Draw(gridRun(), onLoad, nil, 1, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
