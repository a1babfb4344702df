package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/server"
	"wiretime/site"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
)

// TestUnsupportedServers asks of servers whether they can serve as a cell asks for.
func TestUnsupportedServers(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	missing := server.Template{Name: "mine", Protocols: []string{"h2"}, Command: []string{"no-such-program"}}
	there := server.Template{Name: "there", Protocols: []string{"h2"}, Command: []string{outside}}
	usr := server.Template{Name: "usr", Protocols: []string{"h2", "h3"}, Command: []string{"/usr/bin/env"}}
	plain, err := site.Objects(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	posted := *plain
	posted.Resources = append([]site.Resource{{Method: "POST", URL: "https://www.objects.test/p", Status: 200}}, posted.Resources...)
	waits := *plain
	waits.Resources = slices.Clone(plain.Resources)
	waits.Resources[1].Wait = 5
	for _, c := range []struct {
		server, protocol, loader, visit, clock, fallback string
		page                                             *site.Site // nil: one that all can serve
		wait                                             bool       // server_wait: recorded
		why                                              string     // a part of it; empty: it can run
	}{
		{server: "wiretime", protocol: "h3", visit: study.VisitZeroRTT},
		{server: "wiretime", protocol: "h3", fallback: study.FallbackH2},
		{server: "usr", protocol: "h2"},
		{server: "usr", protocol: "h2", clock: study.ClockVirtual},
		{server: "usr", protocol: "https/1.1", why: "usr does not support https/1.1, only h2, h3"},
		{server: "usr", protocol: "h2", page: &posted, why: "usr supports only GET on files, and the site has POST"},
		{server: "usr", protocol: "h2", wait: true},
		{server: "usr", protocol: "h2", page: &waits},
		{server: "usr", protocol: "h2", page: &waits, wait: true, why: "server_wait: the server usr takes no longer than it needs for an answer"},
		{server: "usr", protocol: "h3", fallback: study.FallbackH2, why: "fallback h2 over h3: the server usr serves one protocol at a time"},
		{server: "usr", protocol: "h2", visit: study.VisitConnected, why: "the server usr keeps no log, by which open connections could be told"},
		{server: "usr", protocol: "h2", visit: study.VisitCached, why: "the server usr gives out no TLS sessions: of visits that come back there is connected"},
		{server: "mine", protocol: "h2", why: "mine: no-such-program is not installed: check its command in the study"},
		{server: "there", protocol: "h2"},
		{server: "there", protocol: "h2", clock: study.ClockVirtual, why: "guests of the virtual clock can only run programs in /usr and /opt"},
		{server: "h2o", protocol: "https/1.1", loader: station.Chromium, why: "H2O offers HTTP/2 whenever it serves TLS"},
		{server: "apache2", protocol: "h3", why: "apache2 does not support h3, only http/1.1, https/1.1, h2"},
		{server: "nginx", protocol: "h2", visit: study.VisitResumed, why: "the server nginx gives out no TLS sessions"},
	} {
		r := &run{Config: Config{Servers: []server.Template{missing, there, usr}, Options: study.Options{Fallback: cmp.Or(c.fallback, study.FallbackNone), ServerWait: c.wait}},
			congestion: map[string][]string{study.ClockReal: {"cubic"}, study.ClockVirtual: {"cubic"}}}
		j := &job{protocol: row(t, c.protocol), site: plain, planned: store.Planned{Cell: pageCell(map[study.Axis]string{study.AxisLoader: cmp.Or(c.loader, station.Builtin), study.AxisClock: cmp.Or(c.clock, study.ClockReal), study.AxisCongestion: "cubic", study.AxisVisit: cmp.Or(c.visit, study.VisitCold), study.AxisStrategy: study.StrategyBrowser, study.AxisServer: c.server})}}
		if c.page != nil {
			j.site = c.page
		}
		if j.server, j.template, err = r.serves(c.server); err != nil {
			t.Fatal(err)
		}
		if j.foreign() != (c.server != server.Own) {
			t.Errorf("%s is foreign: %v", c.server, j.foreign())
		}
		if why := r.unsupported(j); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
	if _, _, err := (&Config{}).serves("mine"); err == nil || !strings.Contains(err.Error(), `unknown server "mine"`) {
		t.Error(err)
	}
}
