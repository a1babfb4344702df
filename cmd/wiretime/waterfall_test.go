package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/terminal"
)

// navigation is when the page of these tests begins.
var navigation = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// requestAt is a request of a page, that starts so many ms after navigationStart.
func requestAt(url string, ms float64, t capture.Timings) capture.Entry {
	sum := 0.0
	for _, phase := range []float64{t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive} {
		sum += max(0, phase)
	}
	return capture.Entry{Page: "page_1", Started: navigation.Add(time.Duration(ms * 1e6)), Time: sum, Timings: t,
		Request: capture.Request{Method: "GET", URL: url}, Response: capture.Response{Status: 200}}
}

// TestWaterfall draws a document and two images of which the second was waited for.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	har := &capture.HAR{Log: capture.Log{
		Pages: []capture.Page{{ID: "page_1", Started: navigation, Timings: capture.PageTimings{OnContentLoad: 420, OnLoad: 1000}}},
		Entries: []capture.Entry{
			requestAt("https://page.test/images/second.png", 400, capture.Timings{Blocked: 100, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: 300, Receive: 200}),
			requestAt("https://page.test/", 0, capture.Timings{Blocked: -1, DNS: 50, Connect: 150, SSL: 100, Send: 0, Wait: 100, Receive: 100}),
			requestAt("https://page.test/images/first.png", 400, capture.Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: 200, Receive: 50}),
			{Page: "page_1", Started: navigation, Request: capture.Request{URL: "data:image/png;base64,AA"}},
		},
	}}
	har.Log.Entries[2].Response.Status = 404
	path := &critical.Path{Page: "page_1", OnLoad: 1000e6, Steps: []critical.Step{
		{From: 0, To: 200e6, Phase: critical.Connect, Kind: critical.SetUp, URL: "https://page.test/"},
		{From: 200e6, To: 400e6, Phase: critical.Receive, Kind: critical.Delay, URL: "https://page.test/"},
		{From: 400e6, To: 1000e6, Phase: critical.Receive, Kind: critical.Bandwidth, URL: "https://page.test/images/second.png"},
	}}
	for _, c := range []struct {
		name   string
		screen terminal.Screen
		path   []*critical.Path
		want   string
	}{
		{"with all that UTF-8 has", terminal.Screen{Columns: 64, Unicode: true}, []*critical.Path{path}, `
page_1: DCL after 420.0 ms, onLoad after 1000.0 ms
· blocked  ▒ set-up  ─ waiting  █ receiving  ◆ on the critical path  ┊ DCL  │ onLoad

                             0                1000.0 ms
◆ page.test/                 ▒▒▒▒▒───███              │    400.0
◆ page.test/im…s/second.png            ···────────█████    600.0
  page.test/im…st.png (404)            ──────█        │    250.0
◆ critical path              sssssdddddbbbbbbbbbbbbbbbb   1000.0

s  set-up      200.0 ms  20.0 %
d  path delay  200.0 ms  20.0 %
b  bandwidth   600.0 ms  60.0 %
`}, {"in ASCII, without a path", terminal.Screen{Columns: 64}, nil, `
page_1: DCL after 420.0 ms, onLoad after 1000.0 ms
. blocked  + set-up  - waiting  # receiving  * on the critical path  : DCL  | onLoad

                             0                1000.0 ms
  page.test/                 +++++---###              |    400.0
  page.test/im../second.png            ...--------#####    600.0
  page.test/im..t.png (404)            ------#        |    250.0
`},
	} {
		var out strings.Builder
		f := newWaterfall(c.screen, har, har.Log.Pages[0], c.path)
		if err := f.draw(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, out.String(), c.want)
		}
	}
}

// TestWaterfallOfALoad draws a load that was measured, for a pipe and on a narrow terminal.
func TestWaterfallOfALoad(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", "name: small\nrepeats: 1\nclock: virtual\nmatrix: {sites: [page], protocols: [h2], networks: [3g-weak], loaders: [builtin]}\n")
	if r := u.run(t, "run", file, "--store", "kept"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	r := u.run(t, "show", "r1-0000-a1", "--store", "kept", "--waterfall")
	for _, want := range []string{"* www.page.test/ ", "page.test/style.css", "* critical path", "s  set-up ", "\nThe biggest cause is "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s%s", want, r.out, r.errors)
		}
	}
	for line := range strings.Lines(u.onTerminal(t, "show", "r1-0000-a1", "--store", "kept", "--waterfall")) {
		if strings.Contains(line, "█") && terminal.Width(strings.TrimSpace(line)) > 200 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	if r := u.run(t, "show", "r1-0000-a1", "--store", filepath.Join(u.home, "none"), "--waterfall"); r.code != exitStore {
		t.Errorf("without a store: exit code %d: %s", r.code, r.errors)
	}
}

// FuzzWaterfall: whatever a HAR holds, its waterfall fits and does not control the terminal.
func FuzzWaterfall(f *testing.F) {
	f.Add("https://page.test/\x1b[2J", 0.0, 10.0, 100.0, uint8(80))
	f.Add("", -1e300, math.MaxFloat64, -1.0, uint8(0))
	f.Fuzz(func(t *testing.T, url string, start, took, onLoad float64, columns uint8) {
		if math.IsNaN(start+took+onLoad) || math.IsInf(start+took+onLoad, 0) { // which JSON cannot say
			t.Skip()
		}
		e := requestAt(url, 0, capture.Timings{Wait: took, Receive: start})
		e.Started = navigation.Add(time.Duration(min(max(start, -1e9), 1e9) * 1e6))
		page := capture.Page{ID: "page_1", Started: navigation, Timings: capture.PageTimings{OnContentLoad: onLoad, OnLoad: onLoad}}
		har := &capture.HAR{Log: capture.Log{Pages: []capture.Page{page}, Entries: []capture.Entry{e}}}
		var out strings.Builder
		if err := newWaterfall(terminal.Screen{Columns: int(columns)}, har, page, nil).draw(&out); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("it draws %q", out.String())
		}
	})
}
