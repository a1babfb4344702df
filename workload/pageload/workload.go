package pageload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/page"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// The loaders.
const (
	Chromium = "chromium"
	Firefox  = "firefox"
	Builtin  = "builtin"
	Fetch    = "fetch"
)

// Loaders returns the names of the loaders.
func Loaders() []string { return []string{Chromium, Firefox, Builtin, Fetch} }

// IsBrowser reports whether a loader is a real browser.
func IsBrowser(loader string) bool { return loader == Chromium || loader == Firefox }

// Workload is the workload of page loads.
type Workload struct{}

// dnsQueries is a figure of the lab itself.
var dnsQueries = study.Metric{Name: "dns_queries", Unit: "queries", Title: "DNS queries",
	Definition: "queries that the lab's DNS server answered during the load"}

// sessionTime is the start of a load in its browser session.
var sessionTime = study.Metric{Name: "session_time", Unit: "ms", Title: "Session time",
	Definition: "start of the load, from the start of the first load of its browser session; a load that has a session to itself has no value"}

// Kind implements workload.Workload.
func (Workload) Kind() workload.Kind {
	return workload.Kind{Name: "Page", Study: study.Pages(), Set: metric.Pages(), Own: []study.Metric{dnsQueries, sessionTime}, HAR: HARFile}
}

// Network implements workload.Workload.
func (Workload) Network(c study.Cell, page *site.Site, o study.Options) network.Path {
	p := c.Network
	if o.OriginRTT {
		p.Far = Far(page)
	}
	return p
}

// NewOrder implements workload.Workload.
func (Workload) NewOrder() workload.Order { return &Order{} }

// NewOutcome implements workload.Workload.
func (Workload) NewOutcome() workload.Outcome { return &Record{} }

// bound is a planned load with what its cell names.
type bound struct {
	workload.Setting
	cell     study.Cell
	seed     uint64
	site     *site.Site
	protocol protocol.Protocol
	server   server.Kind     // the zero value is Wiretime's own
	template server.Template // if the server is the study's own
	windows  evidence.Windows
}

// Bind implements workload.Workload.
func (Workload) Bind(c study.Cell, seed uint64, s workload.Setting) (j workload.Job, err error) {
	b := &bound{Setting: s, cell: c, seed: seed}
	if c.Clock() == study.ClockLive {
		return b.bindLive()
	}
	if b.site = s.Sites[c.Subject()]; b.site == nil {
		return j, fmt.Errorf("site %s was not opened", c.Subject())
	}
	if b.protocol, err = protocol.Lookup(c.Over()); err != nil {
		return j, err
	}
	if err := b.findServer(c.On(study.AxisServer)); err != nil {
		return j, err
	}
	if b.windows, err = windows(c); err != nil {
		return j, err
	}
	j = workload.Job{
		Order: b.order, Site: b.site, Scheme: b.protocol.Scheme, Estimate: b.estimate(), Capture: captureSize(b.site), Guest: b.guest(), Headline: "onload",
		Evidence: evidence.Evidence{
			Protocol: c.Over(), Visit: b.visit(), First: b.place().Load == 1, Fallback: b.fallback(), TearDown: b.Options.TearDown, NoServerLog: b.foreign() && !b.server.Logs,
			Windows: b.windows, TLS: b.wantedTLS(), NoSACK: c.On(study.AxisTCPSACK) == study.SACKOff,
		},
	}
	j.Program, j.Unsupported = b.supported()
	return j, nil
}

// findServer looks up a server by name. Wiretime's own has no entry.
func (b *bound) findServer(name string) (err error) {
	if name == server.Own {
		return nil
	}
	for _, t := range b.Servers {
		if t.Name == name {
			b.server, b.template = t.Kind(), t
			return nil
		}
	}
	b.server, err = server.Lookup(name)
	return err
}

// foreign reports whether a third-party server serves the load.
func (b *bound) foreign() bool { return b.server.Name != "" }

// visit returns the state in which the load finds the client. A session's first load is cold.
func (b *bound) visit() string {
	if b.Options.Session.Loads > 0 && b.cell.Load() == 1 {
		return study.VisitCold
	}
	return b.cell.On(study.AxisVisit)
}

// place returns the load's place in its browser session.
func (b *bound) place() Place {
	s := b.Options.Session
	if s.Loads == 0 {
		return Place{}
	}
	return Place{Load: b.cell.Load(), Of: s.Loads, Every: s.Every}
}

