package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"wiretime/artefact"
	"wiretime/counts"
	"wiretime/guest"
	"wiretime/store"
	"wiretime/study"
)

// Repetition compares a load on the virtual clock with its second run.
type Repetition struct {
	Load   store.Load // as it is in the store
	Before int        // loads that its guest made before it
	Files  []FilePair // by name
	// Metrics is how many metrics the first or the second run has. Differences lists those
	// that differ, in display order.
	Metrics     int
	Differences []Difference
	// Validity and Reason are the second run's verdict.
	Validity store.Validity
	Reason   string
	// Dir has the second run's artefacts. It is removed when the repetition has been reported.
	Dir string
}

// FilePair is an artefact in the two runs; nil in a run that lacks it.
type FilePair struct {
	Name          string
	First, Second *store.File
}

// Same reports whether both runs have the file, with the same octets.
func (p FilePair) Same() bool { return p.First != nil && p.Second != nil && *p.First == *p.Second }

// Difference is a metric with different values in the two runs. A value is NaN if the run lacks
// the metric.
type Difference struct {
	Metric        study.Metric
	First, Second float64
}

// SameFiles reports whether all artefacts are equal byte for byte.
func (r Repetition) SameFiles() bool {
	return !slices.ContainsFunc(r.Files, func(p FilePair) bool { return !p.Same() })
}

// Same reports whether artefacts, metrics and verdict are the same in both runs.
func (r Repetition) Same() bool {
	return r.SameFiles() && len(r.Differences) == 0 && r.Validity == r.Load.Validity && r.Reason == r.Load.Reason
}

// Verify runs a sample of a finished run's loads on the virtual clock again, as Reproduce does.
// The loads are evenly spaced over the plan. report is called with each.
func Verify(ctx context.Context, c Config, samples int, report func(Repetition) error) error {
	kept, err := c.Store.Loads(c.Run)
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(l store.Load) bool { return l.Attempt > 1 || Irreproducible(l) != nil })
	if len(kept) == 0 {
		return errors.New("verify determinism: the run has no load on the virtual clock")
	}
	return Reproduce(ctx, c, evenly(kept, samples), func(int, int) {}, report)
}

// evenly returns n of all loads, evenly spaced.
func evenly(all []store.Load, n int) []store.Load {
	n = min(n, len(all))
	chosen := make([]store.Load, 0, n)
	for i := range n {
		chosen = append(chosen, all[i*len(all)/n])
	}
	return chosen
}

// Irreproducible returns why a load cannot be run again with the same outcome; nil if it can, by the
// same programs.
func Irreproducible(l store.Load) error {
	if l.Cell.Clock() != study.ClockVirtual {
		return fmt.Errorf("load %s ran on the real clock: it depends on what this machine and its other programs did at that moment, and nothing can repeat that", l.ID)
	}
	if l.Artefacts == "" && !l.Dropped {
		return fmt.Errorf("load %s left no artefacts: it is %s: %s", l.ID, l.Validity, l.Reason)
	}
	return nil
}

// Reproduce runs loads of a run on the virtual clock again and compares them with the store. What a load
// does depends on its guest, so each guest is booted as it was, and makes the loads that it made before. report is
// called with each repetition; an error of it ends Reproduce. progress is called after each load that guests have carried out,
// with how many these are and how many there will be.
func Reproduce(ctx context.Context, c Config, loads []store.Load, progress func(done, all int), report func(Repetition) error) (err error) {
	r := &run{Config: c}
	queue, err := r.queue()
	if err != nil {
		return err
	}
	if queue, err = r.carriedOut(queue); err != nil {
		return err
	}
	boots, err := r.boots(queue, loads)
	if err != nil {
		return err
	}
	if err := r.prepare(ctx, queue); err != nil {
		return err
	}
	host, err := guest.NewHost(r.Kernel, r.served)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	done, all := 0, 0
	for _, b := range boots {
		all += len(b.jobs)
	}
	for _, b := range boots {
		err := r.repeat(ctx, host, b, func() { done++; progress(done, all) }, report)
		if err != nil {
			return err
		}
	}
	return nil
}

// carriedOut returns the jobs on the virtual clock that could run when the run was made. What this
// machine can do now may be something else, and batches must be divided as they were.
func (r *run) carriedOut(queue []*job) ([]*job, error) {
	loads, err := r.Store.Loads(r.Run)
	if err != nil {
		return nil, err
	}
	unsupported := map[int]bool{}
	for _, l := range loads {
		if l.Validity == store.Unsupported {
			unsupported[l.Index] = true
		}
	}
	return slices.DeleteFunc(onClock(queue, study.ClockVirtual), func(j *job) bool { return unsupported[j.planned.Index] }), nil
}

// boots returns the boots that made these loads, each as far as its last one.
func (r *run) boots(queue []*job, loads []store.Load) ([]repeatedBoot, error) {
	all := batches(queue)
	var boots []repeatedBoot
	for _, l := range loads {
		b, place := find(all, l.Index)
		if b == nil {
			return nil, fmt.Errorf("run load %s again: the plan has no such load on the virtual clock", l.ID)
		}
		m, err := r.Store.Making(l.ID)
		if err != nil {
			return nil, err
		}
		first, attempt := 0, l.Attempt
		if m != nil {
			attempt = m.Attempt
			if _, first = find([]*batch{b}, m.Boot); first < 0 {
				return nil, fmt.Errorf("run load %s again: load %d of the plan, with which its guest began, is not in its batch: %w", l.ID, m.Boot, store.ErrDamaged)
			}
		} else if attempt > 1 {
			first = place
		}
		counted := hasCounts(l)
		at := slices.IndexFunc(boots, func(o repeatedBoot) bool {
			return o.batch == b && o.attempt == attempt && o.jobs[0] == b.jobs[first] && o.counted == counted
		})
		if at < 0 {
			at = len(boots)
			boots = append(boots, repeatedBoot{boot: boot{batch: b, attempt: attempt}, counted: counted, wanted: map[string]store.Load{}})
		}
		boots[at].jobs = b.jobs[first:max(place+1, first+len(boots[at].jobs))]
		boots[at].wanted[loadID(b.jobs[place], attempt)] = l
	}
	for _, b := range boots {
		for _, j := range b.jobs {
			if why := r.unsupported(j); why != "" {
				return nil, fmt.Errorf("run load %d of the plan again: it cannot run here: %s", j.planned.Index, why)
			}
		}
	}
	return boots, nil
}

