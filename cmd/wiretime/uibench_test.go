package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"wiretime/costtest"
	"wiretime/report"
	"wiretime/store"
)

// BenchmarkPage makes what the live page shows of a run, and of one of its cells, as JSON: of open stores with so many made-up loads.
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
				octets, began := 0, costtest.ProcessTime(b)
				for b.Loop() {
					value, err := read()
					if err != nil {
						b.Fatal(err)
					}
					text, err := json.Marshal(value)
					if err != nil {
						b.Fatal(err)
					}
					octets = len(text)
				}
				b.ReportMetric(float64(octets), "octets")
				b.ReportMetric((costtest.ProcessTime(b)-began).Seconds()/float64(b.N), "processor-s/op")
			})
		}
		_ = st.Close()
	}
}
