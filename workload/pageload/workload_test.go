package pageload

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// cell is a cell of loads of a page. It has the usual value on each axis that values lacks.
func cell(page *site.Site, values map[study.Axis]string) study.Cell {
	values = maps.Clone(values)
	values[study.AxisSite] = page.Name
	return study.NewCell(study.Pages(), values, path(0, 0))
}

// bind binds a load of a page.
func bind(t *testing.T, s workload.Setting, page *site.Site, values map[study.Axis]string) workload.Job {
	t.Helper()
	s.Sites = map[string]*site.Site{page.Name: page}
	j, err := Workload{}.Bind(cell(page, values), 1, s)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestOrdersFollowCellAndStudy checks what an order says of a cell and a study.
func TestOrdersFollowCellAndStudy(t *testing.T) {
	s := workload.Setting{Options: study.Options{ThinkTime: 3 * time.Second, Fallback: study.FallbackH2}}
	values := map[study.Axis]string{study.AxisProtocol: "h3", study.AxisLoader: Builtin, study.AxisVisit: study.VisitZeroRTT, study.AxisStrategy: "parallel-2"}
	o := bind(t, s, flags(t), values).Order("id").(*Order)
	if o.Visit != "0rtt" || o.Strategy != "parallel-2" || o.ThinkTime != 3*time.Second || o.Fallback != "h2" {
		t.Errorf("the order is %+v", o)
	}
	s.Options.Fallback = study.FallbackNone
	if o := bind(t, s, flags(t), values).Order("id").(*Order); o.Fallback != "" {
		t.Errorf("without a fallback the order names %q", o.Fallback)
	}
}

// TestGuestMemoryGrowsWithThePage checks that a guest gets more for a larger page.
func TestGuestMemoryGrowsWithThePage(t *testing.T) {
	values := map[study.Axis]string{study.AxisProtocol: "h2", study.AxisLoader: Fetch}
	small := bind(t, workload.Setting{}, flags(t), values).Guest.Memory
	page := &site.Site{Name: "large", Page: "https://www.page.test/", Resources: []site.Resource{{URL: "https://www.page.test/", Size: 100 << 20}}}
	if large := bind(t, workload.Setting{}, page, values).Guest.Memory; large < small+100<<20 {
		t.Errorf("%d octets for a page of 100 MiB, %d for a small one", large, small)
	}
}

// TestUnsupportedFallback asks who can fall back from HTTP/3.
func TestUnsupportedFallback(t *testing.T) {
	for _, c := range []struct {
		loader, protocol, fallback string
		why                        string // a part of it; empty: it can run
	}{
		{Chromium, "h3", study.FallbackH2, "the loader chromium is told to use HTTP/3 and does not fall back from it; use builtin, or fallback: none"},
		{Firefox, "h3", study.FallbackH2, "the loader firefox is told to use HTTP/3"},
		{Fetch, "h3", study.FallbackH2, "the loader fetch is told to use HTTP/3"},
		{Builtin, "h3", study.FallbackH2, ""},
		{Chromium, "h3", study.FallbackNone, ""},
		{Chromium, "h2", study.FallbackH2, ""},
		{Fetch, "spdy/3.1", study.FallbackH2, ""},
	} {
		s := workload.Setting{Options: study.Options{Fallback: c.fallback}}
		j := bind(t, s, flags(t), map[study.Axis]string{study.AxisProtocol: c.protocol, study.AxisLoader: c.loader})
		if why := j.Unsupported; (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// TestUnsupportedVisits asks of visits and strategies whether they can be.
func TestUnsupportedVisits(t *testing.T) {
	for _, c := range []struct {
		loader, protocol, visit, strategy string
		tabs                              int
		why                               string // a part of it; empty: it can run
	}{
		{Chromium, "h3", study.VisitZeroRTT, study.StrategyBrowser, 0, ""},
		{Chromium, "h2", study.VisitZeroRTT, study.StrategyBrowser, 0, "0-RTT over h2: only HTTP/3 has it here"},
		{Fetch, "https/1.1", study.VisitZeroRTT, "sequential", 0, "0-RTT over https/1.1: only HTTP/3 has it here"},
		{Chromium, "h2", study.VisitCached, study.StrategyBrowser, 0, ""},
		{Chromium, "http/1.1", study.VisitCold, "sequential", 0, "the loader chromium uses connections in its own way only; use builtin"},
		{Firefox, "h2", study.VisitCold, "parallel-2", 0, "the loader firefox uses connections in its own way only; use builtin"},
		{Firefox, "spdy/3", study.VisitCold, study.StrategyBrowser, 0, "SPDY"},
		{Builtin, "http/1.1", study.VisitCold, "pipelined", 0, ""},
		{Fetch, "http/1.1", study.VisitCold, "pipelined", 0, "the loader fetch uses connections in its own way only"},
		{Fetch, "h2", study.VisitResumed, study.StrategyBrowser, 0, "the loader fetch makes cold visits only"},
		{Builtin, "h2", study.VisitConnected, "pipelined", 0, "only HTTP/1.1 has pipelining"},
		{Builtin, "spdy/3", study.VisitResumed, "parallel-2", 0, ""},
		{Builtin, "h3", study.VisitConnected, "sequential", 0, "each request has a connection of its own"},
		{Builtin, "https/1.1", study.VisitAgain, "threads-4", 0, "each request has a connection of its own"},
		{Builtin, "https/1.1", study.VisitResumed, "threads", 0, ""},
		{Chromium, "https/1.1", study.VisitCold, "threads", 0, "the loader chromium uses connections in its own way only; use builtin"},
		{Builtin, "h3", study.VisitConnected, "keep-alive", 0, ""},
		{Builtin, "h2", study.VisitAgain, "sequential", 0, "each request has a connection of its own"},
		{Builtin, "spdy/3", study.VisitReload, study.StrategyBrowser, 0, ""},
		{Firefox, "h2", study.VisitReload, study.StrategyBrowser, 0, ""},
		{Firefox, "h2", study.VisitCached, study.StrategyBrowser, 0, "the loader firefox can neither empty its cache nor close its connections: it makes the visits cold, again and reload only"},
		{Fetch, "h2", study.VisitAgain, study.StrategyBrowser, 0, "the loader fetch makes cold visits only"},
		{Builtin, "h2", study.VisitCold, study.StrategyBrowser, 2, ""},
		{Fetch, "h2", study.VisitCold, study.StrategyBrowser, 2, "the loader fetch has one tab"},
		{Chromium, "h2", study.VisitCold, study.StrategyBrowser, 2, "the site has 3 pages to be opened at once: the loader chromium has one tab; use the loader builtin"},
	} {
		page := *flags(t)
		page.Tabs = make([]string, c.tabs)
		j := bind(t, workload.Setting{}, &page, map[study.Axis]string{study.AxisProtocol: c.protocol, study.AxisLoader: c.loader, study.AxisVisit: c.visit, study.AxisStrategy: c.strategy})
		if why := j.Unsupported; (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// TestUnsupportedTLS asks of protocols and servers whether they have TLS 1.2.
func TestUnsupportedTLS(t *testing.T) {
	for _, c := range []struct{ protocol, server, version, why, wanted string }{
		{"https/1.1", server.Own, study.TLS12, "", "TLS 1.2"},
		{"spdy/2", server.Own, study.TLS12, "", "TLS 1.2"},
		{"h2", server.Own, study.TLS12, "", "TLS 1.2"},
		{"h2", server.Own, study.TLS13, "", "TLS 1.3"},
		{"h3", server.Own, study.TLS13, "", "TLS 1.3"},
		{"http/1.1", server.Own, study.TLS13, "", ""},
		{"http/1.1", server.Own, study.TLS12, "it has no TLS", ""},
		{"h3", server.Own, study.TLS12, "QUIC has TLS 1.3 alone", "TLS 1.3"},
		{"h2", "nginx", study.TLS12, "the server nginx is set up for TLS 1.3 alone", ""},
	} {
		j := bind(t, workload.Setting{}, flags(t), map[study.Axis]string{study.AxisProtocol: c.protocol, study.AxisLoader: Builtin, study.AxisServer: c.server, study.AxisTLS: c.version})
		if (j.Unsupported == "") != (c.why == "") || !strings.Contains(j.Unsupported, c.why) {
			t.Errorf("%+v: %q", c, j.Unsupported)
		}
		terms, err := j.Order("").(*Order).Terms()
		if err != nil || c.why == "" && (j.Evidence.TLS != c.wanted || terms.TLS12 != (c.version == study.TLS12)) {
			t.Errorf("%+v: %q is checked, the server's terms are %+v, %v", c, j.Evidence.TLS, terms, err)
		}
	}
}

// TestWithout asks which protocols can do without which of their parts, and what both ends are told.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ protocol, server, loader, without, why string }{
		{"spdy/3.1", server.Own, Builtin, study.WithoutNothing, ""},
		{"spdy/3.1", server.Own, Builtin, study.WithoutCompression, ""},
		{"spdy/2", server.Own, Builtin, study.WithoutPriorities, ""},
		{"spdy/3", server.Own, Fetch, study.WithoutCompression, ""},
		{"spdy/3", server.Own, Fetch, study.WithoutPriorities, "the loader fetch asks for none"},
		{"spdy/3.1", "netty", Builtin, study.WithoutPriorities, "the server netty cannot be told to"},
		{"h2", server.Own, Builtin, study.WithoutCompression, "over h2: only SPDY can be told to"},
		{"h2", server.Own, Builtin, study.WithoutPriorities, "an equal turn in any case"},
		{"h3", server.Own, Builtin, study.WithoutPriorities, ""},
		{"h3", server.Own, Builtin, study.WithoutCompression, "over h3: only SPDY can be told to"},
		{"h3", server.Own, "chromium", study.WithoutPriorities, "the loader chromium states them"},
		{"h3", server.Own, Fetch, study.WithoutPriorities, "the loader fetch asks for none"},
		{"https/1.1", server.Own, Builtin, study.WithoutPriorities, "over https/1.1: it has none"},
	} {
		j := bind(t, workload.Setting{}, flags(t), map[study.Axis]string{study.AxisProtocol: c.protocol, study.AxisLoader: c.loader, study.AxisServer: c.server, study.AxisWithout: c.without})
		if (j.Unsupported == "") != (c.why == "") || !strings.Contains(j.Unsupported, c.why) {
			t.Errorf("%+v: %q", c, j.Unsupported)
		}
		terms, err := j.Order("").(*Order).Terms()
		if err != nil || terms.PlainHeaders != (c.without == study.WithoutCompression) || terms.EqualTurns != (c.without == study.WithoutPriorities) {
			t.Errorf("%+v: the terms are %+v, %v", c, terms, err)
		}
	}
}

// TestUnsupportedServers asks of servers whether they can serve as a cell asks for.
func TestUnsupportedServers(t *testing.T) {
	missing := server.Template{Name: "mine", Protocols: []string{"h2"}, Command: []string{"no-such-program"}}
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
		{server: "usr", protocol: "h2", page: &waits, wait: true, why: "server_wait: the server usr cannot delay its answers"},
		{server: "usr", protocol: "h3", fallback: study.FallbackH2, why: "fallback h2 over h3: the server usr serves one protocol at a time"},
		{server: "usr", protocol: "h2", visit: study.VisitConnected, why: "the server usr keeps no log, which visit connected needs"},
		{server: "usr", protocol: "h2", visit: study.VisitCached, why: "the server usr issues no TLS sessions: visit cached is not supported, only cold and those that keep connections: connected, again and reload"},
		{server: "mine", protocol: "h2", why: "mine: no-such-program is not installed: check its command in the study"},
		{server: "h2o", protocol: "https/1.1", loader: Chromium, why: "H2O offers HTTP/2 whenever it serves TLS"},
		{server: "apache2", protocol: "h3", why: "apache2 does not support h3, only http/1.1, https/1.1, h2"},
		{server: "jetty", protocol: "spdy/3", clock: study.ClockVirtual, why: "computes without end in some guests"},
		{server: "jetty", protocol: "spdy/3.1", why: "jetty does not support spdy/3.1, only spdy/2, spdy/3"},
		{server: "nginx", protocol: "h2", visit: study.VisitResumed, why: "the server nginx issues no TLS sessions"},
	} {
		s := workload.Setting{Servers: []server.Template{missing, usr}, Options: study.Options{Fallback: cmp.Or(c.fallback, study.FallbackNone), ServerWait: c.wait}}
		j := bind(t, s, cmp.Or(c.page, plain), map[study.Axis]string{
			study.AxisProtocol: c.protocol, study.AxisLoader: cmp.Or(c.loader, Builtin), study.AxisClock: cmp.Or(c.clock, study.ClockReal),
			study.AxisVisit: cmp.Or(c.visit, study.VisitCold), study.AxisServer: c.server,
		})
		if runs := c.why == "" && c.server != server.Own; (j.Program != "") != runs {
			t.Errorf("%s: the program is %q", c.server, j.Program)
		}
		if why := j.Unsupported; (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q", c, why)
		}
	}
	unknown := cell(plain, map[study.Axis]string{study.AxisProtocol: "h2", study.AxisLoader: Builtin, study.AxisServer: "mine"})
	if _, err := (Workload{}).Bind(unknown, 1, workload.Setting{Sites: map[string]*site.Site{plain.Name: plain}}); err == nil || !strings.Contains(err.Error(), `unknown server "mine"`) {
		t.Error(err)
	}
}
