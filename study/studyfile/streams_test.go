package studyfile

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/network"
	"wiretime/study"
)

// wholeStreams uses every key of a study of streams.
const wholeStreams = `name: streams
seed: 8
repeats: 5
clock: virtual
stream:
  rate: 50 Mbit/s
  period: 500ms
  duration: 30s
  window: 20s
  seeks: 30%
  start_at: 2
  resume_at: 3
  ahead: 12
  patience: 20s
  give_up: 40s
  access: [wlan, lte]
  capture: {octets: 0, packets: 1000}
matrix:
  media: [file@1MB, clip]
  transports: [tcp, sctp, quic]
  players: [download, paper]
  link_delays: [20ms, 0.05s]
  losses: [0%, 0.01]
  reconnections: [0, 2]
  strategies: [reconnect, 0-rtt, migrate, multihome]
  congestion: [cubic, bbr]
  initcwnd: [4]
  except: [{media: clip, player: download}, {media: file@1MB, player: paper}]
options: {timeout: 600s, retries: 1, late_limit: 2ms, tcp_rmem: [1, 2, 3], tcp_wmem: [4, 5, 6]}
published:
  - source: Somebody (2021), figure 8
    metric: ttd
    unit: s
    columns: [{transport: tcp}, {transport: quic}]
    rows:
      - {link_delay: 20ms, loss: 1%, reconnections: 2, media: file@1MB, strategy: reconnect, congestion: bbr, values: [2.5, 1.5]}
claims:
  - text: Migration recovers sooner.
    metric: recovery
    compare: {transport: quic, strategy: migrate}
    to: {transport: [quic, tcp], strategy: reconnect}
    for: {loss: 0, reconnections: 2, media: clip, congestion: cubic}
    ratio: below 1
`

// fewStreams is the least that a study of streams says.
const fewStreams = `name: few
repeats: 1
stream: {}
matrix:
  media: [file@1GB]
  transports: [tcp]
  players: [download]
  link_delays: [50ms]
`

func TestEveryKeyOfAStudyOfStreamsIsRead(t *testing.T) {
	s := parse(t, wholeStreams)
	want := study.Options{DNS: study.DNSEmulated, Fallback: study.FallbackNone, LateLimit: study.Late{P99: 2 * time.Millisecond}, TakenLimit: 0.05, Retries: 1, Timeout: 10 * time.Minute,
		TCPRmem: [3]int{1, 2, 3}, TCPWmem: [3]int{4, 5, 6},
		Stream: &study.Stream{
			Access: []string{"wlan", "lte"}, Rate: 50_000_000, Period: 500 * time.Millisecond, Duration: 30 * time.Second, Window: 20 * time.Second,
			Seeks: 0.3, StartAt: 2, ResumeAt: 3, Ahead: 12, Patience: 20 * time.Second, GiveUp: 40 * time.Second, Capture: study.Capture{Packets: 1000},
		}}
	if d := cmp.Diff(want, s.Options); d != "" {
		t.Error(d)
	}
	if s.Workload != study.Streams() || !cmp.Equal(s.Matrix[study.AxisMedia], []string{"file@1MB", "clip"}) || !cmp.Equal(s.Matrix[study.AxisTransport], []string{"tcp", "sctp", "quic"}) ||
		!cmp.Equal(s.Matrix[study.AxisPlayer], []string{"download", "paper"}) ||
		!cmp.Equal(s.Matrix[study.AxisStrategy], []string{"reconnect", "0-rtt", "migrate", "multihome"}) {
		t.Errorf("%+v", s)
	}
	var names []string
	for _, c := range s.Cells(nil) {
		if !slices.Contains(names, c.Network.Name) {
			names = append(names, c.Network.Name)
		}
	}
	if d := cmp.Diff([]string{"20ms", "20ms-2x", "20ms-1%", "20ms-1%-2x", "50ms", "50ms-2x", "50ms-1%", "50ms-1%-2x"}, names); d != "" {
		t.Error(d)
	}
	cells := s.Cells(nil)
	if d := cmp.Diff(study.Link{Delay: 50 * time.Millisecond, Loss: 0.01, Reconnections: 2}, cells[len(cells)-1].Link()); d != "" {
		t.Error(d)
	}
	if n := len(s.Cells(nil)); n != 2*8*2*3*4 {
		t.Errorf("%d cells", n)
	}
}

