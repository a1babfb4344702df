package studyfile

import (
	"errors"
	"strings"
	"testing"
)

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
		{"places and a clock that is open", [2]string{"chromium]", "chromium]\n  at: [frankfurt]"}, "4:3", "at names places, but on the virtual clock a load is the same at every place; write clock: real"},
		{"places on the virtual clock", [2]string{"matrix:", "clock: [real, virtual]\nmatrix:\n  at: [frankfurt]"}, "5:3", "at names places, but on the virtual clock"},
		{"a place of two words", [2]string{"chromium]", "chromium]\n  at: [New York]"}, "8:8", `invalid place "New York": must be 1 to 40 of the characters a-z, 0-9 and -`},
		{"any place", [2]string{"chromium]", "chromium]\n  at: [any]"}, "8:8", `invalid place "any": this word stands for wherever the study runs`},
		{"a place twice", [2]string{"chromium]", "chromium]\n  at: [a, a]"}, "8:11", "duplicate a in at"},

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
		{"rate and ride", inline("rate: 1mbit, ride: x"), "6:46", "cannot be set beside ride"},
		{"a shared line of two rates", inline("shared: true, up: {rate: 1mbit}"), "6:14", "network \"mine\": access link \"access\": it is shared, but up and down differ in rate, trace or queue"},
		{"shared up", inline("up: {shared: true}"), "6:32", `unknown key "shared"`},
		{"a delay up and a ride", inline("ride: x, up: {delay: 1ms}"), "6:33", "cannot be set beside ride"},
		{"a ride that is not there", inline("ride: no.csv"), "6:33", "no.csv: no such file"},
		{"a ride that is none", inline("ride: parse_test.go"), "6:33", `parse ride "parse_test.go", line 1: begins with "package studyfile"`},
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

		{"a session of no load", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 0}"}, "9:18", `invalid loads of a session "0": want a whole number from 2 to 1000`},
		{"a session of more loads than anyone means", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 1000000000}"}, "9:18", `invalid loads of a session "1000000000"`},
		{"a session without its loads", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {every: 1s}"}, "9:10", "session has no loads; say how many"},
		{"a session of cold loads", [2]string{"matrix:", "session: {loads: 5}\nmatrix:"}, "3:10", "only the first load of a session is cold"},
		{"loads that start at the same moment", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5, every: 0}"}, "9:28", "every must be positive, as in 20s"},
		{"loads of a session over a handover", [2]string{"cable]\n  loaders: [chromium]", "{name: mine, access: [{name: a}, {name: b}], events: [{at: 1s, handover: b}]}]\n  loaders: [chromium]\n  visits: [cached]\nsession: {loads: 5, every: 1s}"}, "9:10", "every cannot be combined with a network that has handovers"},
		{"a load of no session", [2]string{"chromium]", "chromium]\nclaims: [{text: x, metric: plt, compare: {load: 2}, to: {load: 1}, ratio: below 1}]"}, "8:49", "the study has no load 2: each of its loads has a session of its own"},
		{"loads of a session that close its connections", [2]string{"chromium]", "chromium]\n  visits: [cached]\noptions: {tear_down: true}\nsession: {loads: 5}"}, "10:10", "whose connections the option tear_down closes"},
		{"a load beyond the session", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5}\nclaims: [{text: x, metric: plt, compare: {load: 2-6}, to: {load: 1}, ratio: below 1}]"}, "10:49", "the study has no load 6: its sessions have 5"},
		{"a load with a leading zero", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5}\nclaims: [{text: x, metric: plt, compare: {load: 02}, to: {load: 1}, ratio: below 1}]"}, "10:49", `invalid load "02": want a number from 1`},
		{"loads in a wrong order", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5}\nclaims: [{text: x, metric: plt, compare: {load: 5-2}, to: {load: 1}, ratio: below 1}]"}, "10:49", `invalid load "5-2": want a number from 1`},
		{"a session that lacks a load", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5}\nquick: {only: [{load: 2}]}"}, "10:23", "a session is measured as a whole; remove load"},
		{"a quick run of longer sessions", [2]string{"chromium]", "chromium]\n  visits: [cached]\nsession: {loads: 5}\nquick: {loads: 6}"}, "10:16", "want a whole number from 2 to 5"},
		{"fewer loads of no session", [2]string{"matrix:", "quick: {loads: 6}\nmatrix:"}, "3:16", "the study has no sessions; remove loads"},
		{"a statistic by another name", [2]string{"chromium]", "chromium]\nclaims: [{text: x, metric: plt, statistic: avg, compare: {protocol: h2}, to: {protocol: h3}, ratio: below 1}]"}, "8:44", `unknown statistic "avg": want median, mean, min, max, or a percentile from p1 to p99`},
		{"a percentile beyond the last", [2]string{"chromium]", "chromium]\npublished: [{source: x, metric: plt, statistic: p101, columns: [{protocol: h2}], rows: [{site: world-flags, network: cable, values: [1]}]}]"}, "8:49", `unknown statistic "p101"`},
		{"a quick run of no repeat", [2]string{"matrix:", "quick: {repeats: 0}\nmatrix:"}, "3:18", `invalid repeats of a quick run "0": want a whole number from 1 to 3`},
		{"a quick run of more repeats than the whole", [2]string{"matrix:", "quick: {repeats: 4}\nmatrix:"}, "3:18", "want a whole number from 1 to 3"},
		{"a quick run of nothing", [2]string{"matrix:", "quick: {only: []}\nmatrix:"}, "3:15", "only is empty; name cells"},
		{"a quick run of other cells", [2]string{"matrix:", "quick: {only: [{network: lte}]}\nmatrix:"}, "3:26", `the study has no network "lte"`},
		{"a misspelt key of a quick run", [2]string{"matrix:", "quick: {repeat: 1}\nmatrix:"}, "3:9", `unknown key "repeat" in quick; did you mean "repeats"?`},

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
