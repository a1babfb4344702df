package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/media/record"
	"wiretime/needtest"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
)

// streamStudy is a study of streams on some clocks: downloads and viewings over several
// transports, with and without a reconnection.
const streamStudy = `name: streams
repeats: 1
clock: %s
stream: {rate: 20 Mbit/s, duration: 4s, seeks: 30%%, window: 2s}
matrix:
  media: [file@2MB, clip]
  transports: [tcp, sctp-udp, quic]
  players: [download, throughput]
  link_delays: [10ms]
  reconnections: [0, 1]
  except: [{media: clip, player: download}, {media: file@2MB, player: throughput}]
options: {late_limit: %s, taken_limit: 100%%}
claims:
  - {text: QUIC is there first., metric: ttd, compare: {transport: quic}, to: {transport: [tcp, sctp-udp]}, for: {media: file@2MB}, ratio: below 1}
`

// sameStreams compares the captures and records of two stores.
func sameStreams(t *testing.T, first, second string, loads int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(first, "loads", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		if name := filepath.Base(file); name != "load.pcapng" && name != "stream.json" {
			continue
		}
		compared++
		other := filepath.Join(second, strings.TrimPrefix(file, first))
		a, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(other); err != nil || string(a) != string(b) {
			t.Errorf("%s differs from %s (error %v)", file, other, err)
		}
	}
	if compared != 2*loads {
		t.Errorf("%d captures and records, want %d", compared, 2*loads)
	}
}

// TestStreamsOnTheVirtualClock runs a study of streams whole, and again with an
// interruption: what is measured is the same, to the nanosecond.
func TestStreamsOnTheVirtualClock(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", fmt.Sprintf(streamStudy, "virtual", "1ms"))
	r := u.run(t, "run", file, "--store", "whole", "--verify-determinism", "2")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if n := strings.Count(r.out, "the same in every metric and every byte"); n != 2 {
		t.Errorf("%d streams came out the same when run again, want 2:\n%s", n, r.out)
	}
	for _, text := range []string{
		"file@2MB over 10ms (download, cubic, initcwnd 10)", "clip over 10ms-1x (throughput, cubic, initcwnd 10)", "\ntransport  TTD, ms ", "\ntransport  Loading delay, ms ",
		"12 loads were measured in ", " Their streams took ", "QUIC is there first.", "\n0 of 12 loads used a protocol other",
	} {
		if !strings.Contains(r.out, text) {
			t.Errorf("%q is not in\n%s", text, r.out)
		}
	}
	if v := verdicts(t, filepath.Join(u.home, "whole")); v[store.Valid] != 12 {
		t.Errorf("verdicts %v, want 12 valid loads", v)
	}

	c := u.command(t.Context(), "run", file, "--store", "interrupted")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "[ 3/") {
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines.Scan() {
		said = lines.Text()
	}
	_ = c.Wait() // it says so itself
	if !strings.Contains(said, "was interrupted; go on with: wiretime run --resume --store interrupted") {
		t.Errorf("the run does not say how to go on: %s", said)
	}
	if r := u.run(t, "run", "--resume", "--store", "interrupted"); r.code != 0 {
		t.Fatalf("resume: exit code %d: %s", r.code, r.errors)
	}
	sameStreams(t, filepath.Join(u.home, "whole"), filepath.Join(u.home, "interrupted"), 12)
}

