package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestParquetIsReadElsewhere has another program, in another language, read the Parquet export: it has the rows of the CSV.
func TestParquetIsReadElsewhere(t *testing.T) {
	t.Parallel()
	u := self(t)
	bigStore(t, filepath.Join(u.home, "store"), 4, 12, madeUp())
	u.runs(t, 0, "export", "parquet", "--store", "store", "-o", "loads.parquet")
	u.runs(t, 0, "export", "csv", "--store", "store", "-o", "loads.csv")
	var rows [][]string
	readBy(t, &rows, "parquet.mjs", filepath.Join(u.home, "loads.parquet"))
	text, err := os.ReadFile(filepath.Join(u.home, "loads.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(want) < 12*15 || len(rows) != len(want) {
		t.Fatalf("%d rows, the CSV has %d (error %v)", len(rows), len(want), err)
	}
	for i := range want {
		for j, name := range want[0] {
			got := rows[i][j]
			if name == "started" && i > 0 {
				ns, err := strconv.ParseInt(got, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got = time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
			}
			if got != want[i][j] {
				t.Fatalf("row %d: %s is %q, in the CSV %q", i, name, got, want[i][j])
			}
		}
	}
}

// TestAnExportThatFailsLeavesTheFileAsItWas exports a run that is not there.
func TestAnExportThatFailsLeavesTheFileAsItWas(t *testing.T) {
	t.Parallel()
	u := self(t)
	bigStore(t, filepath.Join(u.home, "store"), 4, 4, madeUp())
	kept := u.write(t, "kept.csv", "as it was")
	u.runs(t, 1, "export", "parquet", "--store", "store", "--run", "9", "-o", "kept.csv")
	if text, err := os.ReadFile(kept); err != nil || string(text) != "as it was" {
		t.Errorf("an export that failed left %q (error %v)", text, err)
	}
}
