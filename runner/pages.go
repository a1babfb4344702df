package runner

import (
	"fmt"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/page"
	"wiretime/loader/session"
	"wiretime/metric"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/station"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// pageLoads describes page loads to the runner.
type pageLoads struct{}

func (pageLoads) bind(r *run, j *job) (err error) {
	cell := j.planned.Cell
	if j.site = r.Sites[cell.Subject()]; j.site == nil {
		return fmt.Errorf("site %s was not opened", cell.Subject())
	}
	if j.protocol, err = protocol.Lookup(cell.Over()); err != nil {
		return err
	}
	if j.server, j.template, err = r.serves(cell.On(study.AxisServer)); err != nil {
		return err
	}
	if cell.Clock() == study.ClockVirtual {
		j.estimate = estimateVirtual(cell.By(), cell.On(study.AxisVisit), j.site, j.protocol)
	} else {
		j.estimate = estimateLoad(cell.By(), cell.On(study.AxisVisit), j.path, j.site, j.protocol, r.Options.ThinkTime)
	}
	j.estimate = j.estimate.starting(j.server)
	return nil
}

func (pageLoads) order(r *run, j *job, id string) station.Order {
	cell := j.planned.Cell
	return station.Order{Page: &pageload.Order{
		Loader: cell.By(), Protocol: cell.Over(), Server: cell.On(study.AxisServer), Template: j.template, Path: j.path, Seed: j.planned.Seed,
		TCP:     lab.TCPOptions{Congestion: cell.On(study.AxisCongestion), InitCwnd: cell.InitCwnd()},
		Timeout: r.Options.Timeout,
		CPU:     page.CPU{ParsePerKB: r.Options.CPU.Parse, StylePerKB: r.Options.CPU.Style, ScriptPerKB: r.Options.CPU.Script, Scale: r.Options.CPU.Scale},
		Comment: fmt.Sprintf("load %s, %s, seed %d", id, cell.Key(), j.planned.Seed),
		Visit:   cell.On(study.AxisVisit), Strategy: cell.On(study.AxisStrategy), ThinkTime: r.Options.ThinkTime, Fallback: r.fallback(),
		ServerWait: r.Options.ServerWait, Freeze: r.Options.Freeze,
	}}
}

// guest counts the page's octets several times: the archive, the sockets and the capture hold
// them at once.
func (pageLoads) guest(_ *run, j *job) (memory int64, longer time.Duration) {
	for _, r := range j.site.Resources {
		memory += 8 * r.Size
	}
	return memory, 0
}

func (pageLoads) fills(*batch) bool { return false }

func (pageLoads) faster(c study.Cell, s *site.Site, _ study.Options) string {
	var onReal, onVirtual time.Duration
	for _, p := range protocol.All() {
		e := estimateLoad(c.By(), c.On(study.AxisVisit), c.Network, s, p, 0)
		onReal += e.work(e.duration)
		e = estimateVirtual(c.By(), c.On(study.AxisVisit), s, p)
		onVirtual += e.work(e.duration)
	}
	if onVirtual < onReal {
		return study.ClockVirtual
	}
	return study.ClockReal
}

func (pageLoads) collect(left *evidence.Evidence, record *station.Record) {
	left.HAR, left.Timing = record.Page.HAR, record.Page.Timing
}

func (pageLoads) set() metric.Set { return metric.Pages() }

// dnsQueries is a figure of the lab itself, beside those of package metric.
var dnsQueries = study.Metric{Name: "dns_queries", Unit: "queries", Title: "DNS queries",
	Definition: "queries that the lab's DNS server answered during the load"}

func (pageLoads) own() []study.Metric {
	return []study.Metric{lateShift, emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal, dnsQueries}
}

func (pageLoads) values(record *workload.Record) map[string]float64 {
	return map[string]float64{dnsQueries.Name: float64(record.DNSQueries)}
}

func (pageLoads) headline(*job) string { return "onload" }

func (pageLoads) lasted(_ *run, _ *job, ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}

func (pageLoads) files() []string { return nil }

func (pageLoads) unsupported(r *run, j *job) string {
	cell := j.planned.Cell
	if why := j.protocol.NoBrowser; why != "" && station.IsBrowser(cell.By()) {
		return why
	}
	if cell.By() == station.Firefox && cell.Clock() == study.ClockVirtual {
		return "Firefox is not supported on the virtual clock, where its processes crash or hang; use clock: real"
	}
	if why := unsupportedVisit(j); why != "" {
		return why
	}
	if why := unsupportedStrategy(j); why != "" {
		return why
	}
	if why := r.unsupportedServer(j); why != "" {
		return why
	}
	if r.fallback() != "" && j.protocol.Transport == "udp" && cell.By() != station.Builtin {
		return fmt.Sprintf("fallback %s over %s: the loader %s is told to use HTTP/3 and does not fall back from it; use %s, or fallback: %s",
			r.fallback(), j.protocol.Name, cell.By(), station.Builtin, study.FallbackNone)
	}
	if n := len(j.site.Tabs); n > 0 && cell.By() != station.Builtin {
		return fmt.Sprintf("the site has %d pages to be opened at once: the loader %s has one tab; use the loader %s", n+1, cell.By(), station.Builtin)
	}
	return ""
}

// unsupportedVisit says why the client cannot be in the state that the cell asks for.
func unsupportedVisit(j *job) string {
	cell := j.planned.Cell
	switch {
	case cell.On(study.AxisVisit) == study.VisitCold:
		return ""
	case cell.On(study.AxisVisit) == study.VisitZeroRTT && j.protocol.Transport != "udp":
		return fmt.Sprintf("0-RTT over %s: only HTTP/3 has it here", j.protocol.Name)
	case cell.By() != station.Chromium && cell.By() != station.Builtin:
		return fmt.Sprintf("the loader %s makes cold visits only; use %s or %s", cell.By(), station.Chromium, station.Builtin)
	}
	return ""
}

// unsupportedStrategy says why connections cannot be used in the way that the cell asks
// for.
func unsupportedStrategy(j *job) string {
	cell := j.planned.Cell
	switch {
	case cell.On(study.AxisStrategy) == study.StrategyBrowser:
		return ""
	case cell.By() != station.Builtin:
		return fmt.Sprintf("the loader %s has one way with connections; use %s", cell.By(), station.Builtin)
	case cell.On(study.AxisVisit) == study.VisitConnected && cell.On(study.AxisStrategy) == oneEach:
		return fmt.Sprintf("strategy %s after a visit whose connections are open: each request has a connection of its own", cell.On(study.AxisStrategy))
	}
	strategy, err := session.ParseStrategy(cell.On(study.AxisStrategy))
	if err == nil {
		err = strategy.Supports(j.protocol)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// oneEach is the strategy that leaves no connection open.
const oneEach = "sequential"
