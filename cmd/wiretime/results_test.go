package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/store"
)

// kept makes a store with a run of h2 and h3 on the given clocks. The n-th load
// of a cell takes 1000 ms and n more; h3 takes 50 ms of processor time on the
// real clock.
func kept(t *testing.T, dir string, clocks ...string) {
	t.Helper()
	st, err := store.Open(dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	spec := store.RunSpec{StudyName: "clocks", StudyText: "name: clocks", Environment: json.RawMessage(`{}`), Started: time.Unix(1, 0),
		Metrics: []store.Metric{{Name: "plt", Unit: "ms", Title: "PLT", Definition: "until the last byte"}}}
	for _, clock := range clocks {
		for _, protocol := range []string{"h2", "h3"} {
			c := store.Cell{Key: protocol + " " + clock, Site: "page", Protocol: protocol, Network: "cable", NetworkJSON: json.RawMessage(`{}`),
				Loader: "chromium", Congestion: "cubic", InitCwnd: 10, Clock: clock}
			spec.Cells = append(spec.Cells, c)
			for repeat := range 6 {
				spec.Plan = append(spec.Plan, store.PlannedSpec{Cell: c.Key, Repeat: repeat})
			}
		}
	}
	run, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := st.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		plt := 1000 + float64(p.Repeat)
		if p.Cell.Protocol == "h3" && p.Cell.Clock == "real" {
			plt += 50
		}
		if err := st.Commit(store.LoadRecord{Planned: p, Attempt: 1, Started: time.Unix(2, 0), Validity: store.Valid, Values: map[string]float64{"plt": plt}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResultsKeepTheClocksApartAndCompareThem(t *testing.T) {
	for _, c := range []struct {
		clocks        []string
		shows, spares []string
	}{
		{[]string{"real"}, []string{"initcwnd 10)\n"}, []string{"clock\n", "Two clocks", "processor time"}},
		{[]string{"virtual"}, []string{"initcwnd 10), virtual clock\n", "processor time counts as zero"}, []string{"Two clocks", "real clock"}},
		{[]string{"real", "virtual"}, []string{
			"initcwnd 10), real clock\n", "initcwnd 10), virtual clock\n",
			"Two clocks. 1 of 2 pairs on networks without loss (50 %) agree within 1 %.",
			"h2        1002.5    1002.5       1.000 [0.9", "h3        1052.5    1002.5       0.952 [0.9",
		}, nil},
	} {
		t.Run(fmt.Sprint(c.clocks), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			kept(t, dir, c.clocks...)
			r := self(t).run(t, "results", "--store", dir)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			for _, text := range c.shows {
				if !strings.Contains(r.out, text) {
					t.Errorf("%q is not in\n%s", text, r.out)
				}
			}
			for _, text := range c.spares {
				if strings.Contains(r.out, text) {
					t.Errorf("%q is in\n%s", text, r.out)
				}
			}
			shown := self(t).run(t, "show", "r1-0000-a1", "--store", dir)
			if !strings.Contains(shown.out, "clock                  "+c.clocks[0]+"\n") {
				t.Errorf("the load does not say its clock:\n%s", shown.out)
			}
		})
	}
}
