package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/study"
)

// lied returns a store with a finished run of three loads. The first two are a liar's, whose artefacts are there and dropped; the third
// is honest. A worker called late made the first one's second attempt.
func lied(t *testing.T) *Store {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	t.Cleanup(func() { _ = s.Close() })
	pending := begin(t, s, 1)
	mustPut(t, s, "liar", "honest", "late")
	invalid := by("liar", pending[0])
	invalid.Validity, invalid.Reason = Invalid, "late packets"
	invalid.Violations = []study.Violation{{Rule: 3, Detail: "p99 lateness 2.5 ms"}}
	again := by("late", pending[0])
	again.Attempt = 2
	dropped := by("liar", pending[1])
	dropped.Drop = true
	dropped.Pages = []study.Page{{URL: "https://a.test/", PLT: 3}}
	dropped.Making = &Making{Programs: map[string]string{"wiretime": "v1"}, Boot: 1, Attempt: 1}
	records := []LoadRecord{invalid, again, dropped, by("honest", pending[2])}
	for _, r := range records {
		stage(t, s, r.ID(), 7)
	}
	if err := errors.Join(s.Commit(records...), s.FinishRun(1, started)); err != nil {
		t.Fatal(err)
	}
	return s
}

// present returns the IDs of the loads of run 1, and checks that loads/ has the folders of those that have artefacts.
func present(t *testing.T, s *Store) []string {
	t.Helper()
	loads, err := s.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	ids, folders := []string{}, []string{}
	for _, l := range loads {
		ids = append(ids, l.ID)
		if l.Artefacts != "" {
			folders = append(folders, l.ID)
		}
		if files, err := s.Files(l); err != nil || !cmp.Equal(files, sevens()) {
			t.Errorf("load %s has the files %v, %v", l.ID, files, err)
		}
	}
	if names := entries(t, s.path(loadsName)); !slices.Equal(names, folders) {
		t.Errorf("loads/ holds %v, want %v", names, folders)
	}
	return ids
}

func TestRetract(t *testing.T) {
	began := time.Now()
	s := lied(t)
	lies, err := s.LoadsBy(1, "liar")
	if err != nil || !slices.Equal(lies, []string{"r1-0000-a1", "r1-0000-a2", "r1-0001-a1"}) {
		t.Fatalf("the loads of the liar are %v, %v", lies, err)
	}
	if err := s.Retract(1, append(lies, lies[0]), "its bytes differ"); err != nil {
		t.Fatal(err)
	}
	if ids := present(t, s); !slices.Equal(ids, []string{"r1-0002-a1"}) {
		t.Errorf("left are %v", ids)
	}
	for _, table := range []string{"violation", "page", "artefact"} {
		var rows int
		if err := s.db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("the table %s has %d rows of retracted loads, %v", table, rows, err)
		}
	}
	if r, err := s.Run(1); err != nil || r.Done != 1 || !r.Finished.IsZero() {
		t.Errorf("the run is %+v, %v", r, err)
	}
	retracted, err := s.Retracted(1)
	if err != nil || len(retracted) != 3 {
		t.Fatalf("retracted are %+v, %v", retracted, err)
	}
	was := func(worker string, index int, f Former) Retracted {
		attempt := 1
		if worker == "late" {
			attempt = 2
		}
		f.Started, f.WallMS, f.Values, f.Files = started, 1500, map[string]float64{"plt": 1000.25 + float64(index), "drops": 3}, sevens()
		return Retracted{Load: fmt.Sprintf("r1-%04d-a%d", index, attempt), Worker: worker, Why: "its bytes differ", At: retracted[0].At, Was: f}
	}
	want := []Retracted{
		was("liar", 0, Former{Validity: Invalid, Reason: "late packets", Violations: []study.Violation{{Rule: 3, Detail: "p99 lateness 2.5 ms"}}}),
		was("late", 0, Former{Validity: Valid}),
		was("liar", 1, Former{Validity: Valid, Pages: []study.Page{{URL: "https://a.test/", PLT: 3}}, Making: &Making{Programs: map[string]string{"wiretime": "v1"}, Boot: 1, Attempt: 1}}),
	}
	if d := cmp.Diff(want, retracted); d != "" || retracted[0].At.Before(began) {
		t.Error("what was retracted differs:", d)
	}

	pending, err := s.Pending(1)
	if err != nil || len(pending) != 2 || pending[0].Attempts != 0 || pending[1].Attempts != 0 {
		t.Fatalf("pending are %+v, %v", pending, err)
	}
	for _, p := range pending {
		stage(t, s, measured(p).ID(), 7)
		if err := s.Commit(by("honest", p)); err != nil {
			t.Error(err)
		}
	}
	if err := s.FinishRun(1, started); err != nil {
		t.Error(err)
	}
	if ids := present(t, s); !slices.Equal(ids, []string{"r1-0000-a1", "r1-0001-a1", "r1-0002-a1"}) {
		t.Errorf("measured again are %v", ids)
	}
	if err := s.Retract(1, []string{"r1-0001-a1"}, "once more"); err != nil {
		t.Error(err)
	}
	if again, err := s.Retracted(1); err != nil || len(again) != 4 || again[3].Load != want[2].Load || again[3].Worker != "honest" {
		t.Errorf("retracted are %+v, %v", again, err)
	}
}

