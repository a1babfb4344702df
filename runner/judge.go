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
