package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"wiretime/artefact"
	"wiretime/guest"
	"wiretime/lab"
	"wiretime/store"
	"wiretime/study"
)

// Repetition compares a load on the virtual clock with its second run.
type Repetition struct {
	ID   string
	Cell study.Cell
	// SameCapture reports whether both captures are equal byte for byte, and the workload's
	// other files (workload.Kind.Files), too.
	SameCapture bool
	// Differences lists the metrics that differ, in display order.
	Differences []Difference
}

// Difference is a metric with different values in the two runs. A value is NaN if the run lacks
// the metric.
type Difference struct {
	Metric        study.Metric
	First, Second float64
}

// Verify runs a sample of a finished run's loads on the virtual clock again and compares them with
// the store. The loads are evenly spaced over the plan. Each runs in a new guest, after the loads
// that came before it in its batch. report is called with each repetition, in the order of the plan.
func Verify(ctx context.Context, c Config, samples int, report func(Repetition)) (err error) {
	r := &run{Config: c}
	queue, err := r.queue()
	if err != nil {
		return err
	}
	queue = onClock(queue, study.ClockVirtual)
	if err := r.prepare(ctx, queue); err != nil {
		return err
	}
	kept, err := c.Store.Loads(c.Run)
	if err != nil {
		return err
	}
	first := map[string]store.Load{} // first attempts that a guest finished
	for _, l := range kept {
		if l.Artefacts != "" && l.Attempt == 1 {
			first[l.ID] = l
		}
	}
	var chosen []sample
	for _, b := range batches(r.supported(queue)) {
		for i, j := range b.jobs {
			if l, ok := first[loadID(j, 1)]; ok {
				chosen = append(chosen, sample{b, i, l})
			}
		}
	}
	if len(chosen) == 0 {
		return errors.New("verify determinism: the run has no load on the virtual clock")
	}
	chosen = evenly(chosen, samples)
	host, err := guest.NewHost(r.Kernel, r.served)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	for _, s := range chosen {
		repetition, err := r.repeat(ctx, host, s)
		if err != nil {
			return fmt.Errorf("run load %s again: %w", s.kept.ID, err)
		}
		report(repetition)
	}
	return nil
}

// sample is a load to be run again, at a place of its batch.
type sample struct {
	batch *batch
	place int
	kept  store.Load
}

// evenly returns n of all samples, evenly spaced.
func evenly(all []sample, n int) []sample {
	n = min(n, len(all))
	chosen := make([]sample, 0, n)
	for i := range n {
		chosen = append(chosen, all[i*len(all)/n])
	}
	return chosen
}

func (r *run) repeat(ctx context.Context, host *guest.Host, s sample) (repetition Repetition, err error) {
	jobs := s.batch.jobs[:s.place+1]
	j := jobs[s.place]
	repetition = Repetition{ID: s.kept.ID, Cell: s.kept.Cell}
	err = host.Run(ctx, r.machine(s.batch, jobs[0], 1, 0), r.orders(jobs, 1), func(result guest.Result) error {
		if result.ID != s.kept.ID {
			return nil
		}
		if result.Failed != nil {
			return result.Failed
		}
		read := r.readPackets(result.Dir)
		defer read.release()
		if read.err != nil {
			return read.err
		}
		again := r.begin(j, time.Now())
		r.judge(&again, gather(j, result.Record, read.Packets))
		metrics, files := Metrics(j.planned.Cell.Workload), append([]string{lab.CaptureFile}, j.kind().Files...)
		repetition.Differences = compareValues(metrics, s.kept.Values, again.Values)
		repetition.SameCapture = true
		for _, file := range files {
			same, err := sameFile(filepath.Join(s.kept.Artefacts, file), filepath.Join(result.Dir, file))
			if err != nil {
				return err
			}
			repetition.SameCapture = repetition.SameCapture && same
		}
		return nil
	})
	return repetition, err
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

// sameFile compares two artefacts, which may be larger than memory.
func sameFile(a, b string) (bool, error) {
	first, err := artefact.Open(a)
	if err != nil {
		return false, err
	}
	defer first.Close()
	second, err := artefact.Open(b)
	if err != nil {
		return false, err
	}
	defer second.Close()
	const piece = 64 << 10
	here, there := make([]byte, piece), make([]byte, piece)
	for {
		n, err := io.ReadFull(first, here)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false, err
		}
		m, err := io.ReadFull(second, there)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if ended || !bytes.Equal(here[:n], there[:m]) {
			return bytes.Equal(here[:n], there[:m]), nil
		}
	}
}

func value(values map[string]float64, name string) float64 {
	if v, ok := values[name]; ok {
		return v
	}
	return math.NaN()
}