func TestRetractRefuses(t *testing.T) {
	s := lied(t)
	begin(t, s, 1)
	for _, c := range []struct {
		run   int64
		loads []string
		want  string
	}{
		{1, []string{"r1-0001-a1", "r1-0000-a1"}, "r1-0000-a2 is a later attempt at the same load"},
		{1, []string{"r1-0001-a1", "r1-0007-a1"}, "r1-0007-a1"},
		{2, []string{"r1-0001-a1"}, "r1-0001-a1"},
	} {
		if err := s.Retract(c.run, c.loads, "a lie"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error with %q", c.loads, err, c.want)
		}
	}
	reader := mustOpen(t, s.Dir(), Read)
	defer mustClose(t, reader)
	if err := reader.Retract(1, []string{"r1-0001-a1"}, "a lie"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a reader: %v", err)
	}
	if err := s.Retract(1, nil, "nothing"); err != nil {
		t.Error(err)
	}
	if r, err := s.Run(1); err != nil || r.Finished.IsZero() || len(present(t, s)) != 4 {
		t.Errorf("the run is %+v, %v", r, err)
	}
	if retracted, err := s.Retracted(1); err != nil || len(retracted) != 0 {
		t.Errorf("retracted are %v, %v", retracted, err)
	}
}

// TestASessionIsRetractedAsAWhole has two attempts at one session of three loads, and one at another.
func TestASessionIsRetractedAsAWhole(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	spec := spec(0)
	spec.Cells = nil
	for _, load := range []string{"1", "2", "3"} {
		spec.Cells = append(spec.Cells, pageCell("h2").With(study.AxisLoad, load))
	}
	spec.Plan = (&study.Study{Seed: 1, Repeats: 2}).Plan(spec.Cells)
	run, err := s.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(run)
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 2 {
		var records []LoadRecord
		for _, p := range pending {
			r := measured(p)
			if r.Attempt = attempt + 1; attempt == 0 && p.Index < 3 {
				r.Validity = Invalid
			} else if attempt == 1 && p.Index >= 3 {
				continue
			}
			records = append(records, r)
		}
		if err := s.Commit(records...); err != nil {
			t.Fatal(err)
		}
	}
	second := []string{"r1-0000-a2", "r1-0001-a2", "r1-0002-a2"}
	if err := s.Retract(run, second[:2], "a lie"); err == nil || !strings.Contains(err.Error(), "load r1-0002-a2 belongs to the same session") {
		t.Errorf("a part of a session: %v", err)
	}
	if err := s.Retract(run, second, "a lie"); err != nil {
		t.Fatal(err)
	}
	left, err := s.Pending(run)
	if err != nil || len(left) != 3 || left[0].Attempts != 1 {
		t.Errorf("pending are %+v, %v", left, err)
	}
}

// TestWhatAKilledRetractionLeaves reproduces with real files what is left when a writer is killed after the rows have changed.
func TestWhatAKilledRetractionLeaves(t *testing.T) {
	for _, c := range []struct {
		name string
		left []string // of the folder's files
	}{
		{"before the folders are removed", []string{"load.pcapng", "logs/server.jsonl"}},
		{"half-way through the removal", []string{"logs/server.jsonl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lied(t)
			if err := s.Retract(1, []string{"r1-0000-a1", "r1-0000-a2"}, "a lie"); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.left {
				file := s.path(loadsName, "r1-0000-a1", name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, make([]byte, 7), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(t.TempDir(), "copy") // equivalent to the death of the process
			if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir, Write)
			defer mustClose(t, s)
			if ids := present(t, s); !slices.Equal(ids, []string{"r1-0001-a1", "r1-0002-a1"}) {
				t.Errorf("left are %v", ids)
			}
		})
	}
}

// TestKillAndRetract has a child measure loads and retract them again and again, and kills it at random. Afterwards each load is
// whole or gone, and each attempt that is gone is remembered.
func TestKillAndRetract(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s := mustOpen(t, dir, Create)
	begin(t, s, 2)
	mustPut(t, s, "liar")
	mustClose(t, s)
	random := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		child := exec.Command(os.Args[0], "-test.run=^TestRetractingChild$")
		child.Env = append(os.Environ(), "WIRETIME_TEST_RETRACTS="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1+random.IntN(8))); err != nil {
			t.Fatal("the child ended early:", err)
		}
		time.Sleep(time.Duration(random.IntN(3_000)) * time.Microsecond)
		_ = child.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()

		s := mustOpen(t, dir, Write)
		if ids := present(t, s); len(ids) != 0 && len(ids) != 6 {
			t.Errorf("a part of the loads was retracted: %v are left", ids)
		}
		pending, err := s.Pending(1)
		if err != nil || len(pending)+len(present(t, s)) != 6 {
			t.Errorf("%d loads are pending, %v", len(pending), err)
		}
		retracted, err := s.Retracted(1)
		if err != nil || len(retracted)%6 != 0 {
			t.Errorf("%d loads are retracted, %v", len(retracted), err)
		}
		for _, r := range retracted {
			if !cmp.Equal(r.Was.Files, sevens()) || len(r.Was.Values) != 2 || r.Worker != "liar" {
				t.Errorf("retracted was %+v", r)
			}
		}
		mustClose(t, s)
	}
}

// TestRetractingChild is the process that TestKillAndRetract kills.
func TestRetractingChild(t *testing.T) {
	dir := os.Getenv("WIRETIME_TEST_RETRACTS")
	if dir == "" {
		t.Skip("runs as a child of TestKillAndRetract")
	}
	s := mustOpen(t, dir, Write)
	for {
		loads, err := s.LoadsBy(1, "liar")
		if err == nil {
			err = s.Retract(1, loads, "a lie")
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Print(".")
		pending, err := s.Pending(1)
		if err != nil {
			t.Fatal(err)
		}
		var records []LoadRecord
		for _, p := range pending {
			r := by("liar", p)
			stage(t, s, r.ID(), 7)
			records = append(records, r)
		}
		if err := s.Commit(records...); err != nil {
			t.Fatal(err)
		}
		fmt.Print(".")
	}
}
