package main

import (
	"fmt"
	"slices"

	"wiretime/report"
	"wiretime/store"
)

// studyVerdicts is what a run of a study said of its paper.
type studyVerdicts struct {
	run    string            // which run, in words
	claims map[string]string // verdicts by the claim's text
	tables map[string]string // comparisons by the printed table's source
}

// lastVerdicts returns what the last run of each study in the stores said, by the study's name. A later store wins.
func lastVerdicts(stores []string) (map[string]studyVerdicts, error) {
	all := map[string]studyVerdicts{}
	for _, dir := range stores {
		if err := verdictsOf(dir, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// verdictsOf adds what the last run of each study in one store said.
func verdictsOf(dir string, all map[string]studyVerdicts) error {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		return err
	}
	defer st.Close()
	noteKey(st)
	runs, err := st.Runs()
	if err != nil {
		return err
	}
	last := map[string]store.Run{}
	for _, r := range runs {
		last[r.StudyName] = r
	}
	for name, r := range last {
		v, err := verdictsOfRun(st, r)
		if err != nil {
			return fmt.Errorf("judge run %d of store %s: %w", r.ID, dir, err)
		}
		v.run = fmt.Sprintf("run %d of store %s", r.ID, dir)
		switch {
		case r.Done < r.Planned:
			v.run += fmt.Sprintf(", %d of %d loads done", r.Done, r.Planned)
		case r.Quick():
			v.run += ", a quick run"
		}
		all[name] = v
	}
	return nil
}

func verdictsOfRun(st *store.Store, run store.Run) (v studyVerdicts, err error) {
	metrics, err := st.Metrics(run.ID)
	if err != nil {
		return v, err
	}
	published, err := st.Published(run.ID)
	if err != nil {
		return v, err
	}
	claims, err := st.Claims(run.ID)
	if err != nil {
		return v, err
	}
	v.claims, v.tables = map[string]string{}, map[string]string{}
	if len(published) == 0 && len(claims) == 0 {
		return v, nil
	}
	results, err := st.Results(run.ID, report.ShownMetrics(metrics, published, claims)...)
	if err != nil {
		return v, err
	}
	for _, c := range report.JudgeClaims(results, metrics, claims, run.Seed) {
		v.claims[c.Text] = c.Verdict + spread(c)
	}
	for _, t := range report.CompareTables(results, published, run.Seed) {
		v.tables[t.Source] = besidePrinted(t)
	}
	return v, nil
}

// besidePrinted says how the measured figures of a table compare with the printed ones.
func besidePrinted(t report.Printed) string {
	var ratios []float64
	for _, f := range t.Figures {
		if f.Ratio > 0 {
			ratios = append(ratios, f.Ratio)
		}
	}
	if len(ratios) == 0 {
		return "not measured"
	}
	slices.Sort(ratios)
	return fmt.Sprintf("%d of %d figures measured: %.2f to %.2f times the printed ones, in the middle %.2f times",
		len(ratios), len(t.Figures), ratios[0], ratios[len(ratios)-1], ratios[len(ratios)/2])
}