func TestDefaultsOfStreams(t *testing.T) {
	s := parse(t, fewStreams)
	want := study.Options{DNS: study.DNSEmulated, LateLimit: study.Late{P99: time.Millisecond}, TakenLimit: 0.05, Retries: 2, Timeout: time.Hour, Fallback: study.FallbackNone,
		TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304},
		Stream: &study.Stream{
			Access: []string{"AP1", "AP2"}, Rate: 100_000_000, Period: time.Second, Duration: time.Minute,
			StartAt: 1, ResumeAt: 2, Ahead: 10, Patience: 30 * time.Second, GiveUp: time.Minute, Capture: study.Capture{Octets: 128, Packets: 100_000},
		}}
	if d := cmp.Diff(want, s.Options); d != "" {
		t.Error(d)
	}
	cells := s.Cells(nil)
	if len(cells) != 1 || cells[0].On(study.AxisStrategy) != study.StrategyReconnect || cells[0].On(study.AxisCongestion) != "cubic" || cells[0].Clock() != study.ClockAuto ||
		cells[0].Link() != (study.Link{Delay: 50 * time.Millisecond}) {
		t.Errorf("%+v", cells)
	}
}

func TestTheKeyOfAStreamNamesAllItsAxes(t *testing.T) {
	s := parse(t, wholeStreams)
	keys := map[string]bool{}
	for _, c := range s.Cells(nil) {
		keys[c.Key()] = true
	}
	if len(keys) != len(s.Cells(nil)) {
		t.Errorf("%d cells have %d keys", len(s.Cells(nil)), len(keys))
	}
	const one = "media=clip transport=quic player=paper link_delay=50ms loss=1% reconnections=2 strategy=migrate congestion=bbr initcwnd=4 clock=virtual"
	if !keys[one] {
		t.Errorf("there is no cell %q", one)
	}
}

func TestThePathOfAStreamIsThatOfItsAverage(t *testing.T) {
	for _, c := range parse(t, wholeStreams).Cells(nil) {
		p := c.Network
		if err := p.Validate(); err != nil || len(p.Events) != 0 || len(p.Access) != 2 || p.Access[0].Name != "wlan" {
			t.Fatalf("%+v (%v)", p, err)
		}
		for _, a := range p.Access {
			for _, l := range []network.Link{a.Up, a.Down} {
				if l.Delay != c.Link().Delay || l.Loss.Rate != c.Link().Loss || l.Rate != 50_000_000 {
					t.Errorf("%s: %+v", p.Name, l)
				}
			}
		}
	}
}

