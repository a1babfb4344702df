package main

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wiretime/stats"
	"wiretime/store"
)

// TestTheViewsMediansAreThePrograms compares the medians, intervals and ranges of all cells and metrics with those of package
// stats: of few values, of even and odd numbers, and of enough for an interval.
func TestTheViewsMediansAreThePrograms(t *testing.T) {
	t.Parallel()
	for _, loads := range []int{3, 8, 8*5 + 3, 8*40 + 1} {
		t.Run(fmt.Sprint(loads, " loads"), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			bigStore(t, dir, 8, loads, madeUp())
			st, err := store.Open(dir, store.Read)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			results, _, err := st.ResultsAndLoads(1)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", filepath.Join(dir, "wiretime.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			compared := 0
			for i, r := range results {
				for name, values := range r.Values {
					want := stats.Median(values)
					var n int
					var median, least, most float64
					var low, high sql.NullFloat64
					err := db.QueryRow("SELECT n, median, low, high, least, most FROM medians WHERE run = 1 AND cell = ? AND metric = ?", i+1, name).
						Scan(&n, &median, &low, &high, &least, &most)
					if err != nil {
						t.Fatalf("cell %d, %s: %v", i+1, name, err)
					}
					if n != want.N || math.Abs(median-want.Median) > 1e-9*want.Median || least != slices.Min(values) || most != slices.Max(values) {
						t.Errorf("cell %d, %s: %d values, median %v, %v to %v; want %+v", i+1, name, n, median, least, most, want)
					}
					if low.Valid != want.Reached || high.Valid != want.Reached || want.Reached && (low.Float64 != want.Low || high.Float64 != want.High) {
						t.Errorf("cell %d, %s: the interval is %v to %v, want %+v", i+1, name, low, high, want)
					}
					compared++
				}
			}
			if compared < min(loads, 8)*15 {
				t.Errorf("%d medians were compared", compared)
			}
		})
	}
}

// sqlBlock finds the queries of a page, with what is shown below them.
var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)\n```\n(?:\n```\n(.*?)\n```\n)?")

// TestTheQueriesOfTheDocumentation has the sqlite3 shell run each query of the documentation on a store with a load that failed
// and one that broke a rule. Where a page shows what a query prints, it prints the same columns here.
func TestTheQueriesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	bigStore(t, dir, 8, 56, madeUp())
	db, err := sql.Open("sqlite", filepath.Join(dir, "wiretime.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE run SET environment = '{"wiretime": "0123456789ab", "kernel": "6.1", "virtual_kernel": "7.3"}';
		UPDATE load SET validity = 'failed', reason = 'the browser ended' WHERE id = 'r1-0003-a1';
		UPDATE load SET validity = 'invalid', reason = 'rule 3: late' WHERE id = 'r1-0004-a1';
		INSERT INTO violation VALUES ('r1-0004-a1', 3, 'late'), ('r1-0004-a1', 1, 'over h2')`); err != nil {
		t.Fatal(err)
	}
	for page, least := range map[string]int{"sql.md": 8, "store.md": 1} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		queries := sqlBlock.FindAllStringSubmatch(string(text), -1)
		if len(queries) < least {
			t.Errorf("%s has %d queries, want %d at least", page, len(queries), least)
		}
		for _, q := range queries {
			shell := exec.CommandContext(t.Context(), "sqlite3", "-readonly", "-header", "-column", filepath.Join(dir, "wiretime.db"))
			shell.Stdin = strings.NewReader(q[1])
			out, err := shell.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s\n%s", page, err, q[1], out)
				continue
			}
			first, rows, _ := strings.Cut(string(out), "\n")
			if strings.Count(rows, "\n") < 2 {
				t.Errorf("%s: a query finds nothing:\n%s", page, q[1])
			}
			shown, _, _ := strings.Cut(q[2], "\n")
			if q[2] != "" && !slices.Equal(strings.Fields(first), strings.Fields(shown)) {
				t.Errorf("%s: the page shows the columns %q, the query has %q:\n%s", page, shown, first, q[1])
			}
		}
	}
}
