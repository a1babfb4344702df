package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/store"
	"wiretime/study"
)

func TestReportOfARunWithoutLoads(t *testing.T) {
	spec := store.RunSpec{StudyName: "empty", Metrics: syntheticMetrics, Environment: json.RawMessage("{}")}
	for _, protocol := range []string{"h2", "h3"} {
		c := page("n", map[study.Axis]string{study.AxisProtocol: protocol})
		spec.Cells, spec.Plan = append(spec.Cells, c), append(spec.Plan, study.PlannedLoad{Cell: c})
	}
	st, run := keep(t, spec, func(*store.Store, store.Planned) {})
	d, err := Collect(st, run, Files{HAR: readSynthetic})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"This run loaded s over h2 and h3 on n with chromium: 2 cells, once each, in seeded random order.",
		"No cell has a valid load yet, so there is nothing to compare.",
		"Of 2 planned loads, 0 have a valid attempt and 2 are still to be measured.",
	}
	if !slices.Equal(d.Summary, want) {
		t.Errorf("the summary is %q, want %q", d.Summary, want)
	}
	if len(d.Overview.Metrics) != 0 || len(d.Overview.Places) != 1 || len(d.Sections[0].Answers) != 0 {
		t.Errorf("the overview is %+v, with answers %v", d.Overview, d.Sections[0].Answers)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

// bigRun is a collector of made loads of many cells, each of which left a HAR with so many requests.
func bigRun(cells, repeats, requests int) *collector {
	random := rand.New(rand.NewPCG(1, 2))
	har := func(store.Load) (*capture.HAR, error) {
		at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
		h := &capture.HAR{Log: capture.Log{Pages: []capture.Page{{ID: "p", Started: at}}}}
		for i := range requests {
			h.Log.Entries = append(h.Log.Entries, capture.Entry{
				Page: "p", Started: at.Add(time.Duration(random.IntN(5e9))), Request: capture.Request{URL: fmt.Sprintf("https://www.test/pictures/of/flags/%d.png", i)},
				Response: capture.Response{Status: 200, TransferSize: random.Int64N(100_000)}, Connection: fmt.Sprint(random.IntN(6)), Priority: "Low", Protocol: "h2", ResourceType: "image",
				Timings: capture.Timings{Blocked: 2000 * random.Float64(), Send: random.Float64(), Wait: 500 * random.Float64(), Receive: 100 * random.Float64()},
			})
		}
		return h, nil
	}
	c := &collector{files: Files{HAR: har}}
	for i := range 40 {
		c.data.Metrics = append(c.data.Metrics, Metric{Name: fmt.Sprintf("metric_%d", i), Title: "M", Unit: "ms", Ranked: true})
	}
	for i := range cells {
		cell := Cell{Site: "lulic-amazon", Network: fmt.Sprintf("lulic-10240k-%dms", i/3), Protocol: "https/1.1", Label: "https/1.1", Loader: "builtin", Clock: "virtual", Visit: "cold", Strategy: "browser", Server: "wiretime", Valid: repeats, Summaries: map[string]Summary{}}
		values := map[string][]float64{}
		for range repeats {
			load := Load{ID: fmt.Sprintf("r1-%04d-a1", len(c.data.Loads)), Cell: i, Attempt: 1, Validity: string(store.Valid)}
			for _, m := range c.data.Metrics {
				v := 10_000 * random.Float64()
				load.Values = append(load.Values, &v)
				values[m.Name] = append(values[m.Name], v)
			}
			cell.Loads = append(cell.Loads, len(c.data.Loads))
			c.data.Loads = append(c.data.Loads, load)
			c.data.loads = append(c.data.loads, store.Load{Values: map[string]float64{"requests": float64(requests)}, Artefacts: "kept"})
		}
		for name, v := range values {
			cell.Summaries[name] = Summarize(v)
		}
		c.data.Cells = append(c.data.Cells, cell)
	}
	return c
}

// TestALargeReportIsSmallerThan5MB: 504 cells, 3,528 loads, as in the paper's part of lulic-1, had they kept their captures.
func TestALargeReportIsSmallerThan5MB(t *testing.T) {
	for _, c := range []struct {
		requests int
		omitted  bool // not even all median loads have room
	}{{10, false}, {197, true}} {
		big := bigRun(504, 7, c.requests)
		if err := big.addFiles(); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(big.data)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, l := range big.data.Loads {
			if l.Waterfall != nil {
				shown++
			}
		}
		t.Logf("%d requests per load: %d octets of data, %d waterfalls, %d omitted", c.requests, len(text), shown, big.data.Omitted)
		if size := len(text) + pageOctets; size > maxOctets {
			t.Errorf("with %d requests per load the report takes %d octets, want at most %d", c.requests, size, maxOctets)
		}
		if (big.data.Omitted > 0) != c.omitted || shown == 0 || shown+big.data.Omitted < 504 {
			t.Errorf("with %d requests per load %d waterfalls are shown and %d omitted", c.requests, shown, big.data.Omitted)
		}
	}
	if page, err := dist.ReadFile(pageFile); err == nil && len(page) > pageOctets {
		t.Errorf("the page alone takes %d octets, and %d are kept for it", len(page), pageOctets)
	}
}

// TestForeignWordsInABrowser shows a report whose every name is a script to a real browser, with 5,000 requests in a waterfall.
func TestForeignWordsInABrowser(t *testing.T) {
	var browser string
	for _, name := range []string{"chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium is installed")
	}
	const script = `"><img src=x onerror="document.documentElement.dataset.owned=1"></script><script>document.documentElement.dataset.owned=2</script>`
	big := bigRun(2, 6, 5000)
	har := big.files.HAR
	big.files.HAR = func(l store.Load) (*capture.HAR, error) {
		h, err := har(l)
		for i := range h.Log.Entries {
			e := &h.Log.Entries[i]
			e.Request.URL = fmt.Sprintf("https://www.test/%d/%s", i, script)
			e.Connection, e.Priority, e.Protocol, e.ResourceType = script, script, script, script
		}
		return h, err
	}
	d := &big.data
	for i := range d.Cells {
		d.Cells[i].Label, d.Cells[i].Site, d.Cells[i].Network = script+fmt.Sprint(i), script, script
	}
	if err := big.addFiles(); err != nil {
		t.Fatal(err)
	}
	d.Study, d.StudyText, d.Summary, d.Compared, d.Same = script, script, []string{script}, "protocol", []string{"network"}
	d.Checks = slices.Clone(pageChecks)
	d.Environment, d.Networks = []Fact{{script, script}}, []Network{{Name: script, Note: script, Source: script, Facts: []Fact{{script, script}}}}
	d.Loads[0].Validity, d.Loads[0].Reason = "failed", script
	d.Sections = []Section{{Site: script, Network: script, Clock: "virtual", Cells: []int{0, 1}, Answers: []Answer{{Metric: "metric_0", Behind: []Behind{{Cell: 1}}}}}}
	two := [2]rounded{1, 2}
	d.Overview = Overview{Compared: script, Labels: []string{d.Cells[0].Label, d.Cells[1].Label}, Facets: []Facet{}, Metrics: []OverviewMetric{{Name: "metric_0", Title: script, Unit: "ms"}},
		Places: []Place{{At: []int{}, Cells: []int{0, 1}, Standings: []*Standing{{Medians: []*rounded{&two[0], &two[1]}, N: []int{6, 6}, Pairs: []*[2]rounded{&two}, Tied: []int{1}}}}}}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := Write(path, *d); err != nil {
		t.Skip(err)
	}
	dom, err := exec.CommandContext(t.Context(), browser, "--no-sandbox", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path+"#section-1").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(dom)
	if strings.Contains(text, "data-owned") || strings.Contains(text, "<img") {
		t.Error("a script of the run's words was carried out, or became an element")
	}
	for _, want := range []string{`<title>"&gt;&lt;img`, "<h3>Loads that do not count</h3>", "<h4>Waterfalls of the median loads</h4>", `<section id="section-1"`, "</footer>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if *keepReport != "" {
		whole, _ := os.ReadFile(path)
		_ = os.WriteFile(strings.TrimSuffix(*keepReport, ".html")+"-foreign.html", whole, 0o600)
	}
}
