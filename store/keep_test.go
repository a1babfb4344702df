package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/artefact"
)

const firstLoad = "r1-0000-a1"

// kept returns a store with one load, whose artefacts are there.
func kept(t *testing.T) (*Store, Load) {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	t.Cleanup(func() { _ = s.Close() })
	p := begin(t, s, 1)[0]
	stage(t, s, firstLoad, 7)
	r := measured(p)
	r.Making = &Making{Programs: map[string]string{"wiretime": "v1", "kernel": "k"}, Boot: 3, Attempt: 2}
	if err := s.Commit(r); err != nil {
		t.Fatal(err)
	}
	return s, load(t, s)
}

func load(t *testing.T, s *Store) Load {
	t.Helper()
	l, err := s.Load(firstLoad)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sevens are the files that stage makes.
func sevens() []File {
	sum := fmt.Sprintf("%x", sha256.Sum256(make([]byte, 7)))
	return []File{{"load.pcapng", 7, sum}, {"logs/server.jsonl", 7, sum}}
}

// holds checks a load whose artefacts were dropped, or are there.
func holds(t *testing.T, s *Store, dropped bool) {
	t.Helper()
	l := load(t, s)
	files, err := s.Files(l)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sevens(), files); d != "" {
		t.Error("its files differ:", d)
	}
	if l.Dropped != dropped || (l.Artefacts == "") != dropped {
		t.Errorf("dropped %v, artefacts in %q; want dropped %v", l.Dropped, l.Artefacts, dropped)
	}
	folders := []string{firstLoad}
	if dropped {
		folders = []string{}
	}
	if names := entries(t, s.path(loadsName)); !cmp.Equal(names, folders) {
		t.Errorf("loads/ holds %v, want %v", names, folders)
	}
}

func TestDroppedArtefactsComeBackOnlyTheSame(t *testing.T) {
	s, _ := kept(t)
	holds(t, s, false)
	for range 2 { // the second time there is nothing to drop
		if err := s.Drop(firstLoad); err != nil {
			t.Fatal(err)
		}
		holds(t, s, true)
	}
	stage(t, s, firstLoad, 8)
	if err := s.Restore(firstLoad); !errors.Is(err, ErrNotSame) {
		t.Errorf("other artefacts: %v, want ErrNotSame", err)
	}
	holds(t, s, true)
	stage(t, s, firstLoad, 7)
	if err := s.Restore(firstLoad); err != nil {
		t.Fatal(err)
	}
	holds(t, s, false)
	stage(t, s, firstLoad, 7)
	if err := s.Restore(firstLoad); !errors.Is(err, ErrNotSame) {
		t.Errorf("a load that has its artefacts: %v, want ErrNotSame", err)
	}
	holds(t, s, false)
}

func TestCommitDropsAtOnce(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	r := measured(begin(t, s, 1)[0])
	r.Drop = true
	stage(t, s, r.ID(), 7)
	if err := s.Commit(r); err != nil {
		t.Fatal(err)
	}
	holds(t, s, true)
}

func TestTheStoreSaysHowALoadWasMade(t *testing.T) {
	s, _ := kept(t)
	made, err := s.Making(firstLoad)
	if d := cmp.Diff(&Making{Programs: map[string]string{"wiretime": "v1", "kernel": "k"}, Boot: 3, Attempt: 2}, made); d != "" || err != nil {
		t.Error(d, err)
	}
	pending, err := s.Pending(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(measured(pending[0])); err != nil {
		t.Fatal(err)
	}
	if made, err := s.Making(measured(pending[0]).ID()); made != nil || err != nil {
		t.Errorf("a load that cannot be made again: %+v, %v", made, err)
	}
}

func TestAReaderDropsNothing(t *testing.T) {
	s, _ := kept(t)
	reader := mustOpen(t, s.Dir(), Read)
	defer mustClose(t, reader)
	for _, err := range []error{reader.Drop(firstLoad), reader.Restore(firstLoad), reader.SetKeep(1, "none")} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%v, want ErrReadOnly", err)
		}
	}
	holds(t, s, false)
}

