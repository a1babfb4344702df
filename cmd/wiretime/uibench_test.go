package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"wiretime/report"
	"wiretime/store"
)

// BenchmarkPage makes what the live page shows first of a run, a metric's ratios apart, and of one of its cells, as JSON: of stores with so many
// made-up loads that are open.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		dir := filepath.Join(b.TempDir(), "store")
		bigStore(b, dir, overviewCells, n, madeUp())
		st, err := store.Open(dir, store.Read)
		if err != nil {
			b.Fatal(err)
		}
		for name, read := range map[string]func() (any, error){
			"overview": func() (any, error) { return report.CollectCells(st, 1) },
			"cell": func() (any, error) {
				data, _, err := report.OfCell(st, 1, overviewCells/2, report.Files{})
				return data, err
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					value, err := read()
					if err != nil {
						b.Fatal(err)
					}
					text, err := json.Marshal(value)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(len(text)), "octets")
				}
			})
		}
		_ = st.Close()
	}
}