// find returns the batch of a load of the plan and its place there; nil and -1 if none has it.
func find(all []*batch, index int) (*batch, int) {
	for _, b := range all {
		if i := slices.IndexFunc(b.jobs, func(j *job) bool { return j.planned.Index == index }); i >= 0 {
			return b, i
		}
	}
	return nil, -1
}

// repeatedBoot is a boot with the loads in the store that are compared, by the IDs that they have in the guest.
type repeatedBoot struct {
	boot
	counted bool // the guest counts what loads ask of its kernel, which moves them a little
	wanted  map[string]store.Load
}

// hasCounts reports whether the guest that made a load counted what it asked of the kernel.
func hasCounts(l store.Load) bool {
	if l.Artefacts == "" {
		return false
	}
	file, err := artefact.Contents(filepath.Join(l.Artefacts, counts.File))
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

func (r *run) repeat(ctx context.Context, host *guest.Host, b repeatedBoot, progress func(), report func(Repetition) error) error {
	done := 0
	orders := r.orders(b.jobs, b.attempt)
	orders.Count = b.counted
	return host.Run(ctx, r.machine(b.batch, b.jobs[0], b.attempt, 0), orders, func(result guest.Result) error {
		j, before := b.jobs[done], done
		done++
		progress()
		l, wanted := b.wanted[result.ID]
		if !wanted {
			return nil
		}
		repetition, err := r.compare(j, l, result)
		if err != nil {
			return fmt.Errorf("run load %s again: %w", l.ID, err)
		}
		repetition.Before = before
		return report(repetition)
	})
}

// compare judges what a load left now and compares it with the store.
func (r *run) compare(j *job, l store.Load, result guest.Result) (repetition Repetition, err error) {
	if result.Failed != nil {
		return repetition, result.Failed
	}
	read := r.readPackets(result.Dir)
	defer read.release()
	again := r.begin(j, time.Now())
	if err := r.evaluate(j, &again, result.Record, result.Dir, read); err != nil {
		return repetition, err
	}
	if superseded(l.Validity, l.Reason) && again.Validity == store.Valid {
		again.Validity, again.Reason = l.Validity, l.Reason
	}
	first, err := r.Store.Files(l)
	if err != nil {
		return repetition, err
	}
	second, err := store.Checksums(result.Dir)
	if err != nil {
		return repetition, err
	}
	first, second = slices.DeleteFunc(first, Unrepeatable), slices.DeleteFunc(second, Unrepeatable)
	metrics := Metrics(j.planned.Cell.Workload)
	repetition = Repetition{Load: l, Files: pairs(first, second), Dir: result.Dir, Validity: again.Validity, Reason: again.Reason,
		Differences: compareValues(metrics, l.Values, again.Values)}
	for _, m := range metrics {
		_, inFirst := l.Values[m.Name]
		_, inSecond := again.Values[m.Name]
		if inFirst || inSecond {
			repetition.Metrics++
		}
	}
	return repetition, nil
}

// Unrepeatable reports whether an artefact of a load on the virtual clock is another one each time: the counts, which hold the
// host's processor time, too.
func Unrepeatable(f store.File) bool { return f.Name == counts.File }

func pairs(first, second []store.File) []FilePair {
	var all []FilePair
	at := func(name string) *FilePair {
		i := slices.IndexFunc(all, func(p FilePair) bool { return p.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, FilePair{Name: name})
		}
		return &all[i]
	}
	for i, f := range first {
		at(f.Name).First = &first[i]
	}
	for i, f := range second {
		at(f.Name).Second = &second[i]
	}
	slices.SortFunc(all, func(a, b FilePair) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func compareValues(metrics []study.Metric, first, second map[string]float64) []Difference {
	var all []Difference
	for _, m := range metrics {
		a, inFirst := first[m.Name]
		b, inSecond := second[m.Name]
		if inFirst != inSecond || a != b {
			all = append(all, Difference{m, value(first, m.Name), value(second, m.Name)})
		}
	}
	return all
}

func value(values map[string]float64, name string) float64 {
	if v, ok := values[name]; ok {
		return v
	}
	return math.NaN()
}

// PutBack puts the artefacts of a repetition back into the store, from which they were dropped. They
// must be the same.
func PutBack(st *store.Store, r Repetition) error {
	dir, err := st.StageDir(r.Load.ID)
	if err != nil {
		return err
	}
	if err := copyFolder(r.Dir, dir, copyWhole); err != nil {
		return fmt.Errorf("put the artefacts of load %s back: %w", r.Load.ID, err)
	}
	return st.Restore(r.Load.ID)
}

// CopyTo copies the artefacts of a repetition to a folder, which must exist.
func (r Repetition) CopyTo(dir string) error {
	if err := copyFolder(r.Dir, dir, copyWhole); err != nil {
		return fmt.Errorf("copy the artefacts of load %s: %w", r.Load.ID, err)
	}
	return nil
}
