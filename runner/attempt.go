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
	"wiretime/guest"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/metric"
	"wiretime/network"
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
	if j.Unsupported != "" {
		return j.Unsupported
	}
	if j.Program != "" && cell.Clock() == study.ClockVirtual {
		if err := guest.Sees(j.Program); err != nil {
			return err.Error()
		}
	}
	if has := r.congestion[cell.Clock()]; !slices.Contains(has, cell.On(study.AxisCongestion)) {
		return fmt.Sprintf("the kernel of the %s clock has no congestion control %q; it has %s", cell.Clock(), cell.On(study.AxisCongestion), strings.Join(has, ", "))
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
	outcome  workload.Outcome
	evidence *evidence.Evidence
	paths    []*critical.Path // of its pages
}

// measure reads the capture in dir back.
func (r *run) measure(j *job, outcome workload.Outcome, dir string) (*measured, error) {
	packets, err := capture.ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	left, common := j.Evidence, outcome.Common()
	left.Packets, left.Server, left.ServerLost = packets, common.Server, common.ServerLost
	left.CaptureCut, left.Counted = common.Emulator.Uncaptured > 0, Counted(common.Emulator)
	outcome.Collect(&left)
	paths, err := explain(&left, filepath.Join(dir, pageload.HARFile))
	if err != nil {
		return nil, err
	}
	return &measured{outcome, &left, paths}, nil
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
	set, common := m.outcome.Workload().Kind().Set, m.outcome.Common()
	record.Values = disturbances(m)
	maps.Copy(record.Values, m.outcome.Values())
	maps.Copy(record.Values, set.Values(m.evidence))
	record.Pages = metric.EachPage(m.evidence)
	if common.LoadError != nil {
		record.Validity, record.Reason = store.Failed, common.LoadError.Error()
		return
	}
	record.Violations = slices.Concat(set.Violations(m.evidence), r.checkLateness(m, record.Values["late_p99"]), r.checkTaken(common.Taken))
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
	a.Headline, a.Value, a.Lasted = headline(j, record)
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Done, a.Planned, a.Remaining = r.pace.note(j, record.Wall, final)
	r.Report(a)
	return nil
}
