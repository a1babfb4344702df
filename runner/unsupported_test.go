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
		{"spdy/2", station.Chromium, study.ClockVirtual, "cubic", "use the loader builtin"},
		{"spdy/3.1", station.Firefox, study.ClockReal, "cubic", "Firefox in version 50"},
		{"h2", station.Firefox, study.ClockReal, "cubic", ""},
		{"h2", station.Firefox, study.ClockVirtual, "cubic", "not supported on the virtual clock"},
		{"spdy/3.1", station.Fetch, study.ClockReal, "cubic", ""},
		{"spdy/3", station.Fetch, study.ClockVirtual, "cubic", ""},
		{"h2", station.Chromium, study.ClockVirtual, "cubic", ""},
		{"h2", station.Fetch, study.ClockReal, "vegas", `of the real clock has no congestion control "vegas"; it has reno, cubic`},
		{"h2", station.Fetch, study.ClockVirtual, "vegas", ""},
		{"h3", station.Chromium, study.ClockVirtual, "reno", `of the virtual clock has no congestion control "reno"`},
	} {
		j := &job{protocol: row(t, c.protocol), site: flags(t), planned: store.Planned{Cell: pageCell(map[study.Axis]string{study.AxisLoader: c.loader, study.AxisClock: c.clock, study.AxisCongestion: c.congestion, study.AxisVisit: study.VisitCold, study.AxisStrategy: study.StrategyBrowser})}}
		why := r.unsupported(j)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
		if kept := len(r.supported([]*job{j})); (kept == 1) != (c.why == "") {
			t.Errorf("%+v: %d of 1 jobs are left for guests", c, kept)
		}
	}
}

// TestUnsupportedFallback asks who can fall back from HTTP/3.
func TestUnsupportedFallback(t *testing.T) {
	for _, c := range []struct {
		loader, protocol, fallback string
		why                        string // a part of it; empty: it can run
	}{
		{station.Chromium, "h3", study.FallbackH2, "the loader chromium is told to use HTTP/3 and does not fall back from it; use builtin, or fallback: none"},
		{station.Firefox, "h3", study.FallbackH2, "the loader firefox is told to use HTTP/3"},
		{station.Fetch, "h3", study.FallbackH2, "the loader fetch is told to use HTTP/3"},
		{station.Builtin, "h3", study.FallbackH2, ""},
		{station.Chromium, "h3", study.FallbackNone, ""},
		{station.Chromium, "h2", study.FallbackH2, ""},
		{station.Fetch, "spdy/3.1", study.FallbackH2, ""},
	} {
		r := &run{Config: Config{Options: study.Options{Fallback: c.fallback}}, congestion: map[string][]string{study.ClockReal: {"cubic"}}}
		j := &job{protocol: row(t, c.protocol), site: flags(t), planned: store.Planned{Cell: pageCell(map[study.Axis]string{study.AxisLoader: c.loader, study.AxisClock: study.ClockReal, study.AxisCongestion: "cubic", study.AxisVisit: study.VisitCold, study.AxisStrategy: study.StrategyBrowser})}}
		if why := r.unsupported(j); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// TestUnsupportedVisits asks of visits and strategies whether they can be.
func TestUnsupportedVisits(t *testing.T) {
	r := &run{congestion: map[string][]string{study.ClockReal: {"cubic"}}}
	for _, c := range []struct {
		loader, protocol, visit, strategy string
		tabs                              int
		why                               string // a part of it; empty: it can run
	}{
		{station.Chromium, "h3", study.VisitZeroRTT, study.StrategyBrowser, 0, ""},
		{station.Chromium, "h2", study.VisitZeroRTT, study.StrategyBrowser, 0, "0-RTT over h2: only HTTP/3 has it here"},
		{station.Fetch, "https/1.1", study.VisitZeroRTT, "sequential", 0, "0-RTT over https/1.1: only HTTP/3 has it here"},
		{station.Chromium, "h2", study.VisitCached, study.StrategyBrowser, 0, ""},
		{station.Chromium, "http/1.1", study.VisitCold, "sequential", 0, "the loader chromium has one way with connections; use builtin"},
		{"firefox", "h2", study.VisitCold, "parallel-2", 0, "the loader firefox has one way with connections; use builtin"},
		{"firefox", "spdy/3", study.VisitCold, study.StrategyBrowser, 0, "SPDY"},
		{station.Builtin, "http/1.1", study.VisitCold, "pipelined", 0, ""},
		{station.Fetch, "http/1.1", study.VisitCold, "pipelined", 0, "the loader fetch has one way with connections"},
		{station.Fetch, "h2", study.VisitResumed, study.StrategyBrowser, 0, "the loader fetch makes cold visits only"},
		{station.Builtin, "h2", study.VisitConnected, "pipelined", 0, "only HTTP/1.1 has pipelining"},
		{station.Builtin, "spdy/3", study.VisitResumed, "parallel-2", 0, ""},
		{station.Builtin, "h3", study.VisitConnected, "sequential", 0, "each request has a connection of its own"},
		{station.Builtin, "h3", study.VisitConnected, "keep-alive", 0, ""},
		{station.Builtin, "h2", study.VisitCold, study.StrategyBrowser, 2, ""},
		{station.Fetch, "h2", study.VisitCold, study.StrategyBrowser, 2, "the loader fetch has one tab"},
		{station.Chromium, "h2", study.VisitCold, study.StrategyBrowser, 2, "the site has 3 pages to be opened at once: the loader chromium has one tab; use the loader builtin"},
	} {
		page := *flags(t)
		page.Tabs = make([]string, c.tabs)
		j := &job{protocol: row(t, c.protocol), site: &page, planned: store.Planned{Cell: pageCell(map[study.Axis]string{study.AxisLoader: c.loader, study.AxisClock: study.ClockReal, study.AxisCongestion: "cubic", study.AxisVisit: c.visit, study.AxisStrategy: c.strategy})}}
		if why := r.unsupported(j); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
}
