package scratch_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"wiretime/scratch"
)

// ownerMark makes the test program an owner of a folder, which waits to be killed.
const ownerMark = "SCRATCH_OWNER"

func TestMain(m *testing.M) {
	if parent := os.Getenv(ownerMark); parent != "" {
		folder, err := scratch.Make(parent, "wiretime-x-")
		if err == nil {
			err = os.WriteFile(filepath.Join(folder.Path, "big"), []byte("content"), 0o600)
		}
		fmt.Println(folder.Path, err)
		select {}
	}
	os.Exit(m.Run())
}

// owner starts a program that owns a folder in parent.
func owner(t *testing.T, parent string) (c *exec.Cmd, path string) {
	t.Helper()
	c = exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), ownerMark+"="+parent)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	var said string
	if _, err := fmt.Fscan(bufio.NewReader(out), &path, &said); err != nil || said != "<nil>" {
		t.Fatalf("the owner says %q %q: %v", path, said, err)
	}
	return c, path
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestKilledOwner: a folder stays while its owner runs, even stopped, and the next Make removes it when the
// owner has been killed.
func TestKilledOwner(t *testing.T) {
	parent := t.TempDir()
	c, theirs := owner(t, parent)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ours, err := scratch.Make(parent, "wiretime-x-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(theirs, "big")); err != nil {
		t.Fatalf("the folder of a running program was swept: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	next, err := scratch.Make(parent, "wiretime-x-")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Base(ours.Path), filepath.Base(next.Path)}
	slices.Sort(want)
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("after the owner was killed there are %q, want %q", got, want)
	}
	for _, f := range []*scratch.Folder{ours, next} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, parent); len(got) != 0 {
		t.Errorf("removed folders left %q", got)
	}
}

// TestHeld: a child that inherits the lock keeps the folder.
func TestHeld(t *testing.T) {
	parent := t.TempDir()
	folder, err := scratch.Make(parent, "wiretime-x-")
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "1000")
	child.ExtraFiles = []*os.File{folder.Held()}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := folder.Held().Close(); err != nil { // as if the owner had been killed
		t.Fatal(err)
	}
	if n := scratch.Sweep(parent, "wiretime-x-*"); n != 0 {
		t.Errorf("swept %d folders that a child uses", n)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if n := scratch.Sweep(parent, "wiretime-x-*"); n != 1 {
		t.Errorf("swept %d folders after the child's end, want 1", n)
	}
}

// TestSweepSpares: names of other kinds, links, FIFOs and others' files stay, and so does what links lead to.
func TestSweepSpares(t *testing.T) {
	parent, outside := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
	must(os.Symlink(outside, filepath.Join(parent, "tmp-link")))
	must(syscall.Mkfifo(filepath.Join(parent, "tmp-fifo"), 0o600))
	must(os.WriteFile(filepath.Join(parent, "other"), nil, 0o600))
	want := []string{"other", "tmp-fifo", "tmp-link"}
	if os.Geteuid() == 0 {
		must(os.Mkdir(filepath.Join(parent, "tmp-theirs"), 0o700))
		must(os.Chown(filepath.Join(parent, "tmp-theirs"), 65534, 65534))
		want = append(want, "tmp-theirs")
	}
	must(os.Mkdir(filepath.Join(parent, "tmp-folder"), 0o700))
	must(os.Symlink(outside, filepath.Join(parent, "tmp-folder", "link")))
	must(os.WriteFile(filepath.Join(parent, "tmp-file"), nil, 0o600))
	if n := scratch.Sweep(parent, "tmp-*"); n != 2 {
		t.Errorf("swept %d, want the folder and the file", n)
	}
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if got := names(t, outside); len(got) != 1 {
		t.Error("what a link leads to was removed")
	}
	if scratch.Sweep(filepath.Join(parent, "missing"), "*") != 0 {
		t.Error("something was swept in a folder that does not exist")
	}
}

// TestSideBySide: makers that sweep one another's folders at the same time lose none.
func TestSideBySide(t *testing.T) {
	parent := t.TempDir()
	var makers sync.WaitGroup
	for range 8 {
		makers.Go(func() {
			for range 50 {
				f, err := scratch.Make(parent, "x-")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	if got := names(t, parent); len(got) != 0 {
		t.Errorf("left are %q", got)
	}
}
