package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/critical"
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
	if has := r.congestion[cell.Clock]; !slices.Contains(has, cell.Congestion) {
		return fmt.Sprintf("the kernel of the %s clock has no congestion control %q; it has %s", cell.Clock, cell.Congestion, strings.Join(has, ", "))
	}
	return ""
}

// unsupportedPage says why a page's cell cannot run here; "" if it can.
func (r *run) unsupportedPage(j *job) string {
	cell := j.planned.Cell
	if why := j.protocol.NoBrowser; why != "" && station.IsBrowser(cell.Loader) {
		return why
	}
	if cell.Loader == station.Firefox && cell.Clock == study.ClockVirtual {
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
	if r.fallback() != "" && j.protocol.Transport == "udp" && cell.Loader != station.Builtin {
		return fmt.Sprintf("fallback %s over %s: the loader %s is told to use HTTP/3 and does not fall back from it; use %s, or fallback: %s",
			r.fallback(), j.protocol.Name, cell.Loader, station.Builtin, study.FallbackNone)
	}
	if n := len(j.site.Tabs); n > 0 && cell.Loader != station.Builtin {
		return fmt.Sprintf("the site has %d pages to be opened at once: the loader %s has one tab; use the loader %s", n+1, cell.Loader, station.Builtin)
	}
	return ""
}

// unsupportedVisit says why the client cannot be in the state that the cell asks for.
func unsupportedVisit(j *job) string {
	cell := j.planned.Cell
	switch {
	case cell.Visit == study.VisitCold:
		return ""
	case cell.Visit == study.VisitZeroRTT && j.protocol.Transport != "udp":
		return fmt.Sprintf("0-RTT over %s: only HTTP/3 has it here", j.protocol.Name)
	case cell.Loader != station.Chromium && cell.Loader != station.Builtin:
		return fmt.Sprintf("the loader %s makes cold visits only; use %s or %s", cell.Loader, station.Chromium, station.Builtin)
	}
	return ""
}

// unsupportedStrategy says why connections cannot be used in the way that the cell asks
// for.
func unsupportedStrategy(j *job) string {
	cell := j.planned.Cell
	switch {
	case cell.Strategy == study.StrategyBrowser:
		return ""
	case cell.Loader != station.Builtin:
		return fmt.Sprintf("the loader %s has one way with connections; use %s", cell.Loader, station.Builtin)
	case cell.Visit == study.VisitConnected && cell.Strategy == oneEach:
		return fmt.Sprintf("strategy %s after a visit whose connections are open: each request has a connection of its own", cell.Strategy)
	}
	strategy, err := session.ParseStrategy(cell.Strategy)
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
	record *workload.Record
	load   *metric.Load
	paths  []*critical.Path // of its pages
	stream bool             // not a page
}

// measure reads the capture in dir back.
func (r *run) measure(j *job, record *station.Record, dir string) (*measured, error) {
	packets, err := ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	common := record.Common()
	if j.stream != nil {
		return &measured{common, &metric.Load{
			Protocol: j.planned.Cell.Protocol, Server: common.Server, Packets: packets, ServerLost: common.ServerLost,
			Stream: record.Stream.Stream, CaptureCut: common.Emulator.Uncaptured > 0, Counted: Counted(common.Emulator),
		}, nil, true}, nil
	}
	paths, err := explain(record.Page.HAR, packets, filepath.Join(dir, pageload.HARFile))
	if err != nil {
		return nil, err
	}
	return &measured{common, &metric.Load{
		Protocol: j.planned.Cell.Protocol, HAR: record.Page.HAR, Server: common.Server, Packets: packets,
		Timing: record.Page.Timing, ServerLost: common.ServerLost, Visit: j.planned.Cell.Visit, Fallback: r.fallback(),
		NoServerLog: j.foreign() && !j.server.Logs,
	}, paths, false}, nil
}

// Counted is what an emulator counted of a load.
func Counted(r emulator.Report) *metric.Counts {
	c := &metric.Counts{Up: r.Arrived[network.Up], Down: r.Delivered[network.Down]}
	for _, n := range r.Dropped {
		c.Drops += n
	}
	return c
}

// explain finds out what decided onLoad and writes it into the HAR.
func explain(h *capture.HAR, packets *capture.Packets, name string) ([]*critical.Path, error) {
	if h == nil {
		return nil, nil
	}
	paths := critical.Find(h, packets)
	text, err := json.Marshal(paths)
	if err != nil {
		return nil, fmt.Errorf("write the critical path down: %w", err)
	}
	h.Log.CriticalPath = text
	return paths, capture.WriteHAR(name, h)
}

// ReadPackets reads the packets of a load's capture.
func ReadPackets(name string) (*capture.Packets, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the capture back: %w", err)
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		return nil, fmt.Errorf("read the capture %s back: %w", name, err)
	}
	return packets, nil
}

// judge takes the load's figures and decides on its validity.
func (r *run) judge(record *store.LoadRecord, m *measured) {
	record.Values = disturbances(m)
	metrics := metric.OfStreams()
	if !m.stream {
		metrics = metric.All()
		record.Values[dnsQueries.Name] = float64(m.record.DNSQueries)
	}
	for _, metric := range metrics {
		if v, ok := metric.Of(m.load); ok {
			record.Values[metric.Name] = v
		}
	}
	for _, p := range m.load.Pages() {
		record.Pages = append(record.Pages, store.Page(p))
	}
	if m.record.LoadError != nil {
		record.Validity, record.Reason = store.Failed, m.record.LoadError.Error()
		return
	}
	for _, v := range metric.Check(m.load) {
		record.Violations = append(record.Violations, store.Violation{Rule: v.Rule, Detail: v.Detail})
	}
	record.Violations = slices.Concat(record.Violations, r.checkLateness(m, record.Values["late_p99"]), r.checkTaken(m.record.Taken))
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
var dnsQueries = store.Metric{Name: "dns_queries", Unit: "queries", Title: "DNS queries",
	Definition: "queries that the lab's DNS server answered during the load"}

// Metrics are the figures that a run keeps of each load of a page, in the order to show
// them.
func Metrics() []store.Metric {
	return append(described(metric.All()), lateShift, emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal, dnsQueries)
}

// StreamMetrics are the figures that a run keeps of each stream, in the order to show
// them.
func StreamMetrics() []store.Metric {
	return append(described(metric.OfStreams()), emulatorWait, takenShift, processorUsed, processorTaken, processorWaited, steal)
}

func described(metrics []metric.Metric) []store.Metric {
	var all []store.Metric
	for _, m := range metrics {
		all = append(all, store.Metric{Name: m.Name, Unit: m.Unit, Title: m.Title, Definition: m.Definition})
	}
	return all
}
