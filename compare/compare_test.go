package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/stats"
	"wiretime/store"
	"wiretime/study"
)

// made describes a store of made-up loads.
type made struct {
	study    string
	seed     uint64
	clock    string
	networks []network.Path
	over     map[string][]float64 // onLoads of each repeat by protocol, on each network; a negative one is that of an invalid load
	site     string               // checksum of the site's content
	program  string
	unit     string // of onLoad
	defined  string // likewise
}

func path(name string, rate network.BitRate) network.Path {
	return network.Path{Name: name, Access: []network.Access{{Name: "access", Down: network.Link{Rate: rate}, Up: network.Link{Rate: rate}}}}
}

// usual returns a store with six loads over h2 and h3 each, on the virtual clock.
func usual() made {
	return made{study: "made", seed: 1, clock: study.ClockVirtual, networks: []network.Path{path("lte", 1e7)},
		over: map[string][]float64{"h2": {600, 601, 602, 603, 604, 605}, "h3": {500, 501, 502, 503, 504, 505}}, site: "SHA-256 1", program: "1", unit: "ms", defined: "from navigation"}
}

// write writes the store into a new folder.
func (m made) write(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	environment, err := json.Marshal(map[string]any{"kernel": "6.1", "wiretime": m.program, study.SitesKey: map[string]string{"page": m.site}})
	if err != nil {
		t.Fatal(err)
	}
	spec := store.RunSpec{StudyName: m.study, StudyText: "name: " + m.study, Seed: m.seed, Version: m.program, Environment: environment, Started: time.Unix(1, 0),
		Metrics: []study.Metric{{Name: "onload", Unit: m.unit, Title: "onLoad", Definition: m.defined}, {Name: "requests", Unit: "requests", Title: "Requests", Definition: "how many"}}}
	repeats := 0
	for _, p := range m.networks {
		for _, protocol := range []string{"h2", "h3"} {
			if values := m.over[protocol]; values != nil {
				repeats = max(repeats, len(values))
				spec.Cells = append(spec.Cells, study.NewCell(study.Pages(), map[study.Axis]string{
					study.AxisSite: "page", study.AxisProtocol: protocol, study.AxisNetwork: p.Name, study.AxisLoader: "builtin", study.AxisClock: m.clock}, p))
			}
		}
	}
	spec.Plan = (&study.Study{Seed: m.seed, Repeats: repeats}).Plan(spec.Cells)
	run, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := st.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan {
		values := m.over[p.Cell.Over()]
		if p.Repeat >= len(values) {
			continue
		}
		v := values[p.Repeat]
		record := store.LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Validity: store.Valid, Values: map[string]float64{"onload": v, "requests": 40}}
		if m.clock == study.ClockVirtual {
			record.Making = &store.Making{Programs: map[string]string{"wiretime": m.program, "site page": m.site}, Attempt: 1}
		}
		if v < 0 {
			record.Validity, record.Values, record.Reason, record.Final = store.Invalid, map[string]float64{}, "late", true
		}
		if err := st.Commit(record); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// sides opens two stores, or cells of one.
func sides(t *testing.T, a, b *store.Store, where ...string) (x, y Side) {
	t.Helper()
	for i, st := range []*store.Store{a, b} {
		name, selection := fmt.Sprintf("store %d", i+1), study.Selection(nil)
		if i < len(where) {
			spec, err := ParseSpec(where[i])
			if err != nil {
				t.Fatal(err)
			}
			name, selection = where[i], spec.Where
		}
		s, err := Open(name, st, 1, selection)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			x = s
		} else {
			y = s
		}
	}
	return x, y
}

