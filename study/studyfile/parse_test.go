package studyfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/costtest"
	"wiretime/network"
	"wiretime/study"
	"wiretime/study/builtin"
)

var words = Vocabulary{
	Protocols: []string{"http/1.1", "https/1.1", "h2", "h3"},
	Loaders:   []string{"chromium"},
	SiteKnown: func(ref string) error {
		if name, _, _ := strings.Cut(ref, "@"); name != "world-flags" {
			return fmt.Errorf("unknown site %q: the nearest name is %q", ref, "world-flags")
		}
		return nil
	},
	Strategy: func(word string) (string, error) {
		switch word {
		case study.StrategyBrowser, "sequential", "parallel-2":
			return word, nil
		case "parallel", "parallel-6":
			return "parallel-6", nil
		}
		return "", fmt.Errorf("unknown strategy %q", word)
	},
	Metrics:      map[string]string{"dcl": "ms", "plt": "ms", "bytes_down": "B"},
	Servers:      []string{"nginx", "caddy"},
	Placeholders: []string{"folder", "address", "port"},

	UploadMetrics: map[string]string{"upload_time": "ms"},
	Upload:        someUploads,

	Transports:    []string{"tcp", "sctp", "quic"},
	Players:       []string{"download", "paper", "bola"},
	StreamMetrics: map[string]string{"ttd": "ms", "recovery": "ms", "goodput": "Mbit/s"},
	Media: func(ref string) (int64, error) {
		size, ok := map[string]int64{"clip": 0, "file@1GB": 1e9, "file@1MB": 1e6, "file@10MB": 1e7}[ref]
		if !ok {
			return 0, fmt.Errorf("unknown media %q", ref)
		}
		return size, nil
	},
}

// someUploads knows the uploads of the tests and of the built-in studies.
func someUploads(reference string) (int64, error) {
	size, ok := map[string]int64{"post@1MB": 1e6, "post@2MB": 2e6, "post@10MB": 1e7}[reference]
	if !ok {
		return 0, fmt.Errorf("unknown upload %q", reference)
	}
	return size, nil
}

// builtinWords are those of the built-in studies.
var builtinWords = Vocabulary{
	Protocols: append([]string{"spdy/2", "spdy/3", "spdy/3.1"}, words.Protocols...),
	Loaders:   []string{"chromium", "fetch", "builtin", "firefox"},
	SiteKnown: func(string) error { return nil },
	Strategy:  func(word string) (string, error) { return word, nil },
	Servers:   []string{"caddy", "nginx", "h2o", "apache2", "node-spdy", "netty", "jetty"},
	Metrics: map[string]string{"dcl": "ms", "onload": "ms", "plt": "ms", "tow": "ms", "headers": "B", "headers_plain": "B", "request_headers": "B", "bytes_up": "B", "bytes_down": "B", "connections": "connections", "ttfb": "ms", "tow_closed": "ms",
		"request_headers_plain": "B", "response_headers": "B", "response_headers_plain": "B", "plt_clear": "ms"},
	UploadMetrics: words.UploadMetrics,
	Windows: Windows{
		Name: func(_ study.Axis, word string) (string, error) { return word, nil },
		Refuse: func(axis study.Axis, _ string, c study.Cell) error {
			tcp := axis == study.AxisTCPWindow
			if tcp && c.Over() == "h3" || !tcp && strings.HasPrefix(c.Over(), "http") {
				return errors.New("does not apply")
			}
			return nil
		},
	},
	Upload: someUploads,

	Transports:    []string{"tcp", "tcp-clear", "mptcp", "sctp", "sctp-udp", "sctp-udp-dtls", "quic"},
	Players:       []string{"download", "paper"},
	StreamMetrics: map[string]string{"ttd": "ms", "loading_delay": "ms", "recovery": "ms", "set_up": "ms", "media_down": "B", "sessions": "sessions", "slow_start_window": "B"},
	CrowdMetrics: map[string]string{"server_cpu_page": "us", "server_cpu_client": "us", "server_memory_client": "kB",
		"client_memory_client": "kB", "server_calls_page": "calls", "connections_client": "connections"},
	Media: func(ref string) (int64, error) {
		size, ok := map[string]int64{"clip": 0, "clip@4MBx4500kBx5MB": 0, "file@10MB": 1e7, "file@20MB": 2e7, "file@100MB": 1e8, "file@200MB": 2e8, "file@1GB": 1e9}[ref]
		if !ok {
			return 0, fmt.Errorf("unknown media %q", ref)
		}
		return size, nil
	},
}

