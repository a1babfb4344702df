package runner

import (
	"strings"
	"testing"

	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
)

// TestUnsupported asks of cells on either clock whether they can run.
func TestUnsupported(t *testing.T) {
	r := &run{congestion: map[string][]string{study.ClockReal: {"reno", "cubic"}, study.ClockVirtual: {"cubic", "vegas"}}}
	for _, c := range []struct {
		protocol, loader, clock, congestion string
		why                                 string // a part of it; empty: it can run
	}{
		{"spdy/3.1", station.Chromium, study.ClockReal, "cubic", "Chromium dropped SPDY"},
		{"spdy/2", station.Chromium, study.ClockVirtual, "cubic", "use the loader fetch"},
		{"spdy/3.1", station.Firefox, study.ClockReal, "cubic", "Firefox in version 50"},
		{"h2", station.Firefox, study.ClockReal, "cubic", ""},
		{"h2", station.Firefox, study.ClockVirtual, "cubic", "no guest of the virtual clock"},
		{"spdy/3.1", station.Fetch, study.ClockReal, "cubic", ""},
		{"spdy/3", station.Fetch, study.ClockVirtual, "cubic", ""},
		{"h2", station.Chromium, study.ClockVirtual, "cubic", ""},
		{"h2", station.Fetch, study.ClockReal, "vegas", `of the real clock has no congestion control "vegas"; it has reno, cubic`},
		{"h2", station.Fetch, study.ClockVirtual, "vegas", ""},
		{"h3", station.Chromium, study.ClockVirtual, "reno", `of the virtual clock has no congestion control "reno"`},
	} {
		j := &job{protocol: row(t, c.protocol), planned: store.Planned{Cell: store.Cell{Loader: c.loader, Clock: c.clock, Congestion: c.congestion}}}
		why := r.unsupported(j)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
		if kept := len(r.supported([]*job{j})); (kept == 1) != (c.why == "") {
			t.Errorf("%+v: %d of 1 jobs are left for guests", c, kept)
		}
	}
}
