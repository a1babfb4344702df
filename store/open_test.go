package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenRefuses(t *testing.T) {
	made := func(t *testing.T, dir string) { mustClose(t, mustOpen(t, dir, Create)) }
	database := func(t *testing.T, dir, statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, databaseName), ""))
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	makeFolder := func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	scribble := func(t *testing.T, dir string, at int64, size int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, databaseName), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt([]byte(strings.Repeat("garbage ", size/8)), at)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string)
		modes   []Mode
		is      error
		says    string
	}{
		{"a missing folder", func(t *testing.T, dir string) {}, []Mode{Read, Write}, ErrNotStore, "`wiretime run` makes a store"},
		{"an empty folder", func(t *testing.T, dir string) { makeFolder(t, dir) }, []Mode{Read, Write}, ErrNotStore, "`wiretime run` makes a store"},
		{"a folder of other files", func(t *testing.T, dir string) {
			makeFolder(t, dir)
			writeFile(t, filepath.Join(dir, "thesis.tex"), "")
		}, []Mode{Read, Write, Create}, ErrNotStore, "it holds other files (thesis.tex)"},
		{"a file", func(t *testing.T, dir string) { writeFile(t, dir, "") }, []Mode{Read, Write, Create}, syscall.ENOTDIR, "not a directory"},
		{"another program's database", func(t *testing.T, dir string) {
			makeFolder(t, dir)
			database(t, dir, "CREATE TABLE t (x)")
		}, []Mode{Read, Write, Create}, ErrNotStore, "another program's database"},
		{"a text file for a database", func(t *testing.T, dir string) {
			makeFolder(t, dir)
			writeFile(t, filepath.Join(dir, databaseName), strings.Repeat("not a database ", 500))
		}, []Mode{Read, Write, Create}, ErrDamaged, "restore it from a copy"},
		{"a damaged database", func(t *testing.T, dir string) {
			made(t, dir)
			scribble(t, dir, 5*4096, 4096)
		}, []Mode{Write, Create}, ErrDamaged, "restore it from a copy"},
		{"a newer store", func(t *testing.T, dir string) {
			made(t, dir)
			database(t, dir, "PRAGMA user_version = 12")
		}, []Mode{Read, Write, Create}, ErrNewer, "its schema has version 12, but this program supports only up to 11; upgrade wiretime"},
	}
	for _, tt := range tests {
		for _, mode := range tt.modes {
			t.Run(fmt.Sprintf("%s/mode %d", tt.name, mode), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "store")
				tt.prepare(t, dir)
				if s, err := Open(dir, mode); err == nil {
					mustClose(t, s)
					t.Fatal("opened")
				} else if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), dir) {
					t.Errorf("got %v, want %v that says %q and names the folder", err, tt.is, tt.says)
				}
			})
		}
	}
}

func TestARefusedFolderIsLeftAsItWas(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Create); err == nil {
		t.Fatal("opened")
	}
	if names := entries(t, dir); !cmp.Equal(names, []string{"thesis.tex"}) {
		t.Errorf("the folder now holds %v", names)
	}
}

func TestOneWriterManyReaders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	writer := mustOpen(t, dir, Create)
	for _, mode := range []Mode{Write, Create} {
		_, err := Open(dir, mode)
		if want := fmt.Sprintf("in use by process %d: wait until it ends", os.Getpid()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), want) {
			t.Errorf("second writer: %v, want ErrLocked that says %q", err, want)
		}
	}
	reader := mustOpen(t, dir, Read)
	pending := begin(t, writer, 1)
	for i, p := range pending {
		if err := writer.Commit(measured(p)); err != nil {
			t.Fatal(err)
		}
		if loads, err := reader.Loads(1); err != nil || len(loads) != i+1 {
			t.Fatalf("the reader sees %d loads (%v), want %d", len(loads), err, i+1)
		}
	}
	_, begun := reader.BeginRun(spec(1))
	_, staged := reader.StageDir("r1-0000-a1")
	for _, err := range []error{begun, staged, reader.Commit(measured(pending[0])), reader.FinishRun(1, started)} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("a reader writes: %v", err)
		}
	}
	mustClose(t, writer)
	mustClose(t, mustOpen(t, dir, Write))
	mustClose(t, reader)
}

// asNobody runs do with the file permissions of the user nobody if the test runs as root,
// and directly otherwise.
func asNobody(t *testing.T, do func()) {
	if os.Getuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(syscall.Setfsgid(65534), syscall.Setfsuid(65534)); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	defer syscall.Setfsgid(0)
	do()
}

func TestAFolderOneMayNotWriteTo(t *testing.T) {
	//nolint:usetesting // another user must get here, and the folder around t.TempDir is closed to others
	parent, err := os.MkdirTemp("/tmp", "wiretime-store-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "s")
	s := mustOpen(t, dir, Create)
	defer func() { mustClose(t, s) }()
	begin(t, s, 1)
	for _, d := range []string{dir, parent} {
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(d, 0o755)
	}

	readable := func(when string) {
		t.Helper()
		asNobody(t, func() {
			r, err := Open(dir, Read)
			if err != nil {
				t.Errorf("%s: %v", when, err)
				return
			}
			defer r.Close()
			if left, err := r.Pending(1); err != nil || len(left) != 3 {
				t.Errorf("%s: %d loads pending (%v), want 3", when, len(left), err)
			}
		})
	}
	readable("reading beside a writer")
	if os.Getuid() == 0 {
		mustClose(t, s)
		readable("reading a closed store")
		s = mustOpen(t, dir, Write)
	}
	asNobody(t, func() {
		_, err := Open(filepath.Join(parent, "new"), Create)
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "make the folder") {
			t.Errorf("creating where it is forbidden: %v", err)
		}
	})
	if os.Getuid() == 0 {
		asNobody(t, func() {
			if _, err := Open(dir, Write); !errors.Is(err, os.ErrPermission) {
				t.Errorf("writing where it is forbidden: %v", err)
			}
		})
	}
}
