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

	"wiretime/guest"
	"wiretime/panics"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/workloads"
)

// pool carries attempts out: stations do on the real clock, guests on the virtual one, one live station on the live one.
type pool interface {
	// attempt carries out at least one attempt of each pending job, and ends each with run.end.
	// round counts the calls, from 0. Attempts that are under way when ctx ends stay pending.
	// Errors end the run.
	attempt(ctx context.Context, round int) error
	close() error
}

// attemptAll attempts the pending jobs of a queue until none needs a further attempt. open
// makes a pool for the jobs that can run, whether they are pending or not.
func (r *run) attemptAll(ctx context.Context, queue []*job, open func([]*job) (pool, error)) (err error) {
	for _, j := range pending(queue) {
		if why := r.unsupported(j); why != "" {
			if err := r.keepUnsupported(j, why); err != nil {
				return err
			}
		}
	}
	queue = r.supported(queue)
	if len(pending(queue)) == 0 {
		return nil
	}
	p, err := open(queue)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for round := 0; len(pending(queue)) > 0; round++ {
		if err := p.attempt(ctx, round); err != nil {
			return err
		}
	}
	return nil
}

// pending returns the jobs that need an attempt.
func pending(queue []*job) []*job {
	return slices.DeleteFunc(slices.Clone(queue), func(j *job) bool { return j.planned.Done })
}

// supported returns the jobs that can run here. It depends on the plan and the machine only, and
// so do the batches that are made of them.
func (r *run) supported(queue []*job) []*job {
	return slices.DeleteFunc(slices.Clone(queue), func(j *job) bool { return r.unsupported(j) != "" })
}

// unsupported returns why the job cannot run here, "" if it can.
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
	if cell.Clock() == study.ClockLive {
		return ""
	}
	if has := r.congestion[cell.Clock()]; !slices.Contains(has, cell.On(study.AxisCongestion)) {
		return fmt.Sprintf("the kernel of the %s clock has no congestion control %q; it has %s", cell.Clock(), cell.On(study.AxisCongestion), strings.Join(has, ", "))
	}
	return ""
}

// congestionControls returns those of the running kernel.
func congestionControls() []string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// begin returns the record of an attempt that began at a time.
func (r *run) begin(j *job, started time.Time) store.LoadRecord {
	return store.LoadRecord{Planned: j.planned, Attempt: j.attempt, Started: started, Final: j.attempt > r.Options.Retries}
}

// end judges an attempt, keeps it, and notes whether the load needs a further one. dir has the
// attempt's artefacts. failed says why the lab failed; then there is no outcome. An outcome
// whose artefacts cannot be read is a failed attempt, too.
func (r *run) end(j *job, record store.LoadRecord, outcome workload.Outcome, dir string, failed error) error {
	if failed != nil {
		return r.endWith(j, record, nil, dir, nil, failed)
	}
	read := &packets{release: func() {}}
	if captured(j, outcome) {
		read = r.readPackets(dir)
	}
	defer read.release()
	return r.endWith(j, record, outcome, dir, read, nil)
}

// captured reports whether a load has left a capture that is evidence.
func captured(j *job, outcome workload.Outcome) bool {
	if page, ok := outcome.(*pageload.Record); ok && page.Live != nil {
		return page.Live.Whole()
	}
	return !workloads.Of(j.planned.Cell.Workload).Kind().Loopback
}

// endWith ends an attempt, as end does, whose capture was read.
func (r *run) endWith(j *job, record store.LoadRecord, outcome workload.Outcome, dir string, read *packets, failed error) error {
	if failed == nil {
		failed = panics.Do(func() error { return r.evaluate(j, &record, outcome, dir, read) })
	}
	if errors.Is(failed, syscall.ENOSPC) {
		return diskFull(record.ID(), failed)
	}
	cause := failed
	if failed != nil {
		record.Validity, record.Reason = store.Failed, failed.Error()
		record.Values, record.Violations, record.Pages = nil, nil, nil
	} else {
		cause = outcome.Common().LoadError
	}
	if err := r.keepPanic(record.ID(), dir, panics.In(cause)); err != nil {
		return err
	}
	record.Wall = time.Since(record.Started)
	return r.keep(j, record)
}

// evaluate turns what a load left into figures and a verdict.
func (r *run) evaluate(j *job, record *store.LoadRecord, outcome workload.Outcome, dir string, read *packets) error {
	if read.err != nil {
		return read.err
	}
	g := gather(j, outcome, read.Packets)
	if err := g.writeHAR(dir); err != nil {
		return err
	}
	r.judge(record, g)
	return nil
}

// panicFile is the artefact of a load that a bug of this program has ended: the panic with its stack.
const panicFile = "panic.txt"

// keepPanic puts a panic, if there is one, beside the attempt's artefacts in the folder dir, or in a new one.
func (r *run) keepPanic(id, dir string, p *panics.Panic) (err error) {
	if p == nil {
		return nil
	}
	if dir == "" {
		dir, err = r.keeper.StageDir(id)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, panicFile), []byte(p.Report()), 0o644)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return diskFull(id, err)
	}
	return err
}

func diskFull(id string, err error) error {
	return fmt.Errorf("load %s: %w: %w", id, store.ErrDiskFull, err)
}

func (r *run) keepUnsupported(j *job, why string) error {
	record := r.begin(j, time.Now())
	record.Validity, record.Reason, record.Final = store.Unsupported, why, true
	return r.keep(j, record)
}

// keep puts the attempt into the store and reports it.
func (r *run) keep(j *job, record store.LoadRecord) error {
	if j.series != nil {
		return r.keepInSeries(j, record)
	}
	Keep(&record, r.Keep)
	if err := r.keeper.Commit(record); err != nil {
		return err
	}
	j.attempt++
	j.planned.Done = record.Final || record.Validity == store.Valid
	if j.planned.Done && !record.Drop {
		if err := r.trim([]*job{j}); err != nil {
			return err
		}
	}
	r.report(j, record, j.planned.Done)
	return nil
}

// report reports an attempt and notes it in the run's pace. done says that its load, or its whole session, needs no
// further attempt.
func (r *run) report(j *job, record store.LoadRecord, done bool) {
	a := Attempt{ID: record.ID(), Cell: j.planned.Cell, Validity: record.Validity, Reason: record.Reason}
	a.Headline, a.Value, a.Lasted = headline(j, record)
	if j.series != nil {
		a.Of = len(j.series.jobs)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Done, a.Planned, a.Remaining = r.pace.note(j, record.Wall, done)
	r.Report(a)
}

// turn notes that an attempt at one job has ended and one at another has begun; nil: none.
func (r *run) turn(ended, begun *job) {
	if r.UnderWay == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.loading, ended); i >= 0 {
		r.loading = slices.Delete(r.loading, i, i+1)
	}
	if begun != nil {
		r.loading = append(r.loading, begun)
	}
	cells := make([]study.Cell, len(r.loading))
	for i, j := range r.loading {
		cells[i] = j.planned.Cell
	}
	r.UnderWay(cells)
}

// maxLabFailures is how many labs may fail in a row before the run stops. So many failures are
// the machine's fault, not a load's.
const maxLabFailures = 5

// errGivenUp ends a run on a machine whose labs fail one after the other.
var errGivenUp = errors.New("stop the run")

// labFailed counts the failure of a lab. It returns an error if the run must stop.
func (r *run) labFailed(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures++; r.failures < maxLabFailures {
		return nil
	}
	return fmt.Errorf("%w: the lab failed %d times in a row; the last time: %w", errGivenUp, r.failures, err)
}

// labWorked notes that a lab has done a load.
func (r *run) labWorked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = 0
}
