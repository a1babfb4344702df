package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wiretime/kernel"
	"wiretime/report"
	"wiretime/store"
)

// overviewCells is how many cells the stores have whose loads are only counted and summarised.
const overviewCells = 48

// reading measures f on stores with so many made-up loads.
func reading(b *testing.B, sizes []int, f func(b *testing.B, st *store.Store)) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "store")
			bigStore(b, dir, min(n, overviewCells), n, madeUp())
			for b.Loop() {
				st, err := store.Open(dir, store.Read)
				if err != nil {
					b.Fatal(err)
				}
				f(b, st)
				_ = st.Close()
			}
		})
	}
}

// BenchmarkOverview reads the results of an open store that tables show, as a live page over it does.
func BenchmarkOverview(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "store")
			from := madeUp()
			bigStore(b, dir, min(n, overviewCells), n, from)
			st, err := store.Open(dir, store.Read)
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			for b.Loop() {
				if _, err := st.Results(1, report.ShownMetrics(from.metrics, nil, nil)...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResults opens a store and prints its tables, as `wiretime results` does.
func BenchmarkResults(b *testing.B) {
	reading(b, []int{100, 1000, 10_000, 100_000}, func(b *testing.B, st *store.Store) {
		if err := printResults(io.Discard, st, 1, "median", false); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkExport opens a store and exports its loads.
func BenchmarkExport(b *testing.B) {
	for format, export := range map[string]func(*store.Store, io.Writer, int64) error{"csv": (*store.Store).ExportCSV, "json": (*store.Store).ExportJSON, "parquet": (*store.Store).ExportParquet} {
		b.Run(format, func(b *testing.B) {
			reading(b, []int{1000, 10_000, 100_000}, func(b *testing.B, st *store.Store) {
				var octets counter
				if err := export(st, &octets, 1); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(octets))
			})
		})
	}
}

// counter counts the octets that it is given.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// firstLook measures the study first-look on the virtual clock and returns its loads, to make bigger stores of.
func firstLook(b *testing.B) sampled {
	if _, err := kernel.Find(); err != nil {
		b.Skip("there is no kernel of the virtual clock: ", err)
	}
	dir := filepath.Join(b.TempDir(), "first-look")
	if out, err := exec.CommandContext(b.Context(), binary, "run", "first-look", "--store", dir).CombinedOutput(); err != nil {
		b.Fatalf("run first-look: %v\n%s", err, out)
	}
	return samplesOf(b, dir)
}

// samplesOf returns the loads of a store's first run.
func samplesOf(b *testing.B, dir string) sampled {
	st, err := store.Open(dir, store.Read)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	metrics, err := st.Metrics(1)
	if err != nil {
		b.Fatal(err)
	}
	loads, err := st.Loads(1)
	if err != nil {
		b.Fatal(err)
	}
	from := sampled{metrics: metrics}
	for _, l := range loads {
		from.samples = append(from.samples, sample{l.Values, l.Artefacts})
	}
	return from
}

// BenchmarkReport writes reports of stores whose loads have the files of real ones.
func BenchmarkReport(b *testing.B) {
	from := firstLook(b)
	for _, cells := range []int{12, 168} {
		for _, n := range []int{35, 353, 3528} {
			if n < cells {
				continue
			}
			b.Run(fmt.Sprintf("cells=%d/%d", cells, n), func(b *testing.B) {
				dir := filepath.Join(b.TempDir(), "store")
				bigStore(b, dir, cells, n, from)
				path := filepath.Join(b.TempDir(), "report.html")
				for b.Loop() {
					st, err := store.Open(dir, store.Read)
					if err != nil {
						b.Fatal(err)
					}
					if err := writeReport(st, 1, path); err != nil {
						b.Fatal(err)
					}
					_ = st.Close()
				}
				if info, err := os.Stat(path); err == nil {
					b.ReportMetric(float64(info.Size()), "octets")
				}
			})
		}
	}
}