// fallback returns the study's fallback, empty if it has none.
func (b *bound) fallback() string {
	if b.Options.Fallback == study.FallbackNone {
		return ""
	}
	return b.Options.Fallback
}

func (b *bound) order(id string) workload.Order {
	c, o := b.cell, b.Options
	return &Order{
		Loader: c.By(), Protocol: c.Over(), Server: c.On(study.AxisServer), Template: b.template, Path: c.Network, Seed: b.seed, From: b.From,
		TCP:     lab.TCPOptions{Congestion: c.On(study.AxisCongestion), InitCwnd: c.InitCwnd(), Window: b.windows.TCP, NoSACK: c.On(study.AxisTCPSACK) == study.SACKOff},
		Timeout: o.Timeout,
		CPU:     page.CPU{ParsePerKB: o.CPU.Parse, StylePerKB: o.CPU.Style, ScriptPerKB: o.CPU.Script, Scale: o.CPU.Scale},
		Comment: fmt.Sprintf("load %s, %s, seed %d", id, c.Key(), b.seed),
		Visit:   c.On(study.AxisVisit), Place: b.place(), Strategy: c.On(study.AxisStrategy), ThinkTime: o.ThinkTime, Fallback: b.fallback(),
		ClientWindow: orderedWindow(c, study.AxisClientWindow), ServerWindow: orderedWindow(c, study.AxisServerWindow),
		ServerWait: o.ServerWait, Freeze: o.Freeze, TearDown: o.TearDown, Hint: b.hint(), TLS: b.oldTLS(), Without: b.without(),
	}
}

// firefoxQUIC is how much longer than other loads a load by Firefox over QUIC may take in a guest. Firefox sets QUIC's timers
// in whole milliseconds. For the rest of a millisecond it sets timers of 0 ms, thousands of them, until virtual time has passed.
const firefoxQUIC = 12 * time.Minute

// guest returns what a guest needs for the load. A browser is started once in a boot, and
// HTTP/3 is a switch of the whole browser. Third-party servers need programs of the host, and
// not all of them behave the same twice, so they are kept to themselves.
func (b *bound) guest() workload.Guest {
	browser := IsBrowser(b.cell.By())
	g := workload.Guest{
		Boot: fmt.Sprintf("%s %s", b.cell.By(), b.server.Name), Loads: workload.ManyLoads,
		Browser: browser, Programs: browser || b.foreign(),
	}
	if browser {
		g.Boot, g.Loads = fmt.Sprintf("%s, QUIC %t", g.Boot, b.protocol.Transport == "udp"), workload.BrowserLoads
	}
	if b.cell.By() == Firefox && b.protocol.Transport == "udp" {
		g.Longer = firefoxQUIC
	}
	for _, r := range b.site.Resources {
		g.Memory += 8 * r.Size // the archive, the sockets and the capture hold the octets at once
	}
	return g
}

// Station is a workload.Station with loaders.
type Station interface {
	workload.Station
	// LoadPage carries out a load in a new session of its loader.
	LoadPage(context.Context, Load) (*Record, error)
}

// Workload implements workload.Order.
func (*Order) Workload() workload.Workload { return Workload{} }

// RunOn implements workload.Order. The station must have loaders.
func (o *Order) RunOn(ctx context.Context, s workload.Station, page *site.Site, dir string) (workload.Outcome, error) {
	station, ok := s.(Station)
	if !ok {
		return nil, errors.New("load a page: the station has no loaders")
	}
	record, err := station.LoadPage(ctx, Load{Order: *o, Site: page, Authority: s.Authority(), Dir: dir})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Workload implements workload.Outcome.
func (*Record) Workload() workload.Workload { return Workload{} }

// Collect implements workload.Outcome.
func (r *Record) Collect(left *evidence.Evidence) {
	left.HAR, left.Timing, left.Announced, left.Live = r.HAR, r.Timing, r.Announced, r.Live
}

// Values implements workload.Outcome.
func (r *Record) Values() map[string]float64 {
	values := map[string]float64{}
	if r.Live == nil {
		values[dnsQueries.Name] = float64(r.DNSQueries)
	}
	if r.Began != nil {
		values[sessionTime.Name] = r.Began.Seconds() * 1000
	}
	return values
}