func TestClaimsAndFiguresOfStreamsPickCells(t *testing.T) {
	s := parse(t, wholeStreams)
	cells := s.Cells(nil)
	figures := s.Published[0].Figures
	if len(figures) != 2 || figures[1].RowLabel != "file@1MB 20ms 1% loss 2 reconnections bbr reconnect" || figures[1].ColumnLabel != "quic" || figures[1].Value != 1500 {
		t.Errorf("%+v", figures)
	}
	picked := 0
	for _, c := range cells {
		if figures[1].Cell.Picks(c) {
			picked++
		}
	}
	if picked != 1 {
		t.Errorf("a figure picks %d cells", picked)
	}
	var got []string
	for _, p := range s.Claims[0].Pairs(cells) {
		got = append(got, strings.Join([]string{p[0].Network.Name, p[0].Over(), p[0].On(study.AxisStrategy), p[1].Network.Name, p[1].Over(), p[1].On(study.AxisStrategy)}, " "))
	}
	want := []string{
		"20ms-2x quic migrate 20ms-2x tcp reconnect", "20ms-2x quic migrate 20ms-2x quic reconnect",
		"50ms-2x quic migrate 50ms-2x tcp reconnect", "50ms-2x quic migrate 50ms-2x quic reconnect",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAStudyOfStreamsSaysWhereAndWhatToDo(t *testing.T) {
	settings := func(text string) [2]string { return [2]string{"{}", "{" + text + "}"} }
	after := func(line string) [2]string { return [2]string{"[50ms]\n", "[50ms]\n  " + line + "\n"} }
	tests := []struct {
		name     string
		edit     [2]string // old, new
		position string
		says     string
	}{
		{"no settings at all", [2]string{"{}", ""}, "3:1", "stream has no value"},
		{"a misspelt setting", settings("durations: 1s"), "3:10", `unknown key "durations" in stream; did you mean "duration"?`},
		{"a rate of another unit", settings("rate: 5mbps"), "3:16", `unknown unit "mbps"`},
		{"a viewing of no time", settings("duration: 0"), "3:20", "duration must be positive, as in 1m0s"},
		{"a window of no time", settings("window: 0"), "3:18", "window must be positive, as in 20s"},
		{"seeks that may be one in a hundred", settings("seeks: 1"), "3:17", `ambiguous seeks "1": all seconds or one in a hundred?`},
		{"a start beyond the buffer", settings("ahead: 5, start_at: 6"), "3:30", `invalid start_at "6": want a whole number from 1 to 5`},
		{"a buffer of one", settings("ahead: 1"), "3:17", `invalid ahead "1": want a whole number from 2 to 600`},
		{"no patience", settings("patience: 0"), "3:20", "patience must be positive"},
		{"three access links", settings("access: [a, b, c]"), "3:9", "3 access links: want one or two"},
		{"no access link", settings("access: []"), "3:18", "access is empty"},
		{"a change every microsecond", settings("period: 1us"), "3:9", "are more than 100000 changes; make the period longer"},
		{"headers that are cut", settings("capture: {octets: 20}"), "3:28", "invalid octets 20: would cut headers; want at least 120, or 0 to keep whole packets"},
		{"less than no packets", settings("capture: {packets: -1}"), "3:29", `invalid packets "-1": want a whole number from 0`},

		{"a misspelt medium", [2]string{"file@1GB", "clib"}, "5:11", `unknown media "clib"`},
		{"a misspelt transport", [2]string{"[tcp]", "[tpc]"}, "6:16", `unknown transport "tpc"; write one of tcp, sctp, quic`},
		{"a misspelt player", [2]string{"download", "dwnload"}, "7:13", `unknown player "dwnload"; did you mean "download"?`},
		{"a delay without unit", [2]string{"50ms", "50"}, "8:17", `invalid link_delays "50": want a number and a unit`},
		{"a delay beyond reason", [2]string{"50ms", "2h"}, "8:17", "is outside 0 to 1h0m0s"},
		{"a delay by two names", [2]string{"50ms", "50ms, 0.05s"}, "8:23", "duplicate 50ms in link_delays"},
		{"a loss that may be all", after("losses: [1]"), "9:12", `ambiguous losses "1": all packets`},
		{"a loss by two names", after("losses: [1%, 0.01]"), "9:16", "duplicate 1% in losses"},
		{"a rebinding without its moment", after("rebindings: [port]"), "9:16", `invalid rebinding "port": want what changes, port or address, and when, as in port@2s; or none`},
		{"a rebinding of something else", after("rebindings: [none, host@2s]"), "9:22", `invalid rebinding "host@2s"`},
		{"a rebinding by two names", after("rebindings: [port@2s, port@2000ms]"), "9:25", "duplicate port@2s in rebindings"},
		{"a misspelt manager", after("managers: [nod]"), "9:14", `unknown manager "nod"`},
		{"less than no reconnection", after("reconnections: [-1]"), "9:19", `invalid reconnections "-1"`},
		{"a loss in no direction", after("loss_directions: [up]"), "9:21", `unknown direction of loss "up"; write one of both, down`},
		{"a variation that there is not", after("delay_variations: [constant]"), "9:22", `unknown variation of the delay "constant"; write one of drawn, none`},
		{"more requests at once than streams", after("parallel: [1, 5]"), "9:17", `invalid number of requests at once "5": want a whole number from 1 to 4`},
		{"a setting of SACK that there is not", after("tcp_sack: [no]"), "9:14", `unknown setting of tcp_sack "no"`},
		{"a misspelt strategy", after("strategies: [0rtt]"), "9:16", `unknown strategy "0rtt"; did you mean "0-rtt"?`},
		{"a strategy of pages", after("strategies: [browser]"), "9:16", `unknown strategy "browser"; write one of reconnect, 0-rtt, migrate, multihome`},

		{"more reconnections than moments", after("reconnections: [0, 79, 80]"), "9:26", `plan network "50ms-80x": there is no room for 80 reconnections: with a period of 1s there are 79 moments for them`},
		{"reconnections in a short download", [2]string{"[file@1GB]", "[file@1MB]\n  reconnections: [1]"}, "6:19", "(the window of file@1MB is 80ms)"},
		{"reconnections with one access link", [2]string{"{}\nmatrix:\n", "{access: [AP1]}\nmatrix:\n  reconnections: [0, 2]\n"}, "5:22", `2 reconnections need two access links, and it has only "AP1"`},
		{"reconnections over links without a limit", [2]string{"{}\nmatrix:\n", "{rate: unlimited}\nmatrix:\n  reconnections: [0, 2]\n"}, "5:22", "need a window, because the links' rate is unlimited; set one under stream, as in window: 20s"},
		{"multihoming with one access link", [2]string{"{}\nmatrix:\n", "{access: [AP1]}\nmatrix:\n  strategies: [multihome]\n"}, "5:16", "multihome needs two access links, but the study has one"},
		{"a file that takes longer than the timeout", [2]string{"matrix:", "options: {timeout: 80s}\nmatrix:"}, "6:11", "file@1GB takes at least 1m20s at the links' rate of 100mbit, but the timeout is 1m20s; set a longer timeout in options"},
		{"a viewing that takes longer than the timeout", [2]string{"matrix:\n  media: [file@1GB]", "options: {timeout: 1m}\nmatrix:\n  media: [clip]"}, "6:11", "a viewing of clip takes 1m0s, but the timeout is 1m0s"},

		{"a site", after("sites: [world-flags]"), "9:10", "sites does not apply to studies of streams: streams have media, as in media: [file@1GB]; remove it"},
		{"a visit", after("visits: [cold]"), "9:11", "visits does not apply to studies of streams: every stream is cold"},
		{"servers", [2]string{"matrix:", "servers: [{name: a}]\nmatrix:"}, "4:10", "servers does not apply to studies of streams"},
		{"a look-up", [2]string{"matrix:", "options: {dns: instant}\nmatrix:"}, "4:16", "dns does not apply to studies of streams: a stream's client knows the server's address; remove it"},
		{"a processor", [2]string{"matrix:", "options: {cpu: {parse: 1us}}\nmatrix:"}, "4:16", "cpu does not apply to studies of streams"},
		{"an axis of pages in a selection", after("except: [{protocol: tcp}]"), "9:13", `unknown key "protocol" in a selection of cells`},
		{"a delay that the study has not", after("except: [{link_delay: 51ms}]"), "9:25", `the study has no link_delay "51ms"; did you mean "50ms"?`},
		{"a metric of pages", [2]string{"name: few", "name: few\nclaims: [{text: a, metric: plt, compare: {}, to: {}, ratio: below 1}]"}, "2:28", `unknown metric "plt"`},
		{"no media", [2]string{"  media: [file@1GB]\n", ""}, "5:3", "the matrix has no media; name at least one"},
		{"an axis of streams in a study of pages", [2]string{"stream: {}\n", ""}, "4:3", "media applies only to studies of streams; write stream: {} above the matrix to make this a study of streams, or remove it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(fewStreams, tt.edit[0]) {
				t.Fatalf("%q is not in the study", tt.edit[0])
			}
			_, err := Parse("study.yaml", []byte(strings.Replace(fewStreams, tt.edit[0], tt.edit[1], 1)), words)
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

// TestWhatVariesALink checks that the axes that vary a link make networks of their own, and that keys leave out what is usual.
func TestWhatVariesALink(t *testing.T) {
	s := parse(t, strings.Replace(fewStreams, "[50ms]\n", "[50ms]\n  losses: [1%]\n  loss_directions: [both, down]\n  delay_variations: [drawn, none]\n  parallel: [1, 4]\n  tcp_sack: [on, off]\n", 1))
	networks, keys := map[string]int{}, map[string]bool{}
	for _, c := range s.Cells(nil) {
		networks[c.Network.Name]++
		keys[c.Key()] = true
		if up := c.Network.Access[0].Up.Loss.Rate; (up == 0) != c.Link().LossDown {
			t.Errorf("%s loses %v of the packets of the client", c.Key(), up)
		}
	}
	if d := cmp.Diff(map[string]int{"50ms-1%": 4, "50ms-1%-down": 4, "50ms-1%-constant": 4, "50ms-1%-down-constant": 4}, networks); d != "" {
		t.Error(d)
	}
	const usual = "media=file@1GB transport=tcp player=download link_delay=50ms loss=1% reconnections=0 strategy=reconnect congestion=cubic initcwnd=10"
	for _, key := range []string{usual + " clock=auto", usual + " loss_direction=down delay_variation=none parallel=4 tcp_sack=off clock=auto"} {
		if !keys[key] {
			t.Errorf("no cell has the key %q: %v", key, keys)
		}
	}
}
