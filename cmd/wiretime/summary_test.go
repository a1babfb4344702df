package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"wiretime/stats"
	"wiretime/store"
)

// TestTheSummaryFollowsItsSchema exports summaries of runs with and without intervals, claims and unsupported loads.
func TestTheSummaryFollowsItsSchema(t *testing.T) {
	t.Parallel()
	schema, err := filepath.Abs("../../docs/summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	u := self(t)
	bigStore(t, filepath.Join(u.home, "store"), 8, 50, madeUp())
	db, err := sql.Open("sqlite", filepath.Join(u.home, "store", "wiretime.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE run SET finished = started;
		UPDATE load SET validity = 'unsupported', reason = 'cannot run here' WHERE id IN ('r1-0003-a1', 'r1-0011-a1');
		INSERT INTO claim (run, number, text, ratio, low, high, open) VALUES (1, 1, 'It is no slower.', 'at most 1.5', NULL, 1.5, 0);
		INSERT INTO claim_pair (run, claim, number, metric, cell, to_metric, to_cell) VALUES (1, 1, 1, 'plt', 1, 'plt', 2), (1, 1, 2, 'plt', 5, 'nothing', 6)`); err != nil {
		t.Fatal(err)
	}
	u.runs(t, 0, "export", "summary", "--store", "store", "-o", "summary.json")
	var objections []any
	readBy(t, &objections, "schema.mjs", schema, filepath.Join(u.home, "summary.json"))
	if len(objections) > 0 {
		t.Errorf("the summary does not follow its schema: %v", objections)
	}
	// A key that the schema does not know, and one that is missing, are found.
	var changed map[string]any
	text := u.runs(t, 0, "export", "summary", "--store", "store").out
	if err := json.Unmarshal([]byte(text), &changed); err != nil {
		t.Fatal(err)
	}
	delete(changed, "cells")
	changed["kells"] = 1
	damaged, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	readBy(t, &objections, "schema.mjs", schema, u.write(t, "damaged.json", string(damaged)))
	if len(objections) != 2 {
		t.Errorf("of a document without its cells and with an unknown key it says %v", objections)
	}
	agreesWithResults(t, filepath.Join(u.home, "store"), text)
}

// agreesWithResults compares a summary with the store that it was made of.
func agreesWithResults(t *testing.T, dir, text string) {
	t.Helper()
	var s struct {
		Cells []struct {
			Key      string
			Axes     map[string]string
			Attempts struct{ Valid, Unsupported int }
			Metrics  map[string]struct {
				N         int
				Median    float64
				Low, High *float64
			}
		}
		Claims []struct {
			Verdict string
			Pairs   []struct {
				Outcome string
				Value   *float64
			}
		}
		Unsupported []struct{ Loads int }
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	results, _, err := st.ResultsAndLoads(1)
	if err != nil || len(results) != len(s.Cells) {
		t.Fatalf("%d cells, want %d (error %v)", len(s.Cells), len(results), err)
	}
	for i, c := range s.Cells {
		r := results[i]
		if c.Key != r.Cell.Key() || c.Axes["protocol"] != r.Cell.Over() || c.Attempts.Valid != r.Valid || c.Attempts.Unsupported != r.Unsupported || len(c.Metrics) != len(r.Values) {
			t.Errorf("cell %d is %+v, want %+v", i, c, r)
		}
		for name, m := range c.Metrics {
			want := stats.Median(r.Values[name])
			if m.N != want.N || m.Median != want.Median || (m.Low != nil) != want.Reached || m.Low != nil && (*m.Low != want.Low || *m.High != want.High) {
				t.Errorf("%s: %s is %+v, want %+v", c.Key, name, m, want)
			}
		}
	}
	if len(s.Claims) != 1 || len(s.Claims[0].Pairs) != 2 || s.Claims[0].Pairs[0].Outcome != "held" || s.Claims[0].Pairs[1].Outcome != "not measured" ||
		s.Claims[0].Pairs[1].Value != nil || !strings.HasPrefix(s.Claims[0].Verdict, "held in 1 of 2") {
		t.Errorf("the claims are %+v", s.Claims)
	}
	if len(s.Unsupported) != 1 || s.Unsupported[0].Loads != 2 {
		t.Errorf("unsupported are %+v", s.Unsupported)
	}
}
