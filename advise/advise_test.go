package advise

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/studyfile"
)

// world is what loads take, in ms, for a cell; below 0 if it cannot be measured.
type world func(study.Cell) float64

// measure carries out a study in a world in which loads differ by up to 1 %.
func (w world) measure(t *testing.T, seen *[]string) Measure {
	return func(_ context.Context, text []byte, what string) ([]store.Result, map[string]string, error) {
		*seen = append(*seen, what)
		s, err := studyfile.Parse("s.yaml", text, studyfile.Vocabulary{
			Protocols: protocol.Names(), Loaders: []string{Builtin, "chromium"}, SiteKnown: site.Library{Dir: t.TempDir()}.KnownRef,
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		random := rand.New(rand.NewPCG(s.Seed, uint64(len(*seen))))
		var results []store.Result
		unsupported := map[string]string{}
		for _, c := range s.Cells(nil) {
			r := store.Result{Cell: c, Values: map[string][]float64{}}
			if ms := w(c); ms < 0 {
				unsupported[c.Key()] = "it is not of this world"
			} else {
				for range s.Repeats {
					r.Values["onload"] = append(r.Values["onload"], ms*(1+0.01*random.Float64()))
				}
			}
			results = append(results, r)
		}
		return results, unsupported, nil
	}
}

func question(shares ...network.Share) Question {
	return Question{Site: "objects@3x2kB", Population: network.Population{Name: "ours", Shares: shares}, Protocol: "h2", Metric: "onload", MetricTitle: "onLoad",
		Loads: 10, Seed: 7, Distance: 20 * time.Millisecond, Browser: "chromium"}
}

func page(t *testing.T) *site.Site {
	t.Helper()
	s, err := site.Objects(3, 2000)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheSearchFindsWhatHelpsTogether has a world in which BBR helps on lossy networks and a window of 32 segments everywhere, both
// over TCP only. HTTP/3 helps more alone, and beside it, and only there, preloads. Compression hurts beside it.
func TestTheSearchFindsWhatHelpsTogether(t *testing.T) {
	w := world(func(c study.Cell) float64 {
		ms := 1000.0
		h3 := c.On(study.AxisProtocol) == "h3"
		switch {
		case h3:
			ms *= 0.5
		case c.On(study.AxisCongestion) == "bbr":
			ms *= 0.8
		}
		if !h3 && c.On(study.AxisInitCwnd) == "32" {
			ms *= 0.9
		}
		if h3 && c.On(study.AxisHint) == study.HintPreload {
			ms *= 0.7
		}
		if strings.Contains(c.Subject(), "gzip") && h3 {
			ms *= 1.1
		}
		if strings.Contains(c.Network.Name, "nearer") {
			ms *= 0.97
		}
		if c.On(study.AxisVisit) == study.VisitZeroRTT {
			return -1
		}
		return ms
	})
	var seen []string
	a, err := Advise(t.Context(), question(network.Share{Network: "lte", Weight: 3}, network.Share{Network: "cable", Weight: 1}), page(t), w.measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for _, s := range a.Steps {
		added = append(added, s.Added.Name)
	}
	if want := []string{"h3", "preload", "nearer"}; !slices.Equal(added, want) {
		t.Errorf("steps are %q, want %q", added, want)
	}
	last := a.Steps[len(a.Steps)-1].Total
	if want := 1 - 0.5*0.7*0.97; last.Gain < want-0.01 || last.Gain > want+0.01 || last.Better != 1 || last.Worse != 0 || last.Verdict != Helps {
		t.Errorf("together: %+v, want a gain of %.3f", last, want)
	}
	for _, tried := range a.Steps[1].Tried {
		if tried.Name == "gzip" && tried.Effect.Verdict != Hurts || tried.Name == "bbr" || tried.Name == "h2" {
			t.Errorf("beside HTTP/3: %s %s", tried.Name, tried.Effect.Verdict)
		}
	}
	verdicts := map[string]string{"h3": Helps, "bbr": Helps, "initcwnd-32": Helps, "nearer": Helps, "preload": Same, "gzip": Same, "h3-resumed": Helps, "0rtt": Unsupported}
	for _, o := range a.Options {
		if want := verdicts[o.Name]; want != "" && o.Effect.Verdict != want {
			t.Errorf("%s %s: %+v, want %s", o.Name, o.Effect.Verdict, o.Effect, want)
		}
	}
	place := func(name string) int {
		return slices.IndexFunc(a.Options, func(o Option) bool { return o.Name == name })
	}
	if place("h3-equal-turns") < place("gzip") || a.Options[place("h3-equal-turns")].Effect.Verdict != Helps {
		t.Errorf("HTTP/3 without priorities, which is never advised, has place %d, and gzip, which does nothing, %d", place("h3-equal-turns"), place("gzip"))
	}
	if last := a.Options[len(a.Options)-1]; last.Name != "0rtt" || last.Effect.Why != "it is not of this world" {
		t.Errorf("what was not measured is not the last: %+v", last)
	}
	if a.Browser == nil || !a.Browser.Agrees || len(a.Browser.Checked) != 3 {
		t.Errorf("the browser: %+v", a.Browser)
	}
	if len(seen) != 4 {
		t.Errorf("rounds: %q", seen)
	}
}

// TestABrowserMayDisagree has a world in which what helps builtin does nothing for the browser.
func TestABrowserMayDisagree(t *testing.T) {
	w := world(func(c study.Cell) float64 {
		if c.On(study.AxisLoader) == Builtin && c.On(study.AxisHint) == study.HintEarly {
			return 500
		}
		return 1000
	})
	var seen []string
	a, err := Advise(t.Context(), question(network.Share{Network: "lte", Weight: 1}), page(t), w.measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Steps) != 1 || a.Browser.Agrees || a.Browser.Checked[0].Effect.Verdict != Same || !strings.Contains(strings.Join(a.Lead(), " "), "not all of this helps") {
		t.Errorf("steps %+v, browser %+v: %q", a.Steps, a.Browser, a.Lead())
	}
}

// TestNothingHelps: where nothing changes anything nothing is advised, no browser is asked, and the page says so.
func TestNothingHelps(t *testing.T) {
	var seen []string
	a, err := Advise(t.Context(), question(network.Share{Network: "lte", Weight: 1}), page(t), world(func(study.Cell) float64 { return 1000 }).measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Steps) != 0 || a.Browser != nil || len(seen) != 1 || !strings.Contains(a.Lead()[1], "helps first visits by more than 1 % for certain") {
		t.Errorf("%d steps, browser %+v, rounds %q, %q", len(a.Steps), a.Browser, seen, a.Lead())
	}
}

// TestFewLoadsDecideNothing: with three loads of each cell there are no intervals, and no verdicts.
func TestFewLoadsDecideNothing(t *testing.T) {
	var seen []string
	q := question(network.Share{Network: "lte", Weight: 1})
	q.Loads = 3
	a, err := Advise(t.Context(), q, page(t), world(func(c study.Cell) float64 { return 1000 + float64(len(c.Over())) }).measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range a.Options {
		if o.Effect.Verdict != Undecided || o.Effect.Interval {
			t.Errorf("%s: %+v", o.Name, o.Effect)
		}
	}
	if len(a.Undecided()) != len(a.Options) {
		t.Errorf("not decided: %q", a.Undecided())
	}
}

// TestQuickTakesTheGreatestWeights: a quick answer has single changes for two networks.
func TestQuickTakesTheGreatestWeights(t *testing.T) {
	var seen []string
	q := question(network.Share{Network: "dsl", Weight: 1}, network.Share{Network: "lte", Weight: 3}, network.Share{Network: "cable", Weight: 2})
	q.Quick = true
	a, err := Advise(t.Context(), q, page(t), world(func(c study.Cell) float64 { return float64(100 * len(c.Over())) }).measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Networks) != 2 || a.Networks[0].Network != "lte" || a.Networks[1].Network != "cable" || len(seen) != 1 || len(a.Steps) != 0 {
		t.Errorf("networks %+v, rounds %q, %d steps", a.Networks, seen, len(a.Steps))
	}
}

func TestAFailedRoundEndsTheAdvice(t *testing.T) {
	broken := errors.New("the disk is full")
	_, err := Advise(t.Context(), question(network.Share{Network: "lte", Weight: 1}), page(t), func(context.Context, []byte, string) ([]store.Result, map[string]string, error) {
		return nil, nil, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestDistance: a server that comes nearer leaves at least half of the delay, and a farther one adds to it.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		distance time.Duration
		network  string
		want     time.Duration // one-way
		name     string
	}{
		{-20 * time.Millisecond, "lte", 25 * time.Millisecond, "lte-nearer-20ms"},
		{-20 * time.Millisecond, "fios", time.Millisecond, "fios-nearer-20ms"},
		{20 * time.Millisecond, "lte", 45 * time.Millisecond, "lte-farther-20ms"},
		{0, "lte", 35 * time.Millisecond, "lte"},
	} {
		p, err := setup{distance: c.distance}.path(c.network)
		if err != nil || p.Access[0].Up.Delay != c.want || p.Access[0].Down.Delay != c.want || p.Name != c.name {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
	}
	before, err := network.Profile("lte")
	if err != nil || before.Access[0].Up.Delay != 35*time.Millisecond {
		t.Errorf("the profile itself has changed: %+v, %v", before, err)
	}
}

// TestThePageIsSafe writes the advice on a site whose title and URL are hostile.
func TestThePageIsSafe(t *testing.T) {
	var seen []string
	p := page(t)
	p.Title = `</style><script>alert(1)</script>`
	a, err := Advise(t.Context(), question(network.Share{Network: "lte", Weight: 1}), p, world(func(c study.Cell) float64 { return float64(100 * len(c.Over())) }).measure(t, &seen))
	if err != nil {
		t.Fatal(err)
	}
	a.Page = `https://x.test/"><img src=x onerror=alert(2)>`
	path := filepath.Join(t.TempDir(), "advice.html")
	if err := a.WritePage(path, "a version"); err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"<script", "<img", `x.test/"`} {
		if bytes.Contains(html, []byte(foreign)) {
			t.Errorf("the page has %s", foreign)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "default-src 'none'", "HTTP/1.1 over TLS 1.3", "--paper", "What the figures mean"} {
		if !bytes.Contains(html, []byte(want)) {
			t.Errorf("the page lacks %s", want)
		}
	}
	var text bytes.Buffer
	if err := a.WriteText(&text); err != nil || !strings.Contains(text.String(), "HTTP/1.1 over TLS 1.3") {
		t.Errorf("%s, %v", text.String(), err)
	}
	if err := a.WritePage(filepath.Join(path, "none"), ""); err == nil || !strings.Contains(err.Error(), "write the page") {
		t.Errorf("%v", err)
	}
}
