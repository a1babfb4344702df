package artefact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnlyRegularFilesAreOpened lays what a hostile guest may leave into a folder. Nothing but the plain file is opened,
// and opening never waits.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(outside), "left")
	if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("plain"), []byte("plain"), 0o644),
		os.Symlink(outside, at("absolute")),
		os.Symlink("../secret", at("relative")),
		os.Symlink("plain", at("inner")),
		os.Link(outside, at("hard")),
		unix.Mkfifo(at("fifo"), 0o644),
		unix.Mknod(at("socket"), unix.S_IFSOCK|0o644, 0),
		os.Symlink("/dev/zero", at("endless")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		name           string
		opened, within bool // by Open, by OpenIn
	}{
		{"plain", true, true},
		{"hard", true, false},
		{"absolute", false, false}, {"relative", false, false}, {"inner", false, false},
		{"fifo", false, false}, {"socket", false, false}, {"endless", false, false}, {"folder", false, false},
	} {
		for _, by := range []struct {
			how  string
			want bool
			open func() (*os.File, error)
		}{
			{"Open", c.opened, func() (*os.File, error) { return Open(at(c.name)) }},
			{"OpenIn", c.within, func() (*os.File, error) { return OpenIn(root, c.name) }},
		} {
			file, err := by.open()
			if by.want != (err == nil) || err != nil && !errors.Is(err, ErrUnfit) {
				t.Errorf("%s %s: error %v, want it opened: %t", by.how, c.name, err, by.want)
			}
			if err == nil {
				_ = file.Close()
			}
		}
	}
	if file, err := OpenIn(root, "../secret"); err == nil {
		_ = file.Close()
		t.Error("OpenIn opened a file outside the folder")
	}
	if _, err := Read(at("absent"), Largest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

// TestOnlyFilesAreTouched opens a FIFO as one would a device, whose opening may have effects, and has Linux tell whether
// it was opened.
func TestOnlyFilesAreTouched(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	opened := func() bool {
		n, err := unix.Read(watch, make([]byte, 1000))
		return err == nil && n > 0
	}
	_, err = Open(path)
	_, err2 := OpenIn(root, "fifo")
	if opened() || err == nil || err2 == nil {
		t.Errorf("it was opened; errors %v, %v", err, err2)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil || !opened() {
		t.Fatalf("opening it is not seen: %v", err)
	}
	_ = file.Close()
}

// TestReadIsBounded reads files below and above a limit; the larger one is sparse.
func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for size, want := range map[int64]error{0: nil, 100: nil, 101: ErrUnfit, 1 << 40: ErrUnfit} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := ReadAll(file, 100)
		if !errors.Is(err, want) || want == nil && int64(len(content)) != size {
			t.Errorf("%d octets: read %d, error %v; want %v", size, len(content), err, want)
		}
		_ = file.Close()
	}
}
