package main

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wiretime/report"
)

const onePage = `# Title

<!-- measured table
study: small
metric: onload
unit: s
rows: [{axis: network, label: '^(\d+)k', title: rate}]
columns:
  - {title: h2, of: {protocol: h2}, form: paper}
  - {title: h3, of: {protocol: h3}, form: interval}
  - {title: h3 to h2, ratio: [{protocol: h2}, {protocol: h3}]}
  - {title: requests, metric: requests, digits: 0, of: {protocol: h2}}
-->
what was there
<!-- end -->

Text.
`

// small is a run of two networks, six loads in each cell but for h3 on the faster network, which has one.
func small() *measuredRun {
	m := &measuredRun{name: "small", results: "1. It is faster.\n   ratio of onLoad below 1 (here 0.5): held in all 2 networks.\n"}
	m.Run.StudyText = "name: small\nmatrix:\n  networks: [1000k, 90k]\n"
	m.units = map[string]string{"onload": "ms", "requests": "requests"}
	m.Run.Version = "0123456789ab "
	m.Run.Environment = map[string]any{"virtual_kernel": "7.3.4", "browser": "Chromium 1"}
	day := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	m.Run.Finished = &day
	add := func(network, protocol string, values ...float64) {
		for _, v := range values {
			m.loads = append(m.loads, load{axes: map[string]string{"network": network, "protocol": protocol, "clock": "virtual"}, values: map[string]float64{"onload": v, "requests": 40}})
		}
	}
	add("1000k", "h2", 2000, 2001, 2002, 2003, 2004, 2005)
	add("1000k", "h3", 1000)
	add("90k", "h2", 20000, 20010, 20020, 20030, 20040, 20050)
	add("90k", "h3", 10000, 10010, 10020, 10030, 10040, 10050)
	m.Published = append(m.Published, published{Metric: "onload", Cell: "network=90k protocol=h2", Statistic: "median", Printed: "19.50"})
	return m
}

func TestPageComesBackAsItWas(t *testing.T) {
	p, err := parsePage("page.md", []byte(onePage))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.text()); got != onePage {
		t.Errorf("the page came back as\n%s", got)
	}
	if len(p.blocks) != 1 || p.blocks[0].line != 3 || p.blocks[0].body != "what was there\n" {
		t.Errorf("blocks: %+v", p.blocks)
	}
}

func TestBlocksThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"no end":           {"<!-- end -->", "", "page.md:3: the block has no end"},
		"comment not shut": {"\n-->\n", "\n", "page.md:3: the block has no end"},
		"unknown kind":     {"measured table", "measured chart", `unknown kind of block "chart"`},
		"unknown key":      {"metric: onload", "metrik: onload", "metrik"},
		"no study":         {"study: small\n", "", "names no study"},
		"broken label":     {`(\d+)k`, `(\d+k`, "parse the label of network"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePage("page.md", []byte(strings.Replace(onePage, c.old, c.now, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	p, err := parsePage("page.md", []byte(onePage))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.blocks[0].make(t.Context(), []*measuredRun{small()}, ".")
	if err != nil {
		t.Fatal(err)
	}
	const want = `
| rate | h2 | h3 | h3 to h2 | requests |
| --- | --- | --- | --- | --- |
| 90 | 20.0 (19.50) | 10.0 (10.0 to 10.1) | 0.50 | 40 |
| 1000 | 2.00 | 1.00 (n = 1) | 0.50 | 40 |

<sub>Made by ` + "`make studies STUDY=small`" + `: Wiretime 0123456789ab, Linux 7.3.4 on the virtual clock, Chromium 1, 2026-11-22.</sub>

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableAcross(t *testing.T) {
	p, err := parsePage("page.md", []byte(`
<!-- measured table
study: small
metric: onload
digits: 0
rows: [{axis: protocol}]
across: {axis: network, titles: {1000k: fast}}
columns: [{}, {ratio: [{protocol: h2}, {protocol: h2}]}]
-->
<!-- end -->`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.blocks[0].table([]*measuredRun{small()})
	const want = `| protocol | 90k | fast |
| --- | --- | --- |
| h2 | 20025 / 1 | 2002 / 1 |
| h3 | 10025 / - | 1000 / - |
`
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

func TestTablesOfWhatAStudyDoesNotHave(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"axis of rows":        {"axis: network", "axis: site", `small has no axis "site": it has [clock network protocol]`},
		"axis of a selection": {"{protocol: h3}", "{transport: h3}", `small has no axis "transport"`},
		"metric":              {"metric: onload", "metric: plt", `small has no metric "plt": it has [onload requests]`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := parsePage("page.md", []byte(strings.Replace(onePage, c.old, c.now, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.blocks[0].table([]*measuredRun{small()}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestScript(t *testing.T) {
	t.Chdir("../..")
	if isScript("first-look") || !isScript("bench-lab") {
		t.Error("first-look is a study, although a script has its name, and bench-lab is a script")
	}
	r := newRuns(t.TempDir())
	if got, err := r.loadScript("bench-lab"); got != nil || err != nil {
		t.Fatalf("before it has run: got %v, %v", got, err)
	}
	if err := os.WriteFile(r.scriptFile("bench-lab"), []byte(`{"Tables":"| rate |\n","With":"Wiretime 1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	run, err := r.loadScript("bench-lab")
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseBlock("script\nstudy: bench-lab\n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "\n| rate |\n\n<sub>Made by `make studies STUDY=bench-lab`: Wiretime 1.</sub>\n\n"
	if got, err := b.make(t.Context(), []*measuredRun{run}, "."); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestMissingTables checks that a study whose trace or ride is not there says which.
func TestMissingTables(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("docs/studies", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"docs/studies/moving.yaml": "networks:\n  - {name: a, down: {trace: there.down}, up: {trace: traces/gone.up}}\n  - {name: b, ride: gone.csv}\n",
		"docs/studies/still.yaml":  "networks: [cable]\n",
		"docs/studies/there.down":  "1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{"moving": {"docs/studies/traces/gone.up", "docs/studies/gone.csv"}, "still": nil} {
		if got, err := missingTables(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestClaims(t *testing.T) {
	got, err := claimsTable([]*measuredRun{small()})
	const want = "| claim | tested as | here |\n| --- | --- | --- |\n| It is faster | ratio of onLoad below 1 (here 0.5) | held in all 2 networks |\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestPagesOfTheRepository: what make studies would write has to be in place.
func TestPagesOfTheRepository(t *testing.T) {
	t.Chdir("../..")
	pages, err := readPages(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range studiesOf(pages) {
		if _, err := studyFile(name); err != nil && !isScript(name) {
			t.Error(err)
		}
	}
	if len(studiesOf(pages)) == 0 {
		t.Error("no page shows a study")
	}
}

// TestStatistics makes a table of two cells with two sessions of three loads each. It shows the median of the four
// sessions' statistic, and in parentheses the figure that the paper printed for that statistic.
func TestStatistics(t *testing.T) {
	m := small()
	m.loads = nil
	for network, sessions := range map[string][][]float64{"1000k": {{9000, 1000, 2000}, {7000, 3000, 5000}}, "90k": {{3000, 3000, 3000}, {4000, 4000, 4000}}} {
		for repeat, times := range sessions {
			for i, v := range times {
				axes := map[string]string{"protocol": "h2", "network": network, "session_load": strconv.Itoa(i + 1)}
				m.loads = append(m.loads, load{repeat: strconv.Itoa(repeat), axes: axes, values: map[string]float64{"onload": v}})
			}
		}
	}
	m.Published = []published{
		{Metric: "onload", Cell: "protocol=h2", Statistic: "max", Printed: "8.5"},
		{Metric: "onload", Cell: "protocol=h2", Statistic: "mean", Printed: "4.2"},
	}
	for statistic, want := range map[string]string{"min": "3.00", "max": "5.50 (8.5)", "mean": "4.00 (4.2)", "median": "3.50"} {
		b, err := parseBlock("table\nstudy: small\nmetric: onload\nunit: s\nform: paper\nstatistic: " + statistic +
			"\nrows: [{axis: protocol}]\ncolumns: [{title: onLoad, of: {protocol: h2}}]\n")
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.table([]*measuredRun{m})
		if err != nil || !strings.Contains(got, "| h2 | "+want+" |") {
			t.Errorf("%s: error %v, table\n%s\nwant %s", statistic, err, got, want)
		}
	}
	b, err := parseBlock("table\nstudy: small\nmetric: onload\nstatistic: average\nrows: [{axis: protocol}]\ncolumns: [{title: onLoad, of: {protocol: h2}}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.table([]*measuredRun{m}); err == nil {
		t.Error("the unknown statistic is not refused")
	}
}

// TestFigureBlock: a figure's block reads as the specification that package report takes.
func TestFigureBlock(t *testing.T) {
	p, err := parsePage("page.md", []byte(`
<!-- measured figure
study: small
file: small.png
alt: onLoad by rate
along: rate
against: rtt
panels: site
for: {rtt: [50, 500], loss: 0.5}
metric: onload
unit: s
statistic: mean
x: {from: 0, to: 10}
y: {log: true}
lines:
  - {title: SPDY, metric: plt, of: {protocol: spdy/3.1}}
  - {title: to HTTP, ratio: [{protocol: http/1.1}, {protocol: spdy/3.1}]}
-->
<!-- end -->`))
	if err != nil {
		t.Fatal(err)
	}
	http, spdy := report.Choice{"protocol": {"http/1.1"}}, report.Choice{"protocol": {"spdy/3.1"}}
	want := report.FigureSpec{Along: "rate", Against: "rtt", Panels: "site", For: report.Choice{"rtt": {"50", "500"}, "loss": {"0.5"}},
		Metric: "onload", Unit: "s", Statistic: "mean", X: report.Cut{From: new(0.0), To: new(10.0)}, Y: report.Cut{Log: new(true)},
		Lines: []report.FigureLine{
			{Title: "SPDY", Metric: "plt", Of: spdy},
			{Title: "to HTTP", Of: report.Choice{}, Ratio: []report.Choice{http, spdy}},
		}}
	if got := p.blocks[0].specification(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := p.blocks[0].metrics(); !slices.Equal(got, []string{"onload", "plt", "onload"}) {
		t.Errorf("the figure needs the metrics %v", got)
	}
}
