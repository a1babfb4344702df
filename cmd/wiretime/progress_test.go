package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
	"wiretime/terminal"
	"wiretime/terminal/terminaltest"
)

// TestProgressOnATerminal follows a run in one line: what is being loaded, what is done, and how long the rest will take.
func TestProgressOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("LC_ALL", "C.UTF-8")
	s := &study.Study{Name: "s", Workload: study.Pages()}
	h2 := pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "virtual"})
	h3 := pageCell(map[study.Axis]string{study.AxisProtocol: "h3", study.AxisClock: "virtual"})
	attempt := func(done int, v store.Validity, reason string, left time.Duration) runner.Attempt {
		return runner.Attempt{Cell: h2, Validity: v, Reason: reason, Headline: "onload", Value: 1234, Done: done, Planned: 12, Remaining: left}
	}
	on := terminaltest.Open(t, 80)
	out, errs := terminal.NewWriters(on.Side, on.Side)
	p := newProgress(errs, s, false, false)
	for _, step := range []struct {
		do    func()
		shows string
	}{
		{func() { p.underWay([]study.Cell{h2, h3}) }, "cable page h2, cable page h3"},
		{func() { p.attempt(attempt(1, store.Valid, "", 90*time.Second)) }, "s left  cable page h2, cable page h3"},
		{func() { p.attempt(attempt(1, store.Invalid, "late", 9*time.Second)) }, "s left  1 invalid  cable page h2, cable page h3"},
		{func() { p.attempt(attempt(1, store.Failed, "the browser\x1b[2J died", 8*time.Second)) }, "s left  1 failed  1 invalid  cable page h2, cable page h3"},
		{func() { p.underWay([]study.Cell{h3}) }, "s left  1 failed  1 invalid  cable page h3"},
		{func() { on.Resize(t, 40); p.attempt(attempt(11, store.Unsupported, "no", 0)) }, "\r\x1b[K[11/12]  about 1s left  1 failed  1 in…"},
		{func() { p.attempt(attempt(12, store.Failed, "the browser\x1b[2J died", 0)) }, "\r\x1b[K[12/12]  2 failed  1 invalid  1 unsupp…"},
	} {
		step.do()
		on.Await(t, step.shows)
	}
	p.end()
	if _, err := out.Write([]byte("the results\n")); err != nil {
		t.Fatal(err)
	}
	shown := on.Close()
	if !strings.HasSuffix(shown, "\r\x1b[Kthe results\r\n") {
		t.Errorf("the line is still there: %q", shown)
	}
	if !regexp.MustCompile(`\x1b\[K\[ 1/12\]  about 1m(30|2\d)s left  cable page h2`).MatchString(shown) {
		t.Errorf("the time left is not in %q", shown)
	}
	failure := `failed: the browser\x1b[2J died`
	if n := strings.Count(shown, failure); n != 1 || strings.Count(shown, "\n") != 2 {
		t.Errorf("the failure has %d lines, want one, and nothing else but the results: %q", n, shown)
	}
}

// TestProgressElsewhere: in a file, and on a terminal if it is asked for, each attempt has a line.
func TestProgressElsewhere(t *testing.T) {
	t.Setenv("TERM", "xterm")
	s := &study.Study{Name: "s", Workload: study.Pages()}
	cell := pageCell(map[study.Axis]string{study.AxisProtocol: "h2", study.AxisClock: "virtual"})
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	show := func(to *os.File, all, relayed bool) {
		_, errs := terminal.NewWriters(to, to)
		p := newProgress(errs, s, all, relayed)
		p.underWay([]study.Cell{cell})
		p.attempt(runner.Attempt{Cell: cell, Validity: store.Valid, Headline: "onload", Value: 1234, Done: 1, Planned: 2, Remaining: time.Minute})
		p.end()
	}
	const line = "[1/2] cable      page         h2        onLoad    1.234 s  (about 1m0s left)"
	on := terminaltest.Open(t, 40)
	show(on.Side, true, false)
	if got := on.Close(); got != line+"\r\n" {
		t.Errorf("a terminal shows %q", got)
	}
	show(file, false, false)
	show(file, false, true)
	got, err := os.ReadFile(file.Name())
	if want := line + "\n\tcable page h2\n\t[1/2]  about 1m0s left  cable page h2\n"; err != nil || string(got) != want {
		t.Errorf("a file gets %q, %v; want %q", got, err, want)
	}
}

// TestRelayedRun shows on a terminal what another program says of a run.
func TestRelayedRun(t *testing.T) {
	on := terminaltest.Open(t, 40)
	t.Setenv("TERM", "xterm")
	_, errs := terminal.NewWriters(on.Side, on.Side)
	r := relay(errs)
	for _, said := range []string{"Run 1 of st", "udy x\n\t[1/2]  cab", "le page h2\n", "\t[2/2]\nwiretime: the end"} {
		if _, err := r.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
	}
	r.end()
	shown := on.Close()
	var left []string // of each line, what is not overwritten
	for line := range strings.Lines(shown) {
		left = append(left, regexp.MustCompile(`.*\r\x1b\[K`).ReplaceAllString(strings.TrimSuffix(line, "\r\n"), ""))
	}
	if got := strings.Join(left, "|"); got != "Run 1 of study x|wiretime: the end" {
		t.Errorf("what stays is %q, of %q", got, shown)
	}
	if !strings.Contains(shown, "\r\x1b[K[1/2]  cable page h2") {
		t.Errorf("the run's line is not in %q", shown)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, errs := terminal.NewWriters(file, file); relay(errs) != nil {
		t.Error("a file has a line that changes")
	}
}

// TestRunOnATerminal measures two loads: the results stay, and no line for a load.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", "name: small\nrepeats: 1\nclock: virtual\nmatrix: {sites: [page], protocols: [h2, h3], networks: [cable], loaders: [builtin]}\n")
	shown := u.onTerminal(t, "run", file)
	if !strings.Contains(shown, "\r\x1b[K[1/2]  about ") || !strings.Contains(shown, "2 of 2 loads done.") || strings.Contains(shown, "[1/2] cable") {
		t.Errorf("the terminal shows %q", shown)
	}
	shown = u.onTerminal(t, "run", file, "-v", "--store", "other")
	if !strings.Contains(shown, "[1/2] cable") || strings.Contains(shown, "\x1b[K") {
		t.Errorf("with -v, the terminal shows %q", shown)
	}
}

// TestScheduleOnATerminal: the run of each slot shows its line on the schedule's terminal, and none of its loads leaves one there.
func TestScheduleOnATerminal(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addWeek(t, 1)
	shown := u.onTerminal(t, "schedule", "week.yaml")
	for _, want := range []string{"Slot 6 of 6, ", "\r\x1b[K[1/1]", "6 done, 0 failed"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %q", want, shown)
		}
	}
	if strings.Contains(shown, "[1/1] slower") || strings.Contains(shown, relayMark+"[") {
		t.Errorf("a load has left a line: %q", shown)
	}
}