func compared(t *testing.T, a, b *store.Store, config Config, where ...string) *Comparison {
	t.Helper()
	x, y := sides(t, a, b, where...)
	c, err := Compare(x, y, config, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestVerdicts compares the cells of two stores, of which the second differs from the usual one.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*made)
		config  Config
		verdict string // of h2
		said    string // in the text
	}{
		{"nothing", func(*made) {}, Config{}, Identical, "In all 2 cells on the virtual clock, every load (12 on each side) has the same values of all metrics, to the nanosecond."},
		{"slower", func(m *made) { m.over["h2"] = []float64{700, 701, 702, 703, 704, 705} }, Config{Margin: 0.03}, Slower, "+100.0 [+97.5..+103.0]"},
		{"faster", func(m *made) { m.over["h2"] = []float64{300, 301, 302, 303, 304, 305} }, Config{Margin: 0.03}, Faster, "-49.8"},
		{"the same", func(m *made) { m.over["h2"] = []float64{606, 607, 608, 609, 610, 611} }, Config{Margin: 0.03}, Same, "same within 3 %"},
		{"slower than a narrow margin", func(m *made) { m.over["h2"] = []float64{606, 607, 608, 609, 610, 611} }, Config{Margin: 0.001}, Slower, "slower"},
		{"undecided", func(m *made) { m.over["h2"] = []float64{500, 900, 601, 700, 604, 605} }, Config{Margin: 0.01}, NotDecided, "not decided; "},
		{"too few", func(m *made) { m.over["h2"] = []float64{700, -1, 702, 703, 704, 705} }, Config{}, TooFew, "too few loads: 6 and 5 loads; 6 on each side are needed"},
		{"invalid", func(m *made) { m.over["h2"] = []float64{700, -1, 702, 703, 704, 705} }, Config{}, TooFew, "Note: store 2: 1 attempt was invalid or failed and not counted."},
		{"another clock", func(m *made) { m.clock = study.ClockReal }, Config{}, Refused, "the first is on the virtual clock, the second on the real clock"},
		{"another network", func(m *made) { m.networks = []network.Path{path("lte", 2e7)} }, Config{}, Refused, "the network lte is not defined alike on both sides"},
		{"another site", func(m *made) { m.site = "SHA-256 2" }, Config{}, Refused, "the site page has another content"},
		{"another site, on purpose", func(m *made) { m.site = "SHA-256 2" }, Config{ChangedSites: true}, Identical, "identical to the nanosecond"},
		{"another program", func(m *made) { m.program = "2" }, Config{}, Identical, "Note: The program wiretime differs: 1, then 2."},
		{"another seed", func(m *made) { m.seed = 2 }, Config{}, Identical, "Note: The studies' seeds differ, 1 and 2"},
		{"another unit", func(m *made) { m.unit = "s" }, Config{}, Refused, "the metric onload is in ms in the first run and in s in the second"},
		{"another definition", func(m *made) { m.defined = "from the click" }, Config{}, Identical, `The definition of onLoad changed: "from navigation", then "from the click".`},
		{"another study", func(m *made) { m.study = "other" }, Config{}, Identical, "Note: The study files differ"},
		{"fewer cells", func(m *made) { delete(m.over, "h3") }, Config{}, Identical, "Only in A: h3."},
		{"more cells", func(m *made) { m.networks = append(m.networks, path("cable", 1e7)) }, Config{}, Identical, "Only in B: cable h2; cable h3."},
		{"unfinished", func(m *made) { m.over["h3"] = m.over["h3"][:5] }, Config{}, Identical, "is not finished: 11 of 12 loads are done"},
		{"only the first repeats", func(m *made) { m.over["h2"] = []float64{600, 601, 602, 703, 704, 705} }, Config{Repeats: 3}, Identical, "identical"},
		{"a percentile", func(m *made) { m.over["h2"] = []float64{700, 701, 702, 703, 704, 705} }, Config{Figures: []Figure{{"onload", "p95"}}}, TooFew, "6 and 6 loads; 59 on each side are needed"},
		{"a mean", func(m *made) { m.over["h2"] = []float64{700, 701, 702, 703, 704, 705} }, Config{Figures: []Figure{{"onload", "mean"}}}, Slower, "mean onLoad"},
		{"a maximum", func(m *made) { m.over["h2"][0]++ }, Config{Figures: []Figure{{"onload", "max"}}}, TooFew, "no number of loads gives an interval of a max"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := usual()
			c.change(&changed)
			got := compared(t, usual().write(t), changed.write(t), c.config)
			var text bytes.Buffer
			if err := got.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if got.Pairs[0].Verdict != c.verdict || !strings.Contains(text.String(), c.said) {
				t.Errorf("the verdict is %q, want %q, and %q in\n%s", got.Pairs[0].Verdict, c.verdict, c.said, text.String())
			}
			for _, p := range got.Pairs {
				if !p.Compared() && (p.P != 0 && p.P != 1 || p.Verdict == Refused && p.Value != 0) {
					t.Errorf("what cannot be compared was computed: %+v", p)
				}
			}
		})
	}
}

