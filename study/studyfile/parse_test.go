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

	Transports:    []string{"tcp", "sctp", "quic"},
	Players:       []string{"download", "paper", "bola"},
	StreamMetrics: map[string]string{"ttd": "ms", "recovery": "ms", "goodput": "Mbit/s"},
	Media: func(ref string) (int64, error) {
		size, ok := map[string]int64{"clip": 0, "file@1GB": 1e9, "file@1MB": 1e6}[ref]
		if !ok {
			return 0, fmt.Errorf("unknown media %q", ref)
		}
		return size, nil
	},
}

// builtinWords are those of the built-in studies.
var builtinWords = Vocabulary{
	Protocols: append([]string{"spdy/3", "spdy/3.1"}, words.Protocols...),
	Loaders:   []string{"chromium", "fetch", "builtin"},
	SiteKnown: func(string) error { return nil },
	Strategy:  func(word string) (string, error) { return word, nil },
	Servers:   []string{"caddy"},
	Metrics:   map[string]string{"dcl": "ms", "onload": "ms", "plt": "ms", "tow": "ms"},

	Transports:    []string{"tcp", "tcp-clear", "mptcp", "sctp", "sctp-udp", "quic"},
	Players:       []string{"download", "paper"},
	StreamMetrics: map[string]string{"ttd": "ms", "loading_delay": "ms", "recovery": "ms"},
	Media: func(ref string) (int64, error) {
		size, ok := map[string]int64{"clip": 0, "file@10MB": 1e7, "file@100MB": 1e8, "file@200MB": 2e8, "file@1GB": 1e9}[ref]
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
  cpu: {parse: 20us, style: 10us, script: 100us, scale: 4.5}
  tcp_rmem: [1, 2, 3]
  tcp_wmem: [4, 4, 4]
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
			study.AxisSite: {"world-flags", "world-flags@4"}, study.AxisProtocol: {"h2", "h3"}, study.AxisNetwork: {"cable", "mine", "two-ways"},
			study.AxisLoader: {"chromium"}, study.AxisCongestion: {"cubic", "reno"}, study.AxisInitCwnd: {"4", "10"}, study.AxisClock: {study.ClockVirtual, study.ClockReal},
			study.AxisVisit: {study.VisitZeroRTT, study.VisitCold, study.VisitConnected}, study.AxisStrategy: {"parallel-6", study.StrategyBrowser}, study.AxisServer: {"nginx", "mine", study.ServerOwn},
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
		OwnServers: []study.Server{
			{Name: "mine", Command: []string{"prog", "--root", "{folder}", "--listen", "{address}:{port}"}, Protocols: []string{"h2", "https/1.1"}},
			{Name: "other", Command: []string{"other", "with blanks", "{folder}"}, Protocols: []string{"http/1.1"}},
		},
		Options: study.Options{DNS: study.DNSInstant, LateLimit: study.Late{P99: 500 * time.Microsecond}, TakenLimit: 0.03, Timeout: 10 * time.Second, ThinkTime: 1500 * time.Millisecond, Fallback: study.FallbackH2,
			ServerWait: true, OriginRTT: true, Freeze: true,
			CPU:     study.CPU{Parse: 20 * time.Microsecond, Style: 10 * time.Microsecond, Script: 100 * time.Microsecond, Scale: 4.5},
			TCPRmem: [3]int{1, 2, 3}, TCPWmem: [3]int{4, 4, 4}},
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

// small is a right study; each case below makes one thing of it wrong.
const small = `name: small
repeats: 3
matrix:
  sites: [world-flags]
  protocols: [http/1.1, h2, h3]
  networks: [3g-weak, cable]
  loaders: [chromium]
`

func replace(t *testing.T, old, new string) string {
	t.Helper()
	if !strings.Contains(small, old) {
		t.Fatalf("%q is not in the small study", old)
	}
	return strings.Replace(small, old, new, 1)
}

func TestParseSaysWhereAndWhatToDo(t *testing.T) {
	own := func(servers string) [2]string { return [2]string{"matrix:", "servers: [" + servers + "]\nmatrix:"} }
	inline := func(fields string) [2]string {
		return [2]string{"[3g-weak, cable]", "[{name: mine, " + fields + "}]"}
	}
	tests := []struct {
		name     string
		edit     [2]string // old, new
		position string
		says     string
	}{
		{"a misspelt protocol", [2]string{"h3]", "htp3]"}, "5:29", `unknown protocol "htp3"; did you mean "h3"?`},
		{"a protocol like none", [2]string{"h3]", "gopher]"}, "5:29", `unknown protocol "gopher"; write one of http/1.1, https/1.1, h2, h3`},
		{"a misspelt site", [2]string{"[world-flags]", "[world-flag]"}, "4:11", `unknown site "world-flag": the nearest name is "world-flags"`},
		{"a misspelt loader", [2]string{"chromium", "cromium"}, "7:13", `unknown loader "cromium"; did you mean "chromium"?`},
		{"an unknown profile", [2]string{"cable]", "cabel]"}, "6:23", `unknown network "cabel"; did you mean "cable"?`},
		{"a misspelt congestion control", [2]string{"chromium]", "chromium]\n  congestion: [cubc]"}, "8:16", `unknown congestion control "cubc"; did you mean "cubic"?`},
		{"an initial window of zero", [2]string{"chromium]", "chromium]\n  initcwnd: [10, 0]"}, "8:18", `invalid initcwnd "0": want a whole number from 1 to 1000`},
		{"a misspelt key", [2]string{"repeats", "repeat"}, "2:1", `unknown key "repeat" in the study; did you mean "repeats"?`},
		{"a misspelt axis", [2]string{"networks", "network"}, "6:3", `unknown key "network" in the matrix; did you mean "networks"?`},
		{"a misspelt option", [2]string{"matrix:", "options:\n  retrys: 1\nmatrix:"}, "4:3", `unknown key "retrys" in options; did you mean "retries"?`},

		{"no name", [2]string{"name: small\n", ""}, "1:1", "the study has no name; name it"},
		{"a name with a slash", [2]string{"name: small", "name: a/b"}, "1:7", `the study's name "a/b" is invalid: want up to 64 letters`},
		{"no repeats", [2]string{"repeats: 3\n", ""}, "1:1", "the study has no repeats; say how often"},
		{"no repeat", [2]string{"repeats: 3", "repeats: 0"}, "2:10", `invalid repeats "0": want a whole number from 1`},
		{"negative repeats", [2]string{"repeats: 3", "repeats: -1"}, "2:10", `invalid repeats "-1": want a whole number from 1`},
		{"half a repeat", [2]string{"repeats: 3", "repeats: 2.5"}, "2:10", `invalid repeats "2.5": want a whole number`},
		{"more loads than anyone means", [2]string{"repeats: 3", "repeats: 1000000"}, "2:10", "6 cells with 1000000 repeats each exceed the limit of 1000000 loads"},
		{"a negative seed", [2]string{"repeats: 3", "repeats: 3\nseed: -1"}, "3:7", `invalid seed "-1": want a whole number from 0`},

		{"a misspelt clock", [2]string{"matrix:", "clock: virtul\nmatrix:"}, "3:8", `unknown clock "virtul"; did you mean "virtual"?`},
		{"a clock like none", [2]string{"matrix:", "clock: [real, sundial]\nmatrix:"}, "3:15", `unknown clock "sundial"; write one of real, virtual, auto`},
		{"auto among clocks", [2]string{"matrix:", "clock: [real, auto]\nmatrix:"}, "3:15", "auto cannot be combined with other clocks; write clock: auto"},
		{"a clock twice", [2]string{"matrix:", "clock: [real, real]\nmatrix:"}, "3:15", "duplicate real in clock"},
		{"no clock at all", [2]string{"matrix:", "clock: []\nmatrix:"}, "3:8", "clock is empty; name at least one"},
		{"a mapping of clocks", [2]string{"matrix:", "clock: {real: yes}\nmatrix:"}, "3:8", "a clock must be a single value, not a mapping of keys and values"},

		{"a misspelt visit", [2]string{"chromium]", "chromium]\n  visits: [cold, resumd]"}, "8:18", `unknown visit "resumd"; did you mean "resumed"?`},
		{"a visit like none", [2]string{"chromium]", "chromium]\n  visits: [warm]"}, "8:12", `unknown visit "warm"; write one of cold, resumed, 0rtt, connected, cached`},
		{"a visit twice", [2]string{"chromium]", "chromium]\n  visits: [0rtt, 0rtt]"}, "8:18", "duplicate 0rtt in visits"},
		{"no visit", [2]string{"chromium]", "chromium]\n  visits: []"}, "8:11", "visits is empty; name at least one"},
		{"an unknown strategy", [2]string{"chromium]", "chromium]\n  strategies: [browser, hasty]"}, "8:25", `unknown strategy "hasty"`},
		{"a strategy by two names", [2]string{"chromium]", "chromium]\n  strategies: [parallel, parallel-6]"}, "8:26", "duplicate parallel-6 in strategies"},
		{"a misspelt server", [2]string{"chromium]", "chromium]\n  servers: [ngnix]"}, "8:13", `unknown server "ngnix"; did you mean "nginx", or describe it under servers`},
		{"a server like none", [2]string{"chromium]", "chromium]\n  servers: [wiretime, iis]"}, "8:23", `unknown server "iis"; write one of wiretime, nginx, caddy, or describe it under servers`},
		{"a server twice", [2]string{"chromium]", "chromium]\n  servers: [nginx, nginx]"}, "8:20", "duplicate nginx in servers"},
		{"a server of the study's own that has no name", own(`{command: prog, protocols: [h2]}`), "3:11", "a server has no name; name it"},
		{"a server of the study's own that is there", own(`{name: nginx, command: prog, protocols: [h2]}`), "3:18", "the server name nginx is taken"},
		{"two servers of one name", own(`{name: a, command: prog, protocols: [h2]}, {name: a, command: prog, protocols: [h2]}`), "3:61", "the server name a is taken"},
		{"a server without a command", own(`{name: a, protocols: [h2]}`), "3:11", "a server has no command; write what starts it"},
		{"a server without a program", own(`{name: a, command: " ", protocols: [h2]}`), "3:30", "the command has no program"},
		{"a server that serves nothing", own(`{name: a, command: prog}`), "3:11", "a server has no protocols; list those it serves, as in protocols: [h2]"},
		{"a server of an unknown protocol", own(`{name: a, command: prog, protocols: [h4]}`), "3:48", `unknown protocol "h4"`},
		{"a misspelt placeholder", own(`{name: a, command: "prog {foldr} {port}", protocols: [h2]}`), "3:36", `unknown placeholder {foldr}; did you mean "folder"?`},
		{"a misspelt placeholder in plain text", [2]string{"matrix:", "servers:\n  - name: a\n    command: prog {folder} {prt}\n    protocols: [h2]\nmatrix:"}, "5:28", `unknown placeholder {prt}; did you mean "port"?`},
		{"a misspelt placeholder in a block", [2]string{"matrix:", "servers:\n  - name: a\n    command: >\n      prog\n      {prt}\n    protocols: [h2]\nmatrix:"}, "5:14", `unknown placeholder {prt}`},
		{"a placeholder like none", own(`{name: a, command: [prog, "é{x}"], protocols: [h2]}`), "3:39", `unknown placeholder {x}; write one of folder, address, port`},

		{"a strategy that is a list", [2]string{"chromium]", "chromium]\n  strategies: [[browser]]"}, "8:16", "a strategy must be a single value, not a list"},

		{"an empty matrix", [2]string{small[strings.Index(small, "matrix"):], "matrix: {}\n"}, "3:9", "the matrix has no sites; name at least one"},
		{"a matrix without a value", [2]string{small[strings.Index(small, "matrix"):], "matrix:\n"}, "3:1", "matrix has no value"},
		{"a matrix that is a word", [2]string{small[strings.Index(small, "matrix"):], "matrix: all\n"}, "3:9", `the matrix must hold keys and values, not the word "all"; the keys are sites, protocols`},
		{"an empty axis", [2]string{"[http/1.1, h2, h3]", "[]"}, "5:14", "protocols is empty; name at least one"},
		{"an axis without a value", [2]string{"[http/1.1, h2, h3]", ""}, "5:3", "protocols has no value"},
		{"an axis that is a word", [2]string{"[http/1.1, h2, h3]", "h2"}, "5:14", `protocols must be a list, as in [a, b], not the word "h2"`},
		{"a cell twice", [2]string{"h3]", "h2]"}, "5:29", "duplicate h2 in protocols (first on line 5)"},
		{"a network twice", [2]string{"cable]", "{name: mine}, {name: mine}]"}, "6:37", "duplicate mine in networks"},

		{"a negative rate", inline("rate: -5mbit"), "6:33", "must not be negative; write it like 5mbit"},
		{"a negative rate without unit", inline("rate: -5"), "6:33", "must not be negative; write it like 5mbit"},
		{"a rate of another unit", inline("rate: 5mbps"), "6:33", `unknown unit "mbps"`},
		{"a misspelt link key", inline("rates: 5mbit"), "6:27", `unknown key "rates" in the network; did you mean "rate"?`},
		{"a misspelt key of a direction", inline("up: {los: 1%}"), "6:32", `unknown key "los" in up; did you mean "loss"?`},
		{"a network without name", [2]string{"cable]", "{rate: 5mbit}]"}, "6:23", "the network has no name; name it"},
		{"a network named like a profile", [2]string{"cable]", "{name: lte}]"}, "6:30", `"lte" is already the name of a built-in profile`},
		{"a time without unit", inline("rtt: 100"), "6:32", `invalid rtt "100": want a number and a unit`},
		{"a negative time", inline("delay: -1ms"), "6:34", "invalid delay -1ms: must not be negative"},
		{"a delay beyond reason", inline("delay: 2h"), "6:14", "a delay of 2h0m0s is outside 0 to 1h0m0s"},
		{"rtt and delay", inline("rtt: 1ms, delay: 1ms"), "6:32", "keep one (delay is one-way, half of rtt)"},
		{"a loss of one", inline("loss: 1"), "6:33", `ambiguous loss "1": all packets or one in a hundred?`},
		{"a loss above all", inline("loss: 101%"), "6:33", `invalid loss "101%": want a share of packets`},
		{"a loss that is not a number", inline("loss: nan"), "6:33", `invalid loss "nan": want a share of packets`},
		{"two losses", inline("loss: 1%, gilbert_elliott: {p: 1%, r: 1%}"), "6:54", "keep one"},
		{"half a chain", inline("gilbert_elliott: {p: 1%}"), "6:44", "gilbert_elliott has no r"},
		{"a queue without unit", inline("queue: 64"), "6:34", `invalid queue "64": want bytes (B, kB, MB; k = 1000) or packets`},
		{"a queue too short", inline("queue: 100B"), "6:14", "a queue of 100 bytes never holds a full packet"},
		{"rate and trace", inline("rate: 1mbit, trace: x"), "6:47", "keep one"},
		{"a trace that is not there", inline("trace: no.trace"), "6:34", "no.trace: no such file"},
		{"a trace that is a folder", inline("trace: ."), "6:34", "not a file"},
		{"a trace that is none", inline("trace: parse_test.go"), "6:34", `parse trace "parse_test.go", line 1`},
		{"a link beside access links", inline("rate: 1mbit, access: [{name: a}]"), "6:33", "rate cannot be set beside access; set it inside each access link"},
		{"no access link", inline("access: []"), "6:14", "it has no access link"},
		{"an event at no time", inline("events: [{outage: 1s}]"), "6:36", "the event has no at; set a time"},
		{"an outage of no length", inline("events: [{at: 1s, outage: 0}]"), "6:14", "event 1 at 1s: it changes nothing"},
		{"a misspelt direction", inline("events: [{at: 1s, loss: 0, direction: don}]"), "6:65", `unknown direction "don"; did you mean "down"?`},

		{"a misspelt kind of dns", [2]string{"matrix:", "options: {dns: emulatd}\nmatrix:"}, "3:16", `unknown kind of dns "emulatd"; did you mean "emulated"?`},
		{"a misspelt fallback", [2]string{"matrix:", "options: {fallback: non}\nmatrix:"}, "3:21", `unknown fallback "non"; did you mean "none"?`},
		{"a wait that nobody recorded", [2]string{"matrix:", "options: {server_wait: 50ms}\nmatrix:"}, "3:24", `unknown server_wait "50ms"; write one of none, recorded`},
		{"a misspelt round trip", [2]string{"matrix:", "options: {origin_rtt: record}\nmatrix:"}, "3:23", `unknown origin_rtt "record"; did you mean "recorded"?`},
		{"a frozen clock in words", [2]string{"matrix:", "options: {freeze: recorded}\nmatrix:"}, "3:19", `freeze must be true or false, not the word "recorded"`},
		{"a fallback to what no server has", [2]string{"matrix:", "options: {fallback: spdy/2}\nmatrix:"}, "3:21", `unknown fallback "spdy/2"; write one of none, h2`},
		{"time that parsing gives back", [2]string{"matrix:", "options: {cpu: {parse: -1us}}\nmatrix:"}, "3:24", "invalid parse -1µs: must not be negative"},
		{"a processor that is no slower", [2]string{"matrix:", "options: {cpu: {script: 50us, scale: 0}}\nmatrix:"}, "3:38", "want a number above 0, at most 1000"},
		{"a processor that is unknown", [2]string{"matrix:", "options: {cpu: {scripts: 50us}}\nmatrix:"}, "3:17", `did you mean "script"?`},
		{"no time to think", [2]string{"matrix:", "options: {think_time: -1s}\nmatrix:"}, "3:23", "invalid think_time -1s: must not be negative"},
		{"a share without its sign", [2]string{"matrix:", "options: {late_limit: 0.01}\nmatrix:"}, "3:23", `invalid late_limit "0.01": want a share of onLoad, as in 1%, or a time, as in 1ms`},
		{"a share of nothing", [2]string{"matrix:", "options: {taken_limit: 0%}\nmatrix:"}, "3:24", "taken_limit must be positive, as in 1%"},
		{"a limit of zero", [2]string{"matrix:", "options: {late_limit: 0}\nmatrix:"}, "3:23", "late_limit must be positive, as in 1ms"},
		{"a buffer of two numbers", [2]string{"matrix:", "options: {tcp_rmem: [1, 2]}\nmatrix:"}, "3:21", "tcp_rmem has 2 numbers; want three: minimum, default and maximum"},
		{"a buffer that decreases", [2]string{"matrix:", "options: {tcp_wmem: [3, 2, 1]}\nmatrix:"}, "3:21", "tcp_wmem must not decrease"},

		{"an empty file", [2]string{small, ""}, "1:1", "the file is empty"},
		{"only a comment", [2]string{small, "# soon\n"}, "1:1", "the file is empty"},
		{"a list", [2]string{small, "- a\n"}, "1:1", "the study must hold keys and values, not a list; the keys are name"},
		{"two documents", [2]string{small, "name: a\n---\nname: b\n"}, "2:1", "keep one study per file"},
		{"a key twice", [2]string{"repeats: 3", "repeats: 3\nrepeats: 4"}, "3:1", `not YAML: mapping key "repeats" already defined`},
		{"a bracket left open", [2]string{"h3]", "h3"}, "6:3", "not YAML: ',' or ']' must be specified"},
		{"a tab", [2]string{"  sites", "\tsites"}, "4:1", "not YAML"},
		{"an alias", [2]string{"name: small", "name: &n small"}, "1:7", "write the value out"},
		{"a tag", [2]string{"name: small", "name: !!str small"}, "1:7", "write plain keys and values"},
		{"text that is not UTF-8", [2]string{"name: small", "name: sm\xe4ll"}, "1:1", "save the file as UTF-8"},
		{"a file of another kind", [2]string{small, strings.Repeat("x", MaxSource+1)}, "1:1", "is it the right file?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("study.yaml", []byte(replace(t, tt.edit[0], tt.edit[1])), words)
			var errs Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("got %v, want an error", err)
			}
			for _, e := range errs {
				if strings.HasPrefix(e.Error(), "study.yaml:"+tt.position+": ") && strings.Contains(e.Message, tt.says) {
					return
				}
			}
			t.Errorf("got\n%v\nwant study.yaml:%s: ...%s", err, tt.position, tt.says)
		})
	}
}

