package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"wiretime/store"
)

// TestMain lets the test's program be the process of the workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workersRole {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSimulation: the store has each load once, some after several attempts, with the figures and the artefacts that its seed says.
func TestSimulation(t *testing.T) {
	for _, p := range []point{{Workers: 50, Loads: 5_000, Seed: 7}, {Workers: 5, Loads: 500, Artefacts: 2, Seed: 7}} {
		t.Run(fmt.Sprintf("%d workers", p.Workers), func(t *testing.T) { testSimulation(t, p) })
	}
}

func testSimulation(t *testing.T, p point) {
	dir := t.TempDir()
	most := 0
	out, err := simulate(t.Context(), p, dir, "", func(line string) { t.Log(line) }, func(done int) { most = max(most, done) })
	if err != nil {
		t.Fatal(err)
	}
	if most != p.Loads {
		t.Errorf("the coordinator reported %d loads, want %d", most, p.Loads)
	}
	if least := p.Loads * 101 / 100; out.Attempts < least || out.Attempts > p.Loads*105/100 {
		t.Errorf("%d attempts at %d loads, want some 2 %% more than loads", out.Attempts, p.Loads)
	}
	st, err := store.Open(dir+"/store", store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	metrics, err := st.Metrics(1)
	if err != nil {
		t.Fatal(err)
	}
	workers := map[string]bool{}
	plan, err := st.Plan(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{0, 1, 49, 50, p.Loads / 2, p.Loads - 1} {
		attempts := attemptsOf(plan[index].Seed, 2)
		l, err := st.Load(store.LoadRecord{Planned: plan[index], Attempt: attempts}.ID())
		if err != nil {
			t.Fatal(err)
		}
		workers[l.Worker] = true
		want := valuesOf(metrics, plan[index].Seed, attempts)
		for name, v := range want {
			if l.Values[name] != v {
				t.Errorf("load %s has %s %v, want %v", l.ID, name, l.Values[name], v)
			}
		}
		if len(l.Values) != len(want) {
			t.Errorf("load %s has %d figures, want %d", l.ID, len(l.Values), len(want))
		}
		left, err := executor{artefacts: p.Artefacts}.leave(t.TempDir()+"/x", plan[index].Seed)
		if err != nil {
			t.Fatal(err)
		}
		if files, err := st.Files(l); err != nil || !slices.Equal(files, left) {
			t.Errorf("load %s has the artefacts %v (%v), want %v", l.ID, files, err, left)
		}
	}
	if workers[""] || len(workers) < 2 {
		t.Errorf("the loads were made by %v, want several workers", workers)
	}
}

// TestCheckFindsWrongStores: a store with a load that is not done does not pass.
func TestCheckFindsWrongStores(t *testing.T) {
	st, err := store.Open(t.TempDir()+"/store", store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := plan(t.Context(), point{Workers: 1, Loads: 20, Seed: 1}, st, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check(st, all); err == nil || !strings.Contains(err.Error(), "load 0 has 0 attempts") {
		t.Errorf("check says %v of a run without a load", err)
	}
}

// TestTableHasItsPlace: the table goes between its marks, and nowhere else.
func TestTableHasItsPlace(t *testing.T) {
	out, err := withTable("before\n"+tableBegin+"old\n"+tableEnd+"\nafter", "new\n")
	if want := "before\n" + tableBegin + "\nnew\n\n" + tableEnd + "\nafter"; err != nil || out != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
	if _, err := withTable("no marks", "new"); err == nil {
		t.Error("a page without marks was taken")
	}
}
