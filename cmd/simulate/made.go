package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"wiretime/campaign"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// invalidShare is how many attempts are made to be invalid, so that they are repeated.
const invalidShare = 0.02

// artefactOctets is the size of a made artefact.
const artefactOctets = 2000

// executor makes records up. Those of a load follow from its seed, as they do on the virtual clock.
type executor struct {
	plan      *campaign.Plan
	cells     []study.Cell
	metrics   []study.Metric
	artefacts int
	pause     func() time.Duration // draws how long a batch takes
}

func (executor) Close() error { return nil }

// Do does what runner.Executor does, but measures nothing.
func (e executor) Do(ctx context.Context, _ int, b runner.Batch, dir string, attempted func()) ([]store.LoadRecord, error) {
	select {
	case <-time.After(e.pause()):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var all []store.LoadRecord
	for _, l := range b.Loads {
		if l.Done {
			continue
		}
		planned := store.Planned{Run: e.plan.Run, Index: l.Index, Cell: e.cells[l.Cell], Repeat: l.Repeat, Seed: l.Seed}
		last := attemptsOf(l.Seed, e.plan.Options.Retries)
		for attempt := l.Attempts + 1; attempt <= last; attempt++ {
			r := store.LoadRecord{
				Planned: planned, Attempt: attempt, Started: time.Now(), Wall: time.Second, Validity: store.Valid, Values: valuesOf(e.metrics, l.Seed, attempt),
				Final: attempt > e.plan.Options.Retries, Making: &store.Making{Boot: b.Loads[0].Index, Attempt: attempt},
			}
			if isInvalid(l.Seed, attempt) {
				r.Validity, r.Reason = store.Invalid, "rule 3: made to be invalid"
				r.Violations = []study.Violation{{Rule: 3, Detail: "made to be invalid"}}
			}
			var err error
			if r.Files, err = e.leave(filepath.Join(dir, r.ID()), l.Seed); err != nil {
				return nil, err
			}
			all = append(all, r)
			attempted()
		}
	}
	return all, nil
}

// leave writes the artefacts of an attempt.
func (e executor) leave(dir string, seed uint64) ([]store.File, error) {
	if e.artefacts == 0 {
		return nil, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	var all []store.File
	for i := range e.artefacts {
		random, content := rand.NewPCG(seed, uint64(i)), make([]byte, 0, artefactOctets)
		for len(content) < artefactOctets {
			content = fmt.Appendf(content, "%016x", random.Uint64())
		}
		name, digest := fmt.Sprintf("artefact-%d", i), sha256.Sum256(content)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
		all = append(all, store.File{Name: name, Octets: int64(len(content)), SHA256: hex.EncodeToString(digest[:])})
	}
	return all, nil
}

// attemptsOf returns how many attempts a load needs.
func attemptsOf(seed uint64, retries int) int {
	attempt := 1
	for attempt <= retries && isInvalid(seed, attempt) {
		attempt++
	}
	return attempt
}

func isInvalid(seed uint64, attempt int) bool {
	return rand.New(rand.NewPCG(seed, uint64(attempt))).Float64() < invalidShare
}

// valuesOf returns a figure for each metric.
func valuesOf(metrics []study.Metric, seed uint64, attempt int) map[string]float64 {
	random := rand.New(rand.NewPCG(seed, uint64(attempt)<<32))
	values := make(map[string]float64, len(metrics))
	for _, m := range metrics {
		values[m.Name] = random.Float64() * 10_000
	}
	return values
}