// TestDropLeavesWhatIsNotAnArtefact has links in the place of a load's file and of its folder: nothing is
// removed, neither there nor where they lead.
func TestDropLeavesWhatIsNotAnArtefact(t *testing.T) {
	for _, place := range []string{"load.pcapng", ""} {
		s, l := kept(t)
		outside := filepath.Join(t.TempDir(), "outside")
		if err := os.Mkdir(outside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, "mine"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(l.Artefacts, place)
		if err := errors.Join(os.RemoveAll(name), os.Symlink(outside, name)); err != nil {
			t.Fatal(err)
		}
		if err := s.Drop(firstLoad); !errors.Is(err, artefact.ErrUnfit) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", place, err)
		}
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
		if names := entries(t, outside); !cmp.Equal(names, []string{"mine"}) {
			t.Errorf("outside holds %v", names)
		}
	}
}

// TestWhatAKilledDropLeaves reproduces with real files what is left when a writer is killed while it drops
// artefacts or puts them back.
func TestWhatAKilledDropLeaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		leave   func(t *testing.T, s *Store, l Load)
		dropped bool
	}{
		{"before the row", func(*testing.T, *Store, Load) {}, false},
		{"between row and removal", func(t *testing.T, s *Store, l Load) {
			copied := filepath.Join(t.TempDir(), "copy")
			if err := errors.Join(os.CopyFS(copied, os.DirFS(l.Artefacts)), s.Drop(firstLoad), os.Rename(copied, l.Artefacts)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"half-way through the removal", func(t *testing.T, s *Store, l Load) {
			if err := errors.Join(s.Drop(firstLoad), os.MkdirAll(filepath.Join(l.Artefacts, "logs"), 0o755)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"while artefacts are staged to be put back", func(t *testing.T, s *Store, _ Load) {
			if err := s.Drop(firstLoad); err != nil {
				t.Fatal(err)
			}
			stage(t, s, firstLoad, 3)
		}, true},
		{"after they were put back, before the row", func(t *testing.T, s *Store, _ Load) {
			if err := s.Drop(firstLoad); err != nil {
				t.Fatal(err)
			}
			stage(t, s, firstLoad, 7)
			if _, err := s.publish(firstLoad, false); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := kept(t)
			c.leave(t, s, l)
			dir := filepath.Join(t.TempDir(), "copy") // equivalent to the death of the process
			if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir, Write)
			defer mustClose(t, s)
			holds(t, s, c.dropped)
			if err := s.Drop(firstLoad); err != nil {
				t.Fatal(err)
			}
			holds(t, s, true)
		})
	}
}

// TestKillAndDropUntilDone has a child drop all artefacts and put them back again and again, and kills it at
// random. Afterwards each load has either all its artefacts or none.
func TestKillAndDropUntilDone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s := mustOpen(t, dir, Create)
	for _, p := range begin(t, s, 3) {
		stage(t, s, measured(p).ID(), 7)
		if err := s.Commit(measured(p)); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s)
	random := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		child := exec.Command(os.Args[0], "-test.run=^TestDroppingChild$")
		child.Env = append(os.Environ(), "WIRETIME_TEST_DROPS="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1+random.IntN(20))); err != nil {
			t.Fatal("the child ended early:", err)
		}
		time.Sleep(time.Duration(random.IntN(3_000)) * time.Microsecond)
		_ = child.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()

		s := mustOpen(t, dir, Write)
		loads, err := s.Loads(1)
		if err != nil || len(loads) != 9 {
			t.Fatal(len(loads), err)
		}
		folders := []string{}
		for _, l := range loads {
			if l.Dropped == (l.Artefacts != "") {
				t.Errorf("load %s: dropped %v, artefacts %q", l.ID, l.Dropped, l.Artefacts)
			}
			if l.Artefacts != "" {
				folders = append(folders, l.ID)
			}
			if files, err := s.Files(l); err != nil || !cmp.Equal(files, sevens()) {
				t.Errorf("load %s: dropped %v, files %v, %v", l.ID, l.Dropped, files, err)
			}
		}
		if names := entries(t, s.path(loadsName)); !cmp.Equal(names, folders) {
			t.Errorf("loads/ holds %v, the database %v", names, folders)
		}
		mustClose(t, s)
	}
}

// TestDroppingChild is the process that TestKillAndDropUntilDone kills.
func TestDroppingChild(t *testing.T) {
	dir := os.Getenv("WIRETIME_TEST_DROPS")
	if dir == "" {
		t.Skip("runs as a child of TestKillAndDropUntilDone")
	}
	s := mustOpen(t, dir, Write)
	for {
		loads, err := s.Loads(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range loads {
			if !l.Dropped {
				err = s.Drop(l.ID)
			} else {
				stage(t, s, l.ID, 7)
				err = s.Restore(l.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Print(".")
		}
	}
}
