package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/needtest"
	"wiretime/store"
)

// sessionStudy measures sessions whose loads start at fixed times of one path.
const sessionStudy = `name: sessions
repeats: %d
clock: virtual
session: {loads: 4, every: 3s}
matrix:
  sites: [objects@10x5kB]
  protocols: [https/1.1, spdy/3.1]
  networks: [{name: mine, rate: 10mbit, rtt: 20ms, queue: 64kB, events: [%s]}]
  loaders: [builtin]
  visits: [connected]
options: {timeout: 2s, retries: 1}
`

// sessionLoads returns the loads of the run in a store that are of one attempt; 0: of all.
func sessionLoads(t *testing.T, dir string, attempt int) (all []store.Load) {
	t.Helper()
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		if attempt == 0 || l.Attempt == attempt {
			all = append(all, l)
		}
	}
	return all
}

// TestASessionIsWholeOrNotThere interrupts and kills runs in the middle of sessions, and continues them. The store never
// has a part of a session, and in the end it has the same values as that of an undisturbed run.
func TestASessionIsWholeOrNotThere(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.write(t, "study.yaml", fmt.Sprintf(sessionStudy, 3, ""))
	if r := u.run(t, "run", "study.yaml", "--store", "whole"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	for i, l := range sessionLoads(t, filepath.Join(u.home, "whole"), 0) {
		if l.Validity != store.Valid || l.Cell.Load() != i%4+1 {
			t.Errorf("%s, load %d, is %s: %s", l.ID, l.Cell.Load(), l.Validity, l.Reason)
		}
		if at, want := l.Values["session_time"], float64(i%4)*3000; at < want || at > want+1 {
			t.Errorf("%s started %v ms into its session, want %v", l.ID, at, want)
		}
	}
	want := u.values(t, "whole")
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		c := u.command(t.Context(), "run", "study.yaml", "--store", name)
		progress, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines, second := bufio.NewScanner(progress), 0
		for second < 3 && lines.Scan() {
			if strings.Contains(lines.Text(), "load 2 of 4") {
				second++
			}
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // until the last process that belongs to the run is gone
		}
		_ = c.Wait()
		if loads := sessionLoads(t, filepath.Join(u.home, name), 0); len(loads)%4 != 0 {
			t.Errorf("%s: the store has %d loads, want whole sessions of 4", name, len(loads))
		} else {
			t.Logf("%s: the store has %d of 24 loads", name, len(loads))
		}
		if r := u.run(t, "run", "--resume", "--store", name); r.code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, r.code, r.errors)
		}
		if d := cmp.Diff(want, u.values(t, name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestALoadOfASessionFails has an outage during the third load of each session. The session is attempted again as a
// whole, and in the last attempt only that load is missing.
func TestALoadOfASessionFails(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.write(t, "study.yaml", fmt.Sprintf(sessionStudy, 1, "{at: 6s, outage: 2500ms}"))
	r := u.run(t, "run", "study.yaml", "--store", "kept")
	if r.code != 1 || !strings.Contains(r.errors, "2 planned loads have no valid attempt") {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	kept := filepath.Join(u.home, "kept")
	for attempt, others := range map[int]store.Validity{1: store.Invalid, 2: store.Valid} {
		loads := sessionLoads(t, kept, attempt)
		if len(loads) != 8 {
			t.Fatalf("attempt %d has %d loads, want 8", attempt, len(loads))
		}
		for _, l := range loads {
			want := others
			if l.Cell.Load() == 3 {
				want = store.Failed
			}
			if l.Validity != want {
				t.Errorf("%s, load %d, is %s (%s), want %s", l.ID, l.Cell.Load(), l.Validity, l.Reason, want)
			}
			if l.Validity == store.Invalid && !strings.Contains(l.Reason, "its session was attempted again, because load 3 failed: ") {
				t.Errorf("%s is invalid because %s", l.ID, l.Reason)
			}
		}
	}
	for _, id := range []string{"r1-0003-a1", "r1-0003-a2"} { // with all loads before it
		if r := u.run(t, "reproduce", id, "--store", "kept"); r.code != 0 {
			t.Errorf("reproduce %s: exit code %d: %s%s", id, r.code, r.out, r.errors)
		}
	}
}