func TestEverythingWrongIsSaidAtOnceInOrder(t *testing.T) {
	src := `name: x y
repeats: none
matrix:
  sites: [world-flags]
  protocols: [h2, h4, h5]
  networks:
    - cabel
    - name: mine
      rate: fast
      loss: 200%
  loader: [chromium]
options: {timeout: never}
`
	_, err := Parse("dir/s.yaml", []byte(src), words)
	want := []string{
		`dir/s.yaml:1:7: the study's name "x y"`,
		`dir/s.yaml:2:10: invalid repeats "none"`,
		`dir/s.yaml:4:3: the matrix has no loaders`,
		`dir/s.yaml:5:19: unknown protocol "h4"`,
		`dir/s.yaml:5:23: unknown protocol "h5"`,
		`dir/s.yaml:7:7: unknown network "cabel"`,
		`dir/s.yaml:9:13: parse rate "fast"`,
		`dir/s.yaml:10:13: invalid loss "200%"`,
		`dir/s.yaml:11:3: unknown key "loader" in the matrix; did you mean "loaders"?`,
		`dir/s.yaml:12:20: invalid timeout "never"`,
	}
	if err == nil {
		t.Fatal("parsed")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d errors, want %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("error %d is %s, want %s", i, line, want[i])
		}
	}
}