// TestWithinARun compares two values of an axis.
func TestWithinARun(t *testing.T) {
	m := usual()
	m.networks = append(m.networks, path("cable", 1e7))
	st := m.write(t)
	c := compared(t, st, st, Config{}, "protocol=h2", "protocol=h3")
	if len(c.Pairs) != 2 || c.Pairs[0].Cell != "lte" || c.Pairs[1].Cell != "cable" || c.Pairs[0].Verdict != Faster || c.Tests != 2 || !slices.Equal(c.By, []By{{"protocol", "h2", "h3"}}) {
		t.Errorf("%+v", c)
	}
	c = compared(t, st, st, Config{}, "network=lte", "network=cable")
	if len(c.Pairs) != 2 || c.Pairs[0].Cell != "h2" || c.Pairs[0].Verdict != Identical {
		t.Errorf("two networks that are compared are refused for being two: %+v", c)
	}
	for _, where := range [][]string{{"protocol=h2", "network=lte"}, nil} {
		x, y := sides(t, st, st, where...)
		if _, err := Compare(x, y, Config{}, 1); err == nil {
			t.Errorf("comparing %q gives no error", where)
		}
	}
	if _, err := Open("protocol=spdy/2", st, 1, study.Selection{study.AxisProtocol: {"spdy/2"}}); err == nil || !strings.Contains(err.Error(), "its cells have h2, h3") {
		t.Errorf("a value that no cell has: %v", err)
	}
	x, y := sides(t, st, st, "protocol=h2", "protocol=h3")
	if _, err := Compare(x, y, Config{Figures: []Figure{{"warmth", "median"}}}, 1); err == nil {
		t.Error("a metric that the run lacks gives no error")
	}
}

// TestOneValueOnEachSide: studies of one protocol each are compared by protocol.
func TestOneValueOnEachSide(t *testing.T) {
	a, b := usual(), usual()
	delete(a.over, "h3")
	delete(b.over, "h2")
	c := compared(t, a.write(t), b.write(t), Config{})
	if len(c.Pairs) != 1 || c.Pairs[0].Verdict != Faster || !slices.Equal(c.By, []By{{"protocol", "h2", "h3"}}) {
		t.Errorf("%+v", c)
	}
}

// TestManyCells: with six loads on each side, Holm's method decides no more than 23 comparisons, however clear they are; the other one does.
func TestManyCells(t *testing.T) {
	for adjust, want := range map[string]string{AdjustHolm: NotDecided, AdjustFDR: Slower} {
		pairs := make([]Pair, 24)
		for i := range pairs {
			pairs[i] = Pair{Figure: Figure{"onload", study.Median}, Unit: "ms", Level: 1 - Alpha, x: []float64{1, 2, 3, 4, 5, 6}, y: []float64{11, 12, 13, 14, 15, 16}}
		}
		j := &judge{config: Config{Alpha: Alpha, Adjust: adjust}, bootstrap: stats.NewBootstrap(1)}
		for i := range pairs {
			j.test(&pairs[i])
		}
		j.decide(pairs)
		if pairs[0].Verdict != want || pairs[23].Verdict != want {
			t.Errorf("%s: %s, want %s", adjust, pairs[0].Verdict, want)
		}
		if needed := j.needed(pairs[0], len(pairs)); adjust == AdjustHolm && needed != 7 {
			t.Errorf("%d loads are needed, want 7", needed)
		}
	}
}