// whole uses every key.
const whole = `name: whole
title: All keys
description: |
  Two lines
  of text
seed: 18446744073709551615
repeats: 2
clock: [virtual, real]
keep: median
servers:
  - {name: mine, command: "prog --root {folder} --listen {address}:{port}", protocols: [h2, https/1.1]}
  - name: other
    command: [other, with blanks, "{folder}"]
    protocols: [http/1.1]
matrix:
  sites: [world-flags, world-flags@4]
  protocols:
    - h2
    - h3
  networks:
    - cable
    - name: mine
      source: measured
      note: at home
      rate: 5mbit
      rtt: 101ns
      jitter: 2ms
      reorder: true
      loss: 1%
      queue: 64kB
      up: {rate: 900kbit, loss: 0.5, queue: 50 packets}
    - {name: by-bus, ride: bus.csv, loss: 1%, up: {queue: 9kB}}
    - {name: hub, shared: true, rate: 1mbit, queue: 50 packets, down: {delay: 10ms}}
    - name: two-ways
      access:
        - {name: wlan, trace: made.trace, delay: 10ms}
        - name: lte
          rate: unlimited
          gilbert_elliott: {p: 1%, r: 30%, good_loss: 0, bad_loss: 50%}
          down: {loss: 100%, queue: unlimited}
      events:
        - {at: 1s, access: lte, direction: down, rate: 1mbit, delay: 0, loss: 0.25}
        - {at: 2s, outage: 500ms, outage_drops: true}
        - {at: 3s, handover: lte}
  loaders: [chromium]
  congestion: [cubic, reno]
  initcwnd: [4, 10]
  visits: [0rtt, cold, connected]
  strategies: [parallel, browser]
  servers: [nginx, mine, wiretime]
options:
  dns: instant
  late_limit: 500us
  taken_limit: 3%
  retries: 0
  timeout: 10s
  think_time: 1500ms
  fallback: h2
  server_wait: recorded
  origin_rtt: recorded
  freeze: true
  tear_down: true
  cpu: {parse: 20us, style: 10us, script: 100us, scale: 4.5}
  tcp_rmem: [1, 2, 3]
  tcp_wmem: [4, 4, 4]
quick: {repeats: 2, only: [{network: cable, clock: real}, {visit: [cold, 0rtt], protocol: h3}]}
`

