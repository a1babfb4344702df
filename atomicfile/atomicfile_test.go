package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/atomicfile"
)

// TestWrite writes a file over an old one. Where that fails, the old one stays; in no case is
// anything else left in the folder.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		want  error
	}{
		{"all is well", func(w io.Writer) error { return say(w, strings.Repeat("new", 10000)) }, nil},
		{"the disk is full midway", func(w io.Writer) error {
			return errors.Join(say(w, strings.Repeat("new", 10000)), syscall.ENOSPC)
		}, syscall.ENOSPC},
		{"the writer is cancelled", func(w io.Writer) error { return errors.Join(say(w, "new"), os.ErrDeadlineExceeded) }, os.ErrDeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(path, []byte("old"), 0o600))
			if err := atomicfile.Write(path, c.write); !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			want := "old"
			if c.want == nil {
				want = strings.Repeat("new", 10000)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != want {
				t.Errorf("the file holds %.20q (%v), want %.20q", got, err, want)
			}
			alone(t, path)
		})
	}
}

func TestFileThatCannotBePutInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.MkdirAll(filepath.Join(path, "below"), 0o755))
	if err := atomicfile.WriteBytes(path, []byte("new")); err == nil {
		t.Error("a file replaced a folder")
	}
	alone(t, path)
	if err := atomicfile.WriteBytes(filepath.Join(path, "none", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestDiscard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	file, err := atomicfile.Create(path, 0o755)
	must(t, err)
	file.Discard()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("left are %v (%v)", entries, err)
	}
	file, err = atomicfile.Create(path, 0o755)
	must(t, err)
	must(t, file.Commit())
	file.Discard()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("after Commit and Discard: %v %v, want a file with mode 0755", info, err)
	}
}

// TestLeftovers: a file that is begun removes those that nobody has open any more, and no others.
func TestLeftovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(filepath.Join(filepath.Dir(path), ".file.1.tmp"), []byte("left by a killed program"), 0o600))
	first, err := atomicfile.Create(path, 0o644)
	must(t, err)
	must(t, say(first, "first"))
	must(t, atomicfile.WriteBytes(path, []byte("second")))
	must(t, first.Commit())
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("the file holds %q (%v), want the content that was committed last", got, err)
	}
	alone(t, path)
}

func TestMoveFolder(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	must(t, os.MkdirAll(filepath.Join(from, "below"), 0o755))
	must(t, os.WriteFile(filepath.Join(from, "below", "file"), []byte("text"), 0o644))
	must(t, os.Mkdir(to, 0o755))
	must(t, atomicfile.MoveFolder(from, to)) // over an empty folder
	if got, err := os.ReadFile(filepath.Join(to, "below", "file")); err != nil || string(got) != "text" {
		t.Errorf("the file holds %q (%v)", got, err)
	}
	alone(t, to)
	must(t, os.Mkdir(from, 0o755))
	if err := atomicfile.MoveFolder(from, to); err == nil {
		t.Error("a folder replaced one that holds something")
	}
	if _, err := os.Stat(from); err != nil {
		t.Errorf("the folder that could not be moved: %v", err)
	}
	if _, err := os.Stat(filepath.Join(to, "below", "file")); err != nil {
		t.Errorf("what was there: %v", err)
	}
}

// alone fails the test if anything is in path's folder beside it.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