// A workload that is added to study needs a kind, which reads all its axes.
func TestEveryWorkloadHasAKindThatReadsItsAxes(t *testing.T) {
	var workloads []*study.Workload
	for _, k := range kinds {
		workloads = append(workloads, k.workload)
		for _, a := range k.workload.Axes {
			if (k.values[a.Axis] == nil) != (a.Axis == study.AxisClock) {
				t.Errorf("%s: no value can be read on the axis %s, or the matrix has a clock", k.workload.Name, a.Axis)
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
		if name == "first-look" && (len(s.Cells(nil)) != 12 || s.Repeats != 3) {
			t.Errorf("first-look has %d cells, %d repeats; want 12 and 3", len(s.Cells(nil)), s.Repeats)
		}
	}
}

func FuzzParse(f *testing.F) {
	first, _ := builtin.File("first-look")
	for _, src := range []string{whole, small, compared, wholeStreams, string(first), "", "[", "a: &a [*a]", "a: {b: [c, {d: e}]}\n? f\n: g\n", "\t", "%YAML 1.2\n---\n", "- |\n a", "clock: [auto, [real]]", "servers: [{name: a, command: '{x}\n{', protocols: [[]]}]\nmatrix:\n  servers: [a, b]", "matrix:\n  visits: [0rtt]\n  strategies: [parallel-9, [x]]", "matrix:\n  networks: [{name: x, events: [{at: 1s, rate: -1}]}]"} {
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
	if len(examples) != 4 {
		t.Errorf("the reference shows %d studies, want 4", len(examples))
	}
	for _, example := range examples {
		src, _, _ := strings.Cut(example, "```")
		if _, err := Parse("docs/study.md", []byte(src), words); err != nil {
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
