package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
	"wiretime/study"
)

// manyMetrics is how many metrics the loads of wideSpec have, about as many as those of pages.
const manyMetrics = 40

// wideSpec returns a run of at least so many planned loads in 100 cells, with 40 metrics.
func wideSpec(loads int) RunSpec {
	s := spec(0)
	s.Metrics, s.Cells = nil, nil
	for i := range manyMetrics {
		s.Metrics = append(s.Metrics, study.Metric{Name: fmt.Sprintf("metric_%02d", i), Unit: "ms", Title: "M", Definition: "made up"})
	}
	for i := range 100 {
		s.Cells = append(s.Cells, pageCell("h2").With(study.AxisSite, fmt.Sprintf("site-%02d", i)))
	}
	s.Plan = (&study.Study{Seed: 1, Repeats: (loads + 99) / 100}).Plan(s.Cells)
	return s
}

// wide returns a valid attempt with a value of each of the 40 metrics.
func wide(p Planned) LoadRecord {
	r := measured(p)
	r.Values = make(map[string]float64, manyMetrics)
	for i := range manyMetrics {
		r.Values[fmt.Sprintf("metric_%02d", i)] = float64(p.Index) + float64(i)/7
	}
	r.Making = &Making{Programs: map[string]string{"wiretime": "v1", "kernel": "k"}, Boot: p.Index - p.Index%40, Attempt: 1}
	return r
}

// BenchmarkCommit keeps batches of 40 loads with 40 values each in a run of a million planned loads, with and without
// files of 20 kB. An operation is a load.
func BenchmarkCommit(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "s"), Create)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	run, err := s.BeginRun(wideSpec(1_000_000))
	if err != nil {
		b.Fatal(err)
	}
	plan, err := s.Plan(run)
	if err != nil {
		b.Fatal(err)
	}
	content := make([]byte, 20_000)
	for _, files := range []int{0, 3} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			var used, lasted time.Duration
			for done := 0; done < b.N; {
				var records []LoadRecord
				for _, p := range plan[:min(40, b.N-done)] {
					r := wide(p)
					records = append(records, r)
					if files == 0 {
						continue
					}
					dir, err := s.StageDir(r.ID())
					if err != nil {
						b.Fatal(err)
					}
					for i := range files {
						if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file-", i)), content, 0o644); err != nil {
							b.Fatal(err)
						}
					}
				}
				plan = plan[len(records):]
				began, since := costtest.ProcessTime(b), time.Now()
				if err := s.Commit(records...); err != nil {
					b.Fatal(err)
				}
				used += costtest.ProcessTime(b) - began
				lasted += time.Since(since)
				done += len(records)
			}
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "processor-ms/op")
			b.ReportMetric(lasted.Seconds()*1000/float64(b.N), "wall-ms/op")
		})
	}
}

// BenchmarkBeginRun plans a million loads, and goes through them.
func BenchmarkBeginRun(b *testing.B) {
	peak := func() (kB int) {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kB); err == nil {
				return kB
			}
		}
		b.Fatal("no peak memory in /proc/self/status")
		return 0
	}
	for b.Loop() {
		s, err := Open(filepath.Join(b.TempDir(), "s"), Create)
		if err != nil {
			b.Fatal(err)
		}
		spec := wideSpec(1_000_000)
		b.ReportMetric(float64(peak())/1000, "MB-plan")
		began, since := costtest.ProcessTime(b), time.Now()
		if _, err := s.BeginRun(spec); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((costtest.ProcessTime(b) - began).Seconds(), "processor-s-begin")
		b.ReportMetric(time.Since(since).Seconds(), "wall-s-begin")
		b.ReportMetric(float64(peak())/1000, "MB-begin")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
