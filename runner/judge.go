package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/store"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// measured is what a load left, ready to be judged.
type measured struct {
	outcome  workload.Outcome
	evidence *evidence.Evidence
	paths    []*critical.Path // of its pages
}

// measure turns what a load left into evidence, reads the capture in dir, and finds out what
// decided each page's onLoad.
func (r *run) measure(j *job, outcome workload.Outcome, dir string) (*measured, error) {
	packets, err := capture.ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return nil, err
	}
	left, common := j.Evidence, outcome.Common()
	left.Packets, left.Server, left.ServerLost = packets, common.Server, common.ServerLost
	left.CaptureCut, left.Counted = common.Emulator.Uncaptured > 0, Counted(common.Emulator)
	outcome.Collect(&left)
	m := &measured{outcome: outcome, evidence: &left}
	if left.HAR != nil {
		m.paths = critical.Find(&left)
	}
	return m, nil
}

// Counted returns what an emulator counted of a load.
func Counted(r emulator.Report) *evidence.Counts {
	c := &evidence.Counts{Up: r.Arrived[network.Up], Down: r.Delivered[network.Down]}
	for _, n := range r.Dropped {
		c.Drops += n
	}
	return c
}

// writeHAR writes the load's HAR, with the critical paths, into the folder dir, if there is one.
func (m *measured) writeHAR(dir string) error {
	har := m.evidence.HAR
	if har == nil {
		return nil
	}
	text, err := json.Marshal(m.paths)
	if err != nil {
		return fmt.Errorf("encode the critical path: %w", err)
	}
	har.Log.CriticalPath = text
	return capture.WriteHAR(filepath.Join(dir, pageload.HARFile), har)
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
