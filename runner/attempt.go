package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/loader/session"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/station"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// begin is the record of an attempt that begins now.
func (r *run) begin(j *job) store.LoadRecord {
	return store.LoadRecord{
		Planned: j.planned, Attempt: j.attempt, Started: time.Now(),
		Final: j.attempt > r.Options.Retries,
	}
}

func (r *run) keepUnsupported(j *job, record store.LoadRecord, why string) error {
	record.Validity, record.Reason, record.Final = store.Unsupported, why, true
	return r.keep(j, record)
}

// unsupported says why the cell cannot run here; "" if it can.
func (r *run) unsupported(j *job) string {
	cell := j.planned.Cell
	why := r.unsupportedPage
	if j.stream != nil {
		why = r.unsupportedStream
	}
	if why := why(j); why != "" {
		return why
	}
	if has := r.congestion[cell.Clock()]; !slices.Contains(has, cell.On(study.AxisCongestion)) {
		return fmt.Sprintf("the kernel of the %s clock has no congestion control %q; it has %s", cell.Clock(), cell.On(study.AxisCongestion), strings.Join(has, ", "))
	}
	return ""
}

// unsupportedPage says why a page's cell cannot run here; "" if it can.
func (r *run) unsupportedPage(j *job) string {
	cell := j.planned.Cell
	if why := j.protocol.NoBrowser; why != "" && station.IsBrowser(cell.By()) {
		return why
	}
	if cell.By() == station.Firefox && cell.Clock() == study.ClockVirtual {
		return "Firefox is no guest of the virtual clock: its processes crash or hang there more often than not; use clock: real"
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

// congestionControls are those of the running kernel.
func congestionControls() []string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// measured is what a load left, ready to be judged.
type measured struct {
	record   *workload.Record
	evidence *evidence.Evidence
	paths    []*critical.Path // of its pages
	stream   bool             // not a page
}

// measure reads the capture in dir back.
func (r *run) measure(j *job, record *station.Record, dir string) (*measured, error) {
	packets, err := capture.ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	common := record.Common()
	left := &evidence.Evidence{
		Protocol: j.planned.Cell.Over(), Visit: j.planned.Cell.On(study.AxisVisit), Fallback: r.fallback(), NoServerLog: j.foreign() && !j.server.Logs,
		Server: common.Server, Packets: packets, ServerLost: common.ServerLost,
		CaptureCut: common.Emulator.Uncaptured > 0, Counted: Counted(common.Emulator),
	}
	if j.stream != nil {
		left.Stream = record.Stream.Stream
	} else {
		left.HAR, left.Timing = record.Page.HAR, record.Page.Timing
	}
	paths, err := explain(left, filepath.Join(dir, pageload.HARFile))
	if err != nil {
		return nil, err
	}
	return &measured{common, left, paths, j.stream != nil}, nil
}

// Counted returns what an emulator counted of a load.
func Counted(r emulator.Report) *evidence.Counts {
	c := &evidence.Counts{Up: r.Arrived[network.Up], Down: r.Delivered[network.Down]}
	for _, n := range r.Dropped {
		c.Drops += n
	}
	return c
}

// explain finds out what decided onLoad and writes it into the HAR, if there is one.
func explain(left *evidence.Evidence, name string) ([]*critical.Path, error) {
	if left.HAR == nil {
		return nil, nil
	}
	paths := critical.Find(left)
	text, err := json.Marshal(paths)
	if err != nil {
		return nil, fmt.Errorf("write the critical path down: %w", err)
	}
	left.HAR.Log.CriticalPath = text
	return paths, capture.WriteHAR(name, left.HAR)
}

// judge takes the load's figures and decides on its validity.
func (r *run) judge(record *store.LoadRecord, m *measured) {
	set := metric.Pages()
	if m.stream {
		set = metric.Streams()
	}
	record.Values = disturbances(m)
	if !m.stream {
		record.Values[dnsQueries.Name] = float64(m.record.DNSQueries)
	}
	maps.Copy(record.Values, set.Values(m.evidence))
	record.Pages = metric.EachPage(m.evidence)
	if m.record.LoadError != nil {
		record.Validity, record.Reason = store.Failed, m.record.LoadError.Error()
		return
	}
	record.Violations = slices.Concat(set.Violations(m.evidence), r.checkLateness(m, record.Values["late_p99"]), r.checkTaken(m.record.Taken))
	record.Validity = store.Valid
	if len(record.Violations) > 0 {
		record.Validity, record.Reason = store.Invalid, record.Violations[0].Detail
	}
}

// keep puts the attempt into the store and tells of it.
func (r *run) keep(j *job, record store.LoadRecord) error {
	if err := r.Store.Commit(record); err != nil {
		return err
	}
	final := record.Final || record.Validity == store.Valid
	a := Attempt{ID: record.ID(), Cell: j.planned.Cell, Validity: record.Validity, Reason: record.Reason}
	a.Headline, a.Value, a.Lasted = r.headline(j, record)
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Done, a.Planned, a.Remaining = r.pace.note(j, record.Wall, final)
	r.Report(a)
	return nil
}

// headline is the foremost figure of an attempt, -1 if it has none, and how long the page
// or stream took.
func (r *run) headline(j *job, record store.LoadRecord) (name string, ms float64, lasted time.Duration) {
	name = "onload"
	if j.stream != nil {
		name = "loading_delay"
		if j.stream.file() > 0 {
			name = "ttd"
		}
	}
	ms, ok := record.Values[name]
	switch {
	case !ok:
		return name, -1, 0
	case name == "loading_delay":
		return name, ms, r.Options.Stream.Duration
	}
	return name, ms, time.Duration(ms * float64(time.Millisecond))
}

// dnsQueries is a figure of the lab itself, beside those of package metric.
var dnsQueries = study.Metric{Name: "dns_queries", Unit: "queries", Title: "DNS queries",
	Definition: "queries that the lab's DNS server answered during the load"}

// Metrics are the figures that a run keeps of each load of a page, in the order to show
// them.
func Metrics() []study.Metric {
	return append(described(metric.Pages().Metrics), lateShift, emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal, dnsQueries)
}

// StreamMetrics are the figures that a run keeps of each stream, in the order to show
// them.
func StreamMetrics() []study.Metric {
	return append(described(metric.Streams().Metrics), emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal)
}

func described(metrics []metric.Metric) []study.Metric {
	var all []study.Metric
	for _, m := range metrics {
		all = append(all, m.Metric)
	}
	return all
}
