package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/evidence"
	"wiretime/flowcontrol"
	"wiretime/lab/emulator"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
)

// gathered is what a load left, ready to be judged.
type gathered struct {
	outcome  workload.Outcome
	evidence *evidence.Evidence
	paths    []*critical.Path // of its pages
}

// gather turns what a load left into evidence and finds out what decided each page's onLoad.
func gather(j *job, outcome workload.Outcome, packets *capture.Packets) *gathered {
	left, common := j.Evidence, outcome.Common()
	left.Packets, left.Server, left.ServerLost = packets, common.Server, common.ServerLost
	left.Path = &j.planned.Cell.Network
	if common.Emulator.Epoch > 0 {
		left.Epoch = common.Emulator.Epoch - int64(common.From)
	}
	left.CaptureCut, left.Counted = common.Emulator.Uncaptured > 0, Counted(common.Emulator)
	outcome.Collect(&left)
	g := &gathered{outcome: outcome, evidence: &left}
	if left.Live != nil {
		left.Path, left.Counted = nil, nil // nothing was emulated
	} else if left.HAR != nil {
		left.Headers = flowcontrol.ReadHeaders(&left) // before the next line, which decrypts packets in their place
		g.paths = critical.Find(&left)
	}
	return g
}

// Counted returns what an emulator counted of a load.
func Counted(r emulator.Report) *evidence.Counts {
	c := &evidence.Counts{Up: r.Arrived[network.Up], Down: r.Delivered[network.Down]}
	for _, n := range r.Dropped {
		c.Drops += n
	}
	return c
}

// writeHAR writes the load's HAR, if there is one, into the folder dir. The load itself does not
// write it, because the HAR holds the critical paths, which need the capture and are found only
// now, and a HAR is written once.
func (g *gathered) writeHAR(dir string) error {
	har := g.evidence.HAR
	if har == nil {
		return nil
	}
	text, err := json.Marshal(g.paths)
	if err != nil {
		return fmt.Errorf("encode the critical path: %w", err)
	}
	har.Log.CriticalPath = text
	// The folder is put into the store as a whole, so the file need not be written whole by itself.
	file, err := os.Create(filepath.Join(dir, g.outcome.Workload().Kind().HAR))
	if err != nil {
		return fmt.Errorf("write HAR: %w", err)
	}
	if err := errors.Join(har.Encode(file), file.Close()); err != nil {
		return fmt.Errorf("write HAR: %w", err)
	}
	return nil
}

// judge takes the load's figures and decides on its validity.
func (r *run) judge(record *store.LoadRecord, g *gathered) {
	set, common := g.outcome.Workload().Kind().Set, g.outcome.Common()
	record.Values = disturbances(g)
	maps.Copy(record.Values, g.outcome.Values())
	maps.Copy(record.Values, set.Values(g.evidence))
	record.Pages = metric.EachPage(g.evidence)
	if lacks, ok := errors.AsType[*workload.UnsupportedError](common.LoadError); ok {
		record.Validity, record.Reason, record.Final = store.Unsupported, lacks.Why, true
		record.Values, record.Pages = nil, nil
		return
	}
	if common.LoadError != nil {
		record.Validity, record.Reason = store.Failed, common.LoadError.Error()
		dropInfinite(record)
		return
	}
	record.Violations = slices.Concat(set.Violations(g.evidence), r.checkLateness(g), r.checkTaken(common.Taken), checkClock(common.ClockSet))
	record.Validity = store.Valid
	if len(record.Violations) > 0 {
		record.Validity, record.Reason = store.Invalid, record.Violations[0].Detail
	}
	dropInfinite(record)
}

// dropInfinite fails a load with figures that are no finite numbers, which the store refuses. Only what a load left can
// cause them, such as a HAR with moments that are too far apart.
func dropInfinite(record *store.LoadRecord) {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	for _, name := range slices.Sorted(maps.Keys(record.Values)) {
		if v := record.Values[name]; !finite(v) {
			record.Validity, record.Reason = store.Failed, fmt.Sprintf("its record is damaged: metric %s is %v", name, v)
			delete(record.Values, name)
		}
	}
	if slices.ContainsFunc(record.Pages, func(p study.Page) bool {
		return !finite(p.Started) || !finite(p.DCL) || !finite(p.OnLoad) || !finite(p.PLT)
	}) {
		record.Validity, record.Reason, record.Pages = store.Failed, "its record is damaged: a time of a page is not a finite number", nil
	}
}
