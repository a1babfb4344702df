package store

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustPut(t *testing.T, s *Store, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := s.PutWorker(1, name, json.RawMessage(`{"host":"`+name+`.test"}`)); err != nil {
			t.Fatal(err)
		}
	}
}

// by returns a valid attempt at p that a worker made.
func by(worker string, p Planned) LoadRecord {
	r := measured(p)
	r.Worker = worker
	return r
}

func TestTheStoreSaysWhichWorkerMadeALoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s := mustOpen(t, dir, Create)
	pending := begin(t, s, 1)
	mustPut(t, s, "seoul", "idle")
	if err := s.Commit(by("seoul", pending[0]), measured(pending[1]), by("seoul", pending[2])); err != nil {
		t.Fatal(err)
	}
	if err := s.PutWorker(1, "seoul", json.RawMessage(`{"labels":["home"]}`)); err != nil { // its loads stay its own
		t.Fatal(err)
	}
	mustClose(t, s)

	s = mustOpen(t, dir, Read)
	defer mustClose(t, s)
	workers, err := s.Workers(1)
	want := []Worker{{"seoul", json.RawMessage(`{"labels":["home"]}`), 2}, {"idle", json.RawMessage(`{"host":"idle.test"}`), 0}}
	if d := cmp.Diff(want, workers); d != "" || err != nil {
		t.Error("the workers differ:", d, err)
	}
	loads, err := s.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, l := range loads {
		made = append(made, l.Worker)
	}
	if !slices.Equal(made, []string{"seoul", "", "seoul"}) {
		t.Errorf("the loads were made by %q", made)
	}
	ids, err := s.LoadsBy(1, "seoul")
	if err != nil || !slices.Equal(ids, []string{"r1-0000-a1", "r1-0002-a1"}) {
		t.Errorf("the loads of seoul are %v, %v", ids, err)
	}
	var viewed string
	if err := s.db.QueryRow("SELECT group_concat(ifnull(worker, '-')) FROM (SELECT worker FROM loads ORDER BY idx)").Scan(&viewed); err != nil || viewed != "seoul,-,seoul" {
		t.Errorf("the view has the workers %q, %v", viewed, err)
	}
	var out bytes.Buffer
	if err := s.ExportCSV(&out, 1); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(rows[0], "worker")
	if got := []string{rows[1][column], rows[3][column], rows[5][column]}; !slices.Equal(got, made) {
		t.Errorf("the CSV has the workers %q", got)
	}
	var document struct {
		Workers []Worker
		Rows    []struct{ Worker *string }
	}
	out.Reset()
	if err := errors.Join(s.ExportJSON(&out, 1), json.Unmarshal(out.Bytes(), &document)); err != nil {
		t.Fatal(err)
	}
	if len(document.Workers) != 2 || document.Workers[0].Loads != 2 || *document.Rows[0].Worker != "seoul" || document.Rows[2].Worker != nil {
		t.Errorf("the JSON has %+v", document)
	}
	if err := s.ExportParquet(&out, 1); err != nil {
		t.Error(err)
	}
}

func TestAWorkerIsDescribedBeforeItsLoads(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	first, second := begin(t, s, 1), begin(t, s, 1)
	mustPut(t, s, "seoul")
	for _, r := range []LoadRecord{by("stranger", first[0]), by("seoul", second[0])} {
		stage(t, s, r.ID(), 7)
		if err := s.Commit(r); err == nil || !strings.Contains(err.Error(), "has no worker "+strconv.Quote(r.Worker)) {
			t.Errorf("a load of %s: %v", r.Worker, err)
		}
	}
	if names := entries(t, s.path(loadsName)); len(names) != 0 {
		t.Errorf("loads/ holds %v", names)
	}
}

func TestPutWorkerRefuses(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	begin(t, s, 1)
	for _, c := range []struct {
		run                   int64
		name, described, want string
	}{
		{1, "", "{}", "is empty"},
		{1, strings.Repeat("x", longestName+1), "{}", "octets"},
		{1, "seoul", "{", "json_valid"},
		{7, "seoul", "{}", "FOREIGN KEY"},
	} {
		if err := s.PutWorker(c.run, c.name, json.RawMessage(c.described)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want an error with %q", c.name, err, c.want)
		}
	}
	if workers, err := s.Workers(1); err != nil || len(workers) != 0 {
		t.Errorf("workers %v, %v", workers, err)
	}
	reader := mustOpen(t, s.Dir(), Read)
	defer mustClose(t, reader)
	if err := reader.PutWorker(1, "seoul", json.RawMessage("{}")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a reader: %v", err)
	}
}

// TestArtefactsDroppedElsewhere keeps the description of files that were never here. They can be put back like those that were.
func TestArtefactsDroppedElsewhere(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	r := measured(begin(t, s, 1)[0])
	r.Drop, r.Files = true, sevens()
	if err := s.Commit(r); err != nil {
		t.Fatal(err)
	}
	holds(t, s, true)
	stage(t, s, r.ID(), 7)
	if err := s.Restore(r.ID()); err != nil {
		t.Fatal(err)
	}
	holds(t, s, false)
}

func TestCommitRefusesFilesThatNoLoadLeaves(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	p := begin(t, s, 1)[0]
	good := sevens()[0]
	named := func(name string) []File { return []File{{name, 7, good.SHA256}} }
	for _, c := range []struct {
		files []File
		want  string
	}{
		{named(""), "not the name of a file"},
		{named("."), "not the name of a file"},
		{named("../load.har"), "not the name of a file"},
		{named("/etc/passwd"), "not the name of a file"},
		{named("logs//server.jsonl"), "not the name of a file"},
		{named(strings.Repeat("x", longestName+1)), "octets"},
		{[]File{good, good}, "twice"},
		{[]File{{good.Name, -1, good.SHA256}}, "-1 octets"},
		{[]File{{good.Name, 7, strings.ToUpper(good.SHA256)}}, "SHA-256"},
		{[]File{{good.Name, 7, good.SHA256[1:]}}, "SHA-256"},
	} {
		r := measured(p)
		r.Drop, r.Files = true, c.files
		if err := s.Commit(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60v: %v, want an error with %q", c.files, err, c.want)
		}
	}
	r := measured(p)
	r.Files = sevens()
	if err := s.Commit(r); err == nil || !strings.Contains(err.Error(), "not to be dropped") {
		t.Errorf("files that are to be kept, but are not here: %v", err)
	}
	if loads, err := s.Loads(1); err != nil || len(loads) != 0 {
		t.Errorf("%d loads were kept, %v", len(loads), err)
	}
}

// TestEachPlanned goes through a plan that is read in several parts, and keeps loads on the way.
func TestEachPlanned(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	want := begin(t, s, batch)
	begin(t, s, 1) // another run
	var got []Planned
	err := s.EachPlanned(1, func(p Planned) error {
		got = append(got, p)
		if p.Index == 0 {
			return s.Commit(measured(p))
		}
		return nil
	})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error("the plan differs:", d, err)
	}
	stop := errors.New("enough")
	calls := 0
	err = s.EachPlanned(1, func(p Planned) error {
		if !p.Done || p.Attempts != 1 {
			t.Errorf("the kept load is %+v", p)
		}
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if err := s.EachPlanned(7, func(Planned) error { return stop }); err != nil {
		t.Errorf("a run without a plan: %v", err)
	}
}
