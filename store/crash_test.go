package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWhatAKilledWriterLeaves reproduces with real files what a writer leaves when killed
// at each point.
func TestWhatAKilledWriterLeaves(t *testing.T) {
	tests := []struct {
		name  string
		leave func(t *testing.T, s *Store, next LoadRecord)
	}{
		{"a staged folder with half a capture", func(t *testing.T, s *Store, next LoadRecord) {
			stage(t, s, next.ID(), 7)
		}},
		{"a staged folder of a load that was kept", func(t *testing.T, s *Store, next LoadRecord) {
			stage(t, s, "r1-0000-a1", 7)
		}},
		{"a renamed folder that no row names", func(t *testing.T, s *Store, next LoadRecord) {
			stage(t, s, next.ID(), 7)
			if published, err := s.publish(next.ID(), false); err != nil || !published {
				t.Fatal(published, err)
			}
		}},
		{"a write-ahead log that was not merged", func(t *testing.T, s *Store, next LoadRecord) {
			wal, err := os.ReadFile(s.path(databaseName + "-wal"))
			if err != nil || len(wal) == 0 {
				t.Fatal("no write-ahead log to leave", err)
			}
		}},
		{"a write-ahead log with half a transaction", func(t *testing.T, s *Store, next LoadRecord) {
			f, err := os.OpenFile(s.path(databaseName+"-wal"), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.Write(make([]byte, 5000))
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			original := filepath.Join(t.TempDir(), "s")
			s := mustOpen(t, original, Create)
			defer s.Close()
			pending := begin(t, s, 1)
			first := measured(pending[0])
			stage(t, s, first.ID(), 7)
			if err := s.Commit(first); err != nil {
				t.Fatal(err)
			}
			tt.leave(t, s, measured(pending[1]))
			if err := os.WriteFile(s.path(loadsName, "my notes"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			// A copy of the files is equivalent to the death of the process.
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
				t.Fatal(err)
			}

			s = mustOpen(t, dir, Write)
			defer mustClose(t, s)
			if names := entries(t, filepath.Join(dir, loadsName)); !cmp.Equal(names, []string{"my notes", "r1-0000-a1"}) {
				t.Errorf("loads/ holds %v", names)
			}
			if l, err := s.Load("r1-0000-a1"); err != nil || l.Values["plt"] != 1000.25 {
				t.Errorf("the load kept before the crash: %+v %v", l, err)
			}
			left, err := s.Pending(1)
			if err != nil || len(left) != 2 || left[0].Index != 1 || left[0].Attempts != 0 {
				t.Fatalf("pending after the crash: %+v %v", left, err)
			}
			again := measured(left[0])
			stage(t, s, again.ID(), 7)
			if err := s.Commit(again); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCreateGoesOnWhereAKilledCreateStopped(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{lockName, newDatabase, newDatabase + "-journal"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, mustOpen(t, dir, Create))
	if names := entries(t, dir); !cmp.Equal(names, []string{loadsName, lockName, databaseName}) {
		t.Errorf("the store holds %v", names)
	}
}

func TestCloseRemovesWhatWasStaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s := mustOpen(t, dir, Create)
	stage(t, s, "r1-0000-a1", 7)
	mustClose(t, s)
	if names := entries(t, filepath.Join(dir, loadsName)); len(names) != 0 {
		t.Errorf("loads/ holds %v", names)
	}
}

// TestKillAndResumeUntilDone measures in a child process that is killed again and again
// until the plan is done. The store must then hold exactly the planned loads.
func TestKillAndResumeUntilDone(t *testing.T) {
	const repeats = 20
	dir := filepath.Join(t.TempDir(), "s")
	s := mustOpen(t, dir, Create)
	begin(t, s, repeats)
	mustClose(t, s)

	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for ; ; killed++ {
		child := exec.Command(os.Args[0], "-test.run=^TestMeasuringChild$")
		child.Env = append(os.Environ(), "WIRETIME_TEST_STORE="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// Each child keeps a few loads and dies during the next.
		_, _ = io.ReadFull(out, make([]byte, 1+random.IntN(8)))
		time.Sleep(time.Duration(random.IntN(3_000)) * time.Microsecond)
		_ = child.Process.Kill()
		said, _ := io.ReadAll(out)
		if err = child.Wait(); err == nil {
			break
		}
		if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("the child failed on its own: %v\n%s", err, said)
		}
	}
	if killed == 0 {
		t.Error("no child was killed")
	}
	t.Logf("killed %d times", killed)

	s = mustOpen(t, dir, Write)
	defer mustClose(t, s)
	loads, err := s.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range 3 * repeats {
		want = append(want, fmt.Sprintf("r1-%04d-a1", i), fmt.Sprintf("r1-%04d-a2", i))
	}
	for _, l := range loads {
		got = append(got, l.ID)
		if names := entries(t, l.Artefacts); !cmp.Equal(names, []string{"load.pcapng", "logs"}) || len(l.Values) != 2 {
			t.Errorf("%s is not whole: %v %v", l.ID, names, l.Values)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("loads differ from the plan:", d)
	}
	if d := cmp.Diff(want, entries(t, filepath.Join(dir, loadsName))); d != "" {
		t.Error("folders differ from the plan:", d)
	}
}

// TestMeasuringChild is the process that TestKillAndResumeUntilDone kills. Each load is
// late once, then valid.
func TestMeasuringChild(t *testing.T) {
	dir := os.Getenv("WIRETIME_TEST_STORE")
	if dir == "" {
		t.Skip("runs as a child of TestKillAndResumeUntilDone")
	}
	s := mustOpen(t, dir, Write)
	pending, err := s.Pending(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		for attempt := p.Attempts + 1; attempt <= 2; attempt++ {
			r := measured(p)
			r.Attempt = attempt
			if attempt == 1 {
				r.Validity, r.Reason = Invalid, "late"
			}
			stage(t, s, r.ID(), 100)
			if err := s.Commit(r); err != nil {
				t.Fatal(err)
			}
			fmt.Print(".")
		}
	}
	mustClose(t, s)
}

// TestDiskFull fills a small tmpfs, which it mounts in new user and mount namespaces.
func TestDiskFull(t *testing.T) {
	if dir := os.Getenv("WIRETIME_TEST_SMALL_DISK"); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
			t.Fatal(err)
		}
		fillDisk(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
	child.Env = append(os.Environ(), "WIRETIME_TEST_SMALL_DISK="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skip("this machine allows no user namespace to mount a small disk in:", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(string(out))
}

func fillDisk(t *testing.T, disk string) {
	dir := filepath.Join(disk, "s")
	ballast := filepath.Join(disk, "ballast")
	fill := func(spare int) {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for n, chunk := 0, make([]byte, 4096); err == nil; size += n {
			n, err = f.Write(chunk)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(int64(max(0, size-spare))), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	makeRoom := func() {
		t.Helper()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s on a full disk: %v, want ErrDiskFull", what, err)
		}
	}

	// Creating a store must fail at every size that is too small, and leave nothing.
	for spare := 0; spare < 64<<10; spare += 4096 {
		fill(spare)
		_, err := Open(dir, Create)
		full("creating", err)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Fatalf("with %d bytes spare, creating left %v", spare, entries(t, dir))
		}
	}
	makeRoom()

	s := mustOpen(t, dir, Create)
	pending := begin(t, s, 20)
	kept := 0
	commit := func(p Planned, size int) error {
		r := measured(p)
		r.Reason = strings.Repeat("x", size)
		if staged, err := s.StageDir(r.ID()); err != nil {
			return err
		} else if err := os.WriteFile(filepath.Join(staged, "load.har"), nil, 0o644); err != nil {
			return explain(err)
		}
		return s.Commit(r)
	}
	for _, spare := range []int{0, 4096, 16384, 65536} {
		fill(spare)
		var err error
		for err == nil && kept < len(pending) {
			if err = commit(pending[kept], 10_000); err == nil {
				kept++
			}
		}
		full(fmt.Sprintf("committing with %d bytes spare", spare), err)
		_, err = s.BeginRun(spec(1000))
		full("beginning a run", err)
		if names := entries(t, filepath.Join(dir, loadsName)); len(names) != kept {
			t.Errorf("%d loads were kept, loads/ holds %v", kept, names)
		}
	}
	t.Logf("%d loads fitted", kept)
	if err := s.Close(); err != nil && !errors.Is(err, ErrDiskFull) {
		t.Error(err)
	}
	makeRoom()

	s = mustOpen(t, dir, Write)
	defer mustClose(t, s)
	left, err := s.Pending(1)
	if err != nil || len(left) != len(pending)-kept {
		t.Fatalf("%d loads pending (%v), want %d", len(left), err, len(pending)-kept)
	}
	if runs, err := s.Runs(); err != nil || len(runs) != 1 {
		t.Errorf("runs: %v %v", runs, err)
	}
	for _, p := range left {
		if err := commit(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.FinishRun(1, started); err != nil {
		t.Error(err)
	}
}