// TestRules applies rules to a store in which h2 is 100 ms and 16.6 % slower, h3 as it was.
func TestRules(t *testing.T) {
	slow := usual()
	slow.over["h2"] = []float64{700, 701, 702, 703, 704, 705}
	c := compared(t, usual().write(t), slow.write(t), Config{})
	for _, r := range []struct {
		rule   string
		h2, h3 string
	}{
		{"onload > +3%", Broken, Kept},
		{"onload p50 > 50 ms", Broken, Kept},
		{"onload > +16.5%", NotDecided, Kept},
		{"onload > +30%", Kept, Kept},
		{"onload < -3%", Kept, Kept},
		{"onload < +3%", Kept, Broken},
		{"onload > -20 ms", Broken, Broken},
	} {
		rule, err := ParseRule(r.rule)
		if err != nil {
			t.Fatal(err)
		}
		if h2, h3 := rule.Judge(c.Pairs[0]), rule.Judge(c.Pairs[1]); h2 != r.h2 || h3 != r.h3 {
			t.Errorf("%s: %s and %s, want %s and %s", r.rule, h2, h3, r.h2, r.h3)
		}
	}
	undecided := c.Pairs[0]
	undecided.Adjusted = 0.2
	rule, _ := ParseRule("onload > 3%")
	if got := rule.Judge(undecided); got != NotDecided {
		t.Errorf("a difference that the test leaves open is %s", got)
	}
}

// TestGate: a broken rule is an error, and so is one that could be checked nowhere; one that is undecided is only if the user says so.
func TestGate(t *testing.T) {
	slow, other := usual(), usual()
	slow.over["h2"] = []float64{700, 701, 702, 703, 704, 705}
	other.clock = study.ClockReal
	for _, c := range []struct {
		b         made
		rule      string
		undecided bool
		want      string
	}{
		{slow, "onload > 3%", false, "onload > 3% is true in 1 of 2 cells"},
		{slow, "onload > 16.5%", false, ""},
		{slow, "onload > 16.5%", true, "onload > 16.5% is not decided in 1 of 2 cells"},
		{usual(), "onload > 3%", true, ""},
		{other, "onload > 3%", false, "onload > 3% could be checked in none of 2 cells"},
	} {
		rule, err := ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		result := compared(t, usual().write(t), c.b.write(t), Config{Figures: []Figure{rule.Figure}})
		if err := result.Apply([]Rule{rule}); err != nil {
			t.Fatal(err)
		}
		err = result.Verdict(c.undecided)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s, undecided fails: %v: %v, want %q", c.rule, c.undecided, err, c.want)
		}
	}
	rule, _ := ParseRule("onload > 3 MB")
	if err := compared(t, usual().write(t), slow.write(t), Config{}).Apply([]Rule{rule}); err == nil || !strings.Contains(err.Error(), "onload is in ms") {
		t.Errorf("a bound in another unit: %v", err)
	}
}

