package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/network"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// TestUnsupported asks of cells on either clock whether they can run.
func TestUnsupported(t *testing.T) {
	r := &run{congestion: map[string][]string{study.ClockReal: {"reno", "cubic"}, study.ClockVirtual: {"cubic", "vegas"}}}
	for _, c := range []struct {
		protocol, loader, clock, congestion string
		why                                 string // a part of it; empty: it can run
	}{
		{"spdy/3.1", pageload.Chromium, study.ClockReal, "cubic", "Chromium dropped SPDY"},
		{"spdy/2", pageload.Chromium, study.ClockVirtual, "cubic", "use the loader builtin"},
		{"spdy/3.1", pageload.Firefox, study.ClockReal, "cubic", "Firefox in version 50"},
		{"h2", pageload.Firefox, study.ClockReal, "cubic", ""},
		{"h2", pageload.Firefox, study.ClockVirtual, "cubic", ""},
		{"spdy/3", pageload.Firefox, study.ClockVirtual, "cubic", "Firefox in version 50"},
		{"spdy/3.1", pageload.Fetch, study.ClockReal, "cubic", ""},
		{"spdy/3", pageload.Fetch, study.ClockVirtual, "cubic", ""},
		{"h2", pageload.Chromium, study.ClockVirtual, "cubic", ""},
		{"h2", pageload.Fetch, study.ClockReal, "vegas", `of the real clock has no congestion control "vegas"; it has reno, cubic`},
		{"h2", pageload.Fetch, study.ClockVirtual, "vegas", ""},
		{"h3", pageload.Chromium, study.ClockVirtual, "reno", `of the virtual clock has no congestion control "reno"`},
	} {
		j := pageJob(t, r, flags(t), network.Path{}, map[study.Axis]string{study.AxisProtocol: c.protocol, study.AxisLoader: c.loader, study.AxisClock: c.clock, study.AxisCongestion: c.congestion})
		why := r.unsupported(j)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
		if kept := len(r.supported([]*job{j})); (kept == 1) != (c.why == "") {
			t.Errorf("%+v: %d of 1 jobs are left for guests", c, kept)
		}
	}
}

// TestGuestsCannotRunEveryProgram asks on both clocks for a server whose program is in a folder
// that guests cannot access.
func TestGuestsCannotRunEveryProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	page, err := site.Objects(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	has := []string{"cubic"}
	r := &run{Config: Config{Servers: []server.Template{{Name: "mine", Protocols: []string{"h2"}, Command: []string{program}}}},
		congestion: map[string][]string{study.ClockReal: has, study.ClockVirtual: has}}
	for clock, want := range map[string]string{study.ClockReal: "", study.ClockVirtual: "guests of the virtual clock can only run programs in /usr and /opt"} {
		j := pageJob(t, r, page, network.Path{}, map[study.Axis]string{study.AxisProtocol: "h2", study.AxisLoader: pageload.Fetch, study.AxisClock: clock, study.AxisServer: "mine"})
		if why := r.unsupported(j); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s clock: %q, want %q", clock, why, want)
		}
	}
}