func parse(t *testing.T, src string) *study.Study {
	t.Helper()
	s, err := Parse("s.yaml", []byte(src), words)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseReadsEveryKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "made.trace"), []byte("1\n5\n5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const table = "seconds,down_kbit,up_kbit,down_ms,up_ms,link\n0,4000,1000,30,50,up\n60,,,,,end\n"
	if err := os.WriteFile(filepath.Join(dir, "bus.csv"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	ride, err := network.ParseRide("bus.csv", strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	cable, err := network.Profile("cable")
	if err != nil {
		t.Fatal(err)
	}
	rate, delay, loss := network.BitRate(1_000_000), time.Duration(0), 0.25
	trace := network.Link{Trace: &network.Trace{Name: "made.trace", Opportunities: []int64{1, 5, 5}}, Delay: 10 * time.Millisecond}
	want := &study.Study{
		Name: "whole", Title: "All keys", Description: "Two lines\nof text\n", Seed: 1<<64 - 1,
		Workload: study.Pages(),
		Matrix: map[study.Axis][]string{
			study.AxisSite: {"world-flags", "world-flags@4"}, study.AxisProtocol: {"h2", "h3"}, study.AxisNetwork: {"cable", "mine", "by-bus", "hub", "two-ways"},
			study.AxisLoader: {"chromium"}, study.AxisCongestion: {"cubic", "reno"}, study.AxisInitCwnd: {"4", "10"}, study.AxisClock: {study.ClockVirtual, study.ClockReal},
			study.AxisVisit: {study.VisitZeroRTT, study.VisitCold, study.VisitConnected}, study.AxisStrategy: {"parallel-6", study.StrategyBrowser}, study.AxisServer: {"nginx", "mine", study.ServerOwn}, study.AxisLoad: {"1"}, study.AxisHint: {study.HintNone}, study.AxisTCPSACK: {study.SACKOn}, study.AxisTLS: {study.TLS13}, study.AxisWithout: {study.WithoutNothing}, study.AxisAt: {study.PlaceAny},
			study.AxisTCPWindow: {study.WindowDefault}, study.AxisClientWindow: {study.WindowDefault}, study.AxisServerWindow: {study.WindowDefault},
		},
		Networks: []network.Path{cable, {
			Name: "mine", Source: "measured", Note: "at home",
			Access: []network.Access{{Name: "access",
				Up: network.Link{Rate: 900_000, Delay: 50, Jitter: 2 * time.Millisecond, Reorder: true,
					Loss: network.Loss{Rate: 0.5}, Queue: network.Queue{Packets: 50}},
				Down: network.Link{Rate: 5_000_000, Delay: 51, Jitter: 2 * time.Millisecond, Reorder: true,
					Loss: network.Loss{Rate: 0.01}, Queue: network.Queue{Bytes: 64_000}},
			}},
		}, {
			Name: "by-bus",
			Access: []network.Access{{Name: "access", Ride: ride,
				Up:   network.Link{Rate: 1_000_000, Delay: 50 * time.Millisecond, Loss: network.Loss{Rate: 0.01}, Queue: network.Queue{Bytes: 9_000}},
				Down: network.Link{Rate: 4_000_000, Delay: 30 * time.Millisecond, Loss: network.Loss{Rate: 0.01}, Queue: network.Queue{Bytes: 125_000}},
			}},
		}, {
			Name: "hub",
			Access: []network.Access{{Name: "access", Shared: true,
				Up:   network.Link{Rate: 1_000_000, Queue: network.Queue{Packets: 50}},
				Down: network.Link{Rate: 1_000_000, Delay: 10 * time.Millisecond, Queue: network.Queue{Packets: 50}},
			}},
		}, {
			Name: "two-ways",
			Access: []network.Access{
				{Name: "wlan", Up: trace, Down: trace},
				{Name: "lte",
					Up:   network.Link{Loss: network.Loss{GilbertElliott: &network.GilbertElliott{P: 0.01, R: 0.3, BadLoss: 0.5}}},
					Down: network.Link{Loss: network.Loss{Rate: 1}}},
			},
			Events: []network.Event{
				{At: time.Second, Access: "lte", Direction: "down", Rate: &rate, Delay: &delay, Loss: &loss},
				{At: 2 * time.Second, Outage: 500 * time.Millisecond, OutageDrops: true},
				{At: 3 * time.Second, Handover: "lte"},
			},
		}},
		Repeats: 2,
		Keep:    study.KeepMedian,
		OwnServers: []study.Server{
			{Name: "mine", Command: []string{"prog", "--root", "{folder}", "--listen", "{address}:{port}"}, Protocols: []string{"h2", "https/1.1"}},
			{Name: "other", Command: []string{"other", "with blanks", "{folder}"}, Protocols: []string{"http/1.1"}},
		},
		Options: study.Options{DNS: study.DNSInstant, LateLimit: study.Late{P99: 500 * time.Microsecond}, TakenLimit: 0.03, Timeout: 10 * time.Second, ThinkTime: 1500 * time.Millisecond, Fallback: study.FallbackH2,
			ServerWait: true, OriginRTT: true, Freeze: true, TearDown: true,
			CPU:     study.CPU{Parse: 20 * time.Microsecond, Style: 10 * time.Microsecond, Script: 100 * time.Microsecond, Scale: 4.5},
			TCPRmem: [3]int{1, 2, 3}, TCPWmem: [3]int{4, 4, 4}},
		Quick: study.Quick{Repeats: 2, Only: []study.Selection{
			{study.AxisNetwork: {"cable"}, study.AxisClock: {study.ClockReal}},
			{study.AxisVisit: {study.VisitCold, study.VisitZeroRTT}, study.AxisProtocol: {"h3"}},
		}},
		Source: []byte(whole),
	}
	for name, src := range map[string]string{
		"as written": whole, "with Windows line breaks": strings.ReplaceAll(whole, "\n", "\r\n"), "with a byte order mark": "\ufeff" + whole,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(filepath.Join(dir, "study.yaml"), []byte(src), words)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Source) != src {
				t.Error("the source is not the file, byte for byte")
			}
			got.Source = want.Source
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	s := parse(t, small)
	want := study.Options{DNS: study.DNSEmulated, LateLimit: study.Late{Share: 0.01, P99: time.Millisecond}, TakenLimit: 0.05, Retries: 2, Timeout: 2 * time.Minute, Fallback: study.FallbackNone,
		TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304}}
	if s.Seed != 1 || !cmp.Equal(s.Matrix[study.AxisCongestion], []string{"cubic"}) || !cmp.Equal(s.Matrix[study.AxisInitCwnd], []string{"10"}) || !cmp.Equal(s.Matrix[study.AxisClock], []string{study.ClockAuto}) || s.Options != want ||
		!cmp.Equal(s.Matrix[study.AxisVisit], []string{study.VisitCold}) || !cmp.Equal(s.Matrix[study.AxisStrategy], []string{study.StrategyBrowser}) || !cmp.Equal(s.Matrix[study.AxisServer], []string{study.ServerOwn}) {
		t.Errorf("seed %d, matrix %v, options %+v", s.Seed, s.Matrix, s.Options)
	}
}

// A workload that is added to study needs a kind, which reads all its axes.
func TestEveryWorkloadHasAKindThatReadsItsAxes(t *testing.T) {
	var workloads []*study.Workload
	for _, k := range kinds {
		workloads = append(workloads, k.workload)
		for _, a := range k.workload.Axes {
			if beside := a.Axis == study.AxisClock || a.Axis == study.AxisLoad; (k.values[a.Axis] == nil) != beside {
				t.Errorf("%s: no value can be read on the axis %s, or the matrix has a clock or a load", k.workload.Name, a.Axis)
			}
		}
	}
	if !slices.Equal(workloads, study.Workloads()) {
		t.Errorf("%d kinds do not match the %d workloads", len(kinds), len(study.Workloads()))
	}
}

func TestWithoutAVocabularyOfStrategiesThereIsTheBrowsersAlone(t *testing.T) {
	few := words
	few.Strategy = nil
	src := replace(t, "chromium]", "chromium]\n  strategies: [browser]")
	if _, err := Parse("s.yaml", []byte(src), few); err != nil {
		t.Error(err)
	}
	_, err := Parse("s.yaml", []byte(strings.Replace(src, "[browser]", "[parallel]", 1)), few)
	if err == nil || !strings.Contains(err.Error(), `s.yaml:8:16: unknown strategy "parallel"; write one of browser`) {
		t.Error(err)
	}
}

func TestBuiltinStudies(t *testing.T) {
	for _, name := range builtin.Names() {
		src, err := builtin.File(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(name, src, builtinWords)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.Title == "" || s.Description == "" {
			t.Errorf("built-in study %s calls itself %q, %q, %q", name, s.Name, s.Title, s.Description)
		}
		if name == "first-look" && (len(s.Cells(nil)) != 12 || s.Repeats != 6) {
			t.Errorf("first-look has %d cells, %d repeats; want 12 and 6", len(s.Cells(nil)), s.Repeats)
		}
	}
}

func TestAQuickRunMeasuresAPart(t *testing.T) {
	for _, tt := range []struct {
		quick          string
		cells, repeats int
	}{
		{"", 6, 1},
		{"quick: {repeats: 2}\n", 6, 2},
		{"quick: {only: [{network: cable}]}\n", 3, 1},
		{"quick: {only: [{network: cable, protocol: [h2, h3]}, {protocol: h2}]}\n", 3, 1},
		{"  visits: [cached]\nsession: {loads: 5}\nquick: {loads: 2}\n", 6 * 2, 1},
	} {
		s := parse(t, small+tt.quick)
		if all := s.Cells(nil); len(all) != 6*max(1, s.Options.Session.Loads) || s.Repeats != 3 {
			t.Errorf("%q: %d cells and %d repeats before UseQuick, want 6 for each load of a session, and 3", tt.quick, len(all), s.Repeats)
		}
		whole := s.Plan(s.Cells(nil))
		s.UseQuick()
		plan := s.Plan(s.Cells(nil))
		if len(plan) != tt.cells*tt.repeats || s.Repeats != tt.repeats {
			t.Errorf("%q: %d loads, want %d cells with %d repeats", tt.quick, len(plan), tt.cells, tt.repeats)
		}
		for _, p := range plan { // the part is measured as the whole measures it
			if !slices.ContainsFunc(whole, func(w study.PlannedLoad) bool {
				return w.Cell.Key() == p.Cell.Key() && w.Repeat == p.Repeat && w.Seed == p.Seed
			}) {
				t.Errorf("%q: the whole study has no repeat %d of %s with seed %d", tt.quick, p.Repeat, p.Cell.Key(), p.Seed)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	first, _ := builtin.File("first-look")
	for _, src := range []string{whole, small, compared, wholeStreams, string(first), "", "[", "a: &a [*a]", "a: {b: [c, {d: e}]}\n? f\n: g\n", "\t", "%YAML 1.2\n---\n", "- |\n a", "clock: [auto, [real]]", "servers: [{name: a, command: '{x}\n{', protocols: [[]]}]\nmatrix:\n  servers: [a, b]", "matrix:\n  visits: [0rtt]\n  strategies: [parallel-9, [x]]", "matrix:\n  networks: [{name: x, events: [{at: 1s, rate: -1}]}]",
		small + "  visits: [cached]\nsession: {loads: 5, every: 1s}\nquick: {loads: 2, only: [{network: cable}]}\nclaims: [{text: x, metric: plt, compare: {load: 2-5}, to: {load: 1}, ratio: below 1}]\n",
		"name: x\nrepeats: 1\nstream: {}\nupload: {}\ncrowd: {pages: 1, rest: 1s}\n", "matrix:\n  networks: [{name: x, ride: [x]}]"} {
		f.Add([]byte(src))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		var s *study.Study
		var err error
		// A study may have a million cells.
		limit := costtest.Limit{Fixed: 4 << 30, PerOctet: cost.PerOctet, Time: 5 * time.Millisecond}
		costtest.Check(t, len(src), limit, func() { s, err = Parse(filepath.Join(dir, "s.yaml"), src, words) })
		if err != nil {
			var errs Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("an error of another kind: %#v", err)
			}
			lines := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + 2
			for _, e := range errs {
				if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Message == "" {
					t.Errorf("%+v is not a place in a file of %d lines", e, lines)
				}
			}
			return
		}
		if s.Name == "" || s.Repeats < 1 || len(s.Cells(nil)) == 0 {
			t.Fatalf("accepted a study of nothing: %+v", s)
		}
		for _, p := range s.Networks {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTheReferenceShowsStudiesThatParse(t *testing.T) {
	page, err := os.ReadFile("../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(page), "```yaml\n")[1:]
	if len(examples) != 8 {
		t.Errorf("the reference shows %d studies, want 8", len(examples))
	}
	known := words
	known.Protocols, known.Loaders, known.SiteKnown, known.Windows = builtinWords.Protocols, builtinWords.Loaders, builtinWords.SiteKnown, builtinWords.Windows
	for _, example := range examples {
		src, _, _ := strings.Cut(example, "```")
		if _, err := Parse("docs/study.md", []byte(src), known); err != nil {
			t.Error(err)
		}
	}
	// The errors it shows are those of its first example, made wrong.
	src, _, _ := strings.Cut(examples[0], "```")
	src = strings.NewReplacer("h3]", "htp3]", "rate: 5mbit", "rate: -5mbit").Replace(src)
	_, err = Parse("study.yaml", []byte(src), words)
	if err == nil || !strings.Contains(string(page), "    "+strings.ReplaceAll(err.Error(), "\n", "\n    ")+"\n") {
		t.Errorf("the reference does not show the errors as they are:\n%v", err)
	}
}
