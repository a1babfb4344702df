package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/metric"
	"wiretime/store"
)

// attempt runs one load, keeps it, and says whether it was the last attempt.
// Errors are those that end the run.
func (r *run) attempt(ctx context.Context, j *job) (final bool, err error) {
	record := store.LoadRecord{
		Planned: j.planned, Attempt: j.attempt, Started: time.Now(),
		Final: j.attempt > r.Options.Retries,
	}
	if why := r.unsupported(j); why != "" {
		record.Validity, record.Reason, record.Final = store.Unsupported, why, true
		return true, r.keep(j, record)
	}
	s, err := r.station(ctx)
	if err != nil {
		return false, err
	}
	measured, err := s.load(ctx, j, record.ID())
	if ctx.Err() != nil {
		return false, errors.Join(context.Cause(ctx), r.putBack(s, nil))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return false, errors.Join(fmt.Errorf("load %s: %w: %w", record.ID(), store.ErrDiskFull, err), s.close())
	}
	if back := r.putBack(s, err); back != nil {
		return false, back
	}
	if err != nil {
		record.Validity, record.Reason = store.Failed, err.Error()
	} else {
		r.judge(&record, measured)
	}
	record.Wall = time.Since(record.Started)
	return record.Final || record.Validity == store.Valid, r.keep(j, record)
}

// unsupported says why the cell cannot run on this machine; "" if it can.
func (r *run) unsupported(j *job) string {
	if cc := j.planned.Cell.Congestion; !slices.Contains(r.congestion, cc) {
		return fmt.Sprintf("this kernel has no congestion control %q; it has %s", cc, strings.Join(r.congestion, ", "))
	}
	return ""
}

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
	record *lab.Record
	load   *metric.Load
}

// load runs one load in the station. Its artefacts are in the store's staged
// folder for id.
func (s *station) load(ctx context.Context, j *job, id string) (*measured, error) {
	dir, err := s.run.Store.StageDir(id)
	if err != nil {
		return nil, err
	}
	browser, err := s.browser(ctx, j.protocol.Transport == "udp")
	if err != nil {
		return nil, err
	}
	visit, err := browser.Open(ctx)
	if err != nil {
		return nil, err
	}
	cell := j.planned.Cell
	record, err := s.lab.Run(ctx, lab.Load{
		Path: j.path, Seed: j.planned.Seed,
		TCP:      lab.TCPOptions{Congestion: cell.Congestion, InitCwnd: cell.InitCwnd},
		Protocol: j.protocol, Site: j.site, Authority: s.run.authority, Visit: visit,
		Dir: dir, Timeout: s.run.Options.Timeout,
		Comment: fmt.Sprintf("load %s, %s, seed %d", id, cell.Key, j.planned.Seed),
	})
	if len(j.path.Handovers()) > 0 {
		// The browser has seen its network change and change back. It acts on
		// that within a second or two, which must not fall into the next load.
		err = errors.Join(err, s.closeBrowsers())
	}
	if err != nil {
		return nil, err
	}
	packets, err := readPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	return &measured{record, &metric.Load{
		Protocol: cell.Protocol, HAR: record.HAR, Server: record.Server, Packets: packets,
		Timing: record.Timing, ServerLost: record.ServerLost,
	}}, nil
}

func readPackets(name string) (*capture.Packets, error) {
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

// lateRule is the number of the validity rule on punctuality.
const lateRule = 3

// judge takes the load's figures and decides on its validity.
func (r *run) judge(record *store.LoadRecord, m *measured) {
	record.Values = map[string]float64{
		emulatorWait.Name: float64(m.record.Emulator.RunQueueWait) / 1e6,
		dnsQueries.Name:   float64(m.record.DNSQueries),
	}
	for _, metric := range metric.All() {
		if v, ok := metric.Of(m.load); ok {
			record.Values[metric.Name] = v
		}
	}
	if m.record.LoadError != nil {
		record.Validity, record.Reason = store.Failed, m.record.LoadError.Error()
		return
	}
	for _, v := range metric.Check(m.load) {
		record.Violations = append(record.Violations, store.Violation{Rule: v.Rule, Detail: v.Detail})
	}
	if late, limit := record.Values["late_p99"], float64(r.Options.LateLimit)/1e6; late > limit {
		record.Violations = append(record.Violations, store.Violation{Rule: lateRule,
			Detail: fmt.Sprintf("one packet in a hundred left more than %.3f ms late; the study's limit is %.3f ms", late, limit)})
	}
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
	a := Attempt{ID: record.ID(), Cell: j.planned.Cell, Validity: record.Validity, Reason: record.Reason, OnLoad: -1}
	if v, ok := record.Values["onload"]; ok {
		a.OnLoad = v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Done, a.Planned, a.Remaining = r.pace.note(j, record.Wall, final)
	r.Report(a)
	return nil
}

// Two figures of the lab itself stand beside those of package metric.
var (
	emulatorWait = store.Metric{Name: "emulator_wait", Unit: "ms", Title: "emulator waited",
		Definition: "how long the emulator's thread was ready to run but had no processor, over the whole load (Linux schedstat)"}
	dnsQueries = store.Metric{Name: "dns_queries", Unit: "queries", Title: "DNS queries",
		Definition: "queries that the lab's DNS server answered during the load"}
)

// Metrics are the figures that a run keeps of each load, in the order to show
// them.
func Metrics() []store.Metric {
	var all []store.Metric
	for _, m := range metric.All() {
		all = append(all, store.Metric{Name: m.Name, Unit: m.Unit, Title: m.Title, Definition: m.Definition})
	}
	return append(all, emulatorWait, dnsQueries)
}