// TestFiles reads the written files by other programs' readers.
func TestFiles(t *testing.T) {
	slow := usual()
	slow.networks[0].Name = "=a|b<c>"
	slow.networks = append(slow.networks, path("cable", 1e7))
	same := slow
	same.over = map[string][]float64{"h2": {700, 701, 702, 703, 704, 705}, "h3": {500, 500, 500, 500, 500}}
	c := compared(t, slow.write(t), same.write(t), Config{})
	rule, _ := ParseRule("onload > 3%")
	if err := c.Apply([]Rule{rule}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	write := func(f func() error) []byte {
		t.Helper()
		out.Reset()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	rows, err := csv.NewReader(bytes.NewReader(write(func() error { return c.WriteCSV(&out) }))).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][0] != "'=a|b<c> h2" || rows[1][19] != Slower || rows[2][11] != "" {
		t.Errorf("CSV: %v %q", err, rows)
	}
	var read Comparison
	if err := json.Unmarshal(write(func() error { return c.WriteJSON(&out) }), &read); err != nil || len(read.Pairs) != 4 || read.Pairs[0].Verdict != Slower || read.Rules[0].Count(Broken) != 2 {
		t.Errorf("JSON: %v %+v", err, read)
	}
	markdown := string(write(func() error { return c.WriteMarkdown(&out) }))
	if !strings.Contains(markdown, `| =a\|b&lt;c> h2 |`) || strings.Count(markdown, "**slower**") != 2 {
		t.Errorf("Markdown:\n%s", markdown)
	}
	for undecided, failures := range map[bool]int{false: 2, true: 4} {
		var suites junitSuites
		if err := xml.Unmarshal(write(func() error { return c.WriteJUnit(&out, undecided) }), &suites); err != nil {
			t.Fatal(err)
		}
		if s := suites.Suites[0]; s.Tests != 4 || s.Failures != failures || s.Skipped != 4-failures || s.Cases[0].Failure == nil || s.Cases[0].Name != "=a|b<c> h2: onLoad" {
			t.Errorf("JUnit: %+v", s)
		}
	}
}

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"results", "{results 0 map[]}"},
		{"results:3", "{results 3 map[]}"},
		{"a/b:c/d", "{a/b:c/d 0 map[]}"},
		{"./protocol=h2", "{./protocol=h2 0 map[]}"},
		{"protocol=h2", "{ 0 map[protocol:[h2]]}"},
		{"server=mine,protocol=h3", "{ 0 map[protocol:[h3] server:[mine]]}"},
		{"site=https://www.example.org/?a=b", "{ 0 map[site:[https://www.example.org/?a=b]]}"},
		{"", "error"}, {":3", "error"}, {"results:0", "error"}, {"results:x", "error"}, {"protocol=", "error"},
		{"protocol=h2,h3", "error"}, {"protocol=h2,protocol=h3", "error"}, {"colour=red", "error"}, {"protocol=h2,colour=red", "error"},
	} {
		spec, err := ParseSpec(c.text)
		got := fmt.Sprint(spec)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("ParseSpec(%q) = %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"onload p50 > +3%", "{onload p50 > +3% {onload median} true 3 true }"},
		{"onload>3 %", "{onload>3 % {onload median} true 3 true }"},
		{"plt p95 < -20 ms", "{plt p95 < -20 ms {plt p95} false -20 false ms}"},
		{"bytes_down mean > 1.5e3 B", "{bytes_down mean > 1.5e3 B {bytes_down mean} true 1500 false B}"},
		{"", ""}, {"onload", ""}, {"> 3%", ""}, {"onload >", ""}, {"onload > %", ""}, {"onload > 3", ""}, {"onload > x%", ""},
		{"onload p100 > 3%", ""}, {"a b c > 3%", ""}, {"on|load > 3%", ""}, {"onload > 1e999%", ""},
	} {
		r, err := ParseRule(c.text)
		if got := fmt.Sprint(r); err == nil && got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("ParseRule(%q) = %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

// FuzzParse: whatever a side or a rule says, reading it ends without a panic, and what was read is within its bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"results:3", "server=mine,protocol=h3", "onload p50 > +3%", "plt < -20 ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSpec(text); err == nil && (s.Dir == "") == (len(s.Where) == 0) {
			t.Errorf("ParseSpec(%q) = %+v", text, s)
		}
		if r, err := ParseRule(text); err == nil && (r.Share != (r.unit == "") || r.Figure.Metric == "") {
			t.Errorf("ParseRule(%q) = %+v", text, r)
		}
	})
}