// TestStreamsOnTheRealClock runs a study of streams where there is no kernel for guests,
// and everything one does with its results.
func TestStreamsOnTheRealClock(t *testing.T) {
	t.Parallel()
	u := self(t)
	few := strings.NewReplacer("sctp-udp, quic]", "quic]", "sctp-udp", "tcp").Replace(streamStudy)
	r := u.run(t, "run", u.write(t, "study.yaml", fmt.Sprintf(few, "real", "1s")), "--store", "kept")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	dir := filepath.Join(u.home, "kept")
	if v := verdicts(t, dir); v[store.Valid] != 8 {
		t.Errorf("verdicts %v, want 8 valid loads", v)
	}
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		if l.Validity != store.Valid {
			continue
		}
		s, err := record.Read(filepath.Join(l.Artefacts, "stream.json"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Media != l.Cell.Subject() || s.Transport != l.Cell.Over() || s.Player != l.Cell.By() || s.Strategy != l.Cell.On(study.AxisStrategy) {
			t.Errorf("%s is a record of %s over %s by %s, %s", l.Cell.Key(), s.Media, s.Transport, s.Player, s.Strategy)
		}
		moved := 0
		for _, e := range s.Manager {
			if e.Access != "" {
				moved++
			}
		}
		if l.Cell.Workload != study.Streams() || moved != l.Cell.Link().Reconnections {
			t.Errorf("%s: %d reconnections", l.Cell.Key(), moved)
		}
		logs, err := filepath.Glob(filepath.Join(l.Artefacts, "client-*.sqlog"))
		if err != nil || (len(logs) > 0) != (l.Cell.Over() == "quic") {
			t.Errorf("%s has the logs %q (error %v)", l.Cell.Key(), logs, err)
		}
	}
	rows := u.values(t, "kept")
	if delays, counts := column(rows, "link_delay_ms"), column(rows, "reconnections"); !slices.Equal(delays, []string{"10"}) || !slices.Equal(counts, []string{"0", "1"}) {
		t.Errorf("exported are delays %q and reconnections %q", delays, counts)
	}
	shown := u.run(t, "show", loads[0].ID, "--store", "kept")
	for _, text := range []string{"10ms average one-way delay in each direction", "0% of packets, each independently", "Goodput", "stream.json", "load.pcapng"} {
		if !strings.Contains(shown.out, text) {
			t.Errorf("%q is not in\n%s%s", text, shown.out, shown.errors)
		}
	}
}

// TestAStudyOfStreamsIsCheckedBeforeItRuns gives what the program itself knows of
// streams.
func TestAStudyOfStreamsIsCheckedBeforeItRuns(t *testing.T) {
	t.Parallel()
	u := self(t)
	for _, c := range []struct{ old, new, says string }{
		{"sctp-udp, quic]", "sctpudp, quic]", `study.yaml:7:21: unknown transport "sctpudp"; did you mean "sctp-udp"?`},
		{"download, throughput]", "dash]", `study.yaml:8:13: unknown player "dash"; write one of download, paper, throughput, bola`},
		{"media: [file@2MB", "media: [file@2M", `study.yaml:6:11: media "file@2M", column 7: want B, kB, MB or GB after the size`},
		{"[0, 1]", "[0, 2]", `study.yaml:10:22: plan network "10ms-2x": there is no room for 2 reconnections`},
		{"metric: ttd", "metric: plt", `unknown metric "plt"`},
		{"options: {", "options: {dns: instant, ", `dns does not apply to studies of streams`},
	} {
		file := u.write(t, "study.yaml", fmt.Sprintf(strings.Replace(streamStudy, c.old, c.new, 1), "virtual", "1ms"))
		if r := u.run(t, "run", file, "--store", "none"); r.code != exitInput || !strings.Contains(r.errors, c.says) {
			t.Errorf("%s: exit code %d, want %d and %s:\n%s", c.new, r.code, exitInput, c.says, r.errors)
		}
	}
}

// TestResultsOfStreams shows tables of a run of streams: each with the figures that its
// streams have.
func TestResultsOfStreams(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	spec := store.RunSpec{StudyName: "streams", Metrics: []study.Metric{
		{Name: "ttd", Unit: "ms", Title: "TTD"}, {Name: "loading_delay", Unit: "ms", Title: "Loading delay"}, {Name: "goodput", Unit: "Mbit/s", Title: "Goodput"}}}
	var cells []study.Cell
	for _, c := range [][2]string{{"file@1MB", "download"}, {"clip", "paper"}} {
		for _, transport := range []string{"tcp", "quic"} {
			link := study.Link{Delay: 50 * time.Millisecond, Loss: 0.01}
			values := link.Values()
			values[study.AxisMedia], values[study.AxisPlayer], values[study.AxisTransport], values[study.AxisClock] = c[0], c[1], transport, "virtual"
			cells = append(cells, study.NewCell(study.Streams(), values, network.Path{Name: link.Name()}))
		}
	}
	fill(t, dir, spec, cells, 1, func(r *store.LoadRecord) {
		r.Values = map[string]float64{"loading_delay": 1234.5, "goodput": 12.25}
		if r.Planned.Cell.By() == "download" {
			r.Values = map[string]float64{"ttd": 5000 + float64(r.Planned.Index), "goodput": 8}
		}
	})
	r := self(t).run(t, "results", "--store", dir)
	squeezed := strings.Join(strings.FieldsFunc(r.out, func(r rune) bool { return r == ' ' }), " ")
	for _, text := range []string{
		"file@1MB over 50ms-1% (download, cubic, initcwnd 10), virtual clock\ntransport TTD, ms Goodput, Mbit/s n invalid failed unsupported\ntcp 5000 (5000..5000) 8.00 (8.00..8.00) 1 0 0 0\nquic 5001",
		"clip over 50ms-1% (paper, cubic, initcwnd 10), virtual clock\ntransport Loading delay, ms Goodput, Mbit/s n ",
		"12.25 (12.25..12.25)",
	} {
		if !strings.Contains(squeezed, text) {
			t.Errorf("%q is not in\n%s%s", text, r.out, r.errors)
		}
	}
}
