package guest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/artefact"
	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/lab"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
	"wiretime/workload/workloads"
)

// goodRecord is what a load of a page leaves at least.
func goodRecord(t testing.TB) []byte {
	t.Helper()
	r := &pageload.Record{HAR: &capture.HAR{}}
	text, err := json.Marshal(outcome{Record: &workloads.Outcome{Outcome: r}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWhatAGuestLeavesIsForeign collects loads of a guest that a page has taken over. The host neither reads a file outside
// of the guest's folder nor waits for ever; the load fails, and what the link names stays as it is.
func TestWhatAGuestLeavesIsForeign(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, outcomeFile), goodRecord(t), 0o644); err != nil {
		t.Fatal(err)
	}
	const id = "r1-0000-a1"
	for _, c := range []struct {
		name  string
		lay   func(out, load string) error // with goodRecord in load
		fails string                       // "": the load is fine
	}{
		{"nothing unusual", func(string, string) error { return nil }, ""},
		{"a link to a file", func(_, load string) error {
			return os.Symlink(filepath.Join(secret, outcomeFile), filepath.Join(load, lab.CaptureFile))
		}, "symbolic link"},
		{"a link to a device", func(_, load string) error { return os.Symlink("/dev/zero", filepath.Join(load, workload.ServerFile)) }, "symbolic link"},
		{"a FIFO", func(_, load string) error { return unix.Mkfifo(filepath.Join(load, workload.ServerFile), 0o644) }, "FIFO"},
		{"a FIFO for the record", func(_, load string) error {
			return errors.Join(os.Remove(filepath.Join(load, outcomeFile)), unix.Mkfifo(filepath.Join(load, outcomeFile), 0o644))
		}, "FIFO"},
		{"a hard link", func(_, load string) error {
			return os.Link(filepath.Join(load, outcomeFile), filepath.Join(load, "again"))
		}, "hard links"},
		{"a folder", func(_, load string) error { return os.Mkdir(filepath.Join(load, "folder"), 0o755) }, "a folder"},
		{"a record without an end", func(_, load string) error { return os.Truncate(filepath.Join(load, outcomeFile), 1<<40) }, "octets, more than"},
		{"the load's folder is a link", func(_, load string) error {
			return errors.Join(os.RemoveAll(load), os.Symlink(secret, load))
		}, "not a folder"},
		{"the load's folder is a file", func(_, load string) error {
			return errors.Join(os.RemoveAll(load), os.WriteFile(load, nil, 0o644))
		}, "not a folder"},
		{"the folder of all loads is a link", func(out, _ string) error {
			return errors.Join(os.RemoveAll(out), os.Mkdir(filepath.Join(secret, id), 0o755), os.Symlink(secret, out))
		}, "escapes"},
		{"too many files", func(_, load string) error {
			for i := range mostFiles {
				if err := os.WriteFile(filepath.Join(load, orderFile(i)), nil, 0o644); err != nil {
					return err
				}
			}
			return nil
		}, "more than"},
		{"a record of a stream", func(_, load string) error {
			text := []byte(`{"Record":{"` + playback.Workload{}.Kind().Name + `":{}}}`)
			return os.WriteFile(filepath.Join(load, outcomeFile), text, 0o644)
		}, "want one of"},
		{"an empty record", func(_, load string) error { return os.WriteFile(filepath.Join(load, outcomeFile), []byte("{}"), 0o644) }, "want one of"},
		{"no record", func(_, load string) error { return os.Remove(filepath.Join(load, outcomeFile)) }, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, sharedName, outDir)
			load := filepath.Join(out, id)
			if err := os.MkdirAll(load, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(filepath.Join(load, outcomeFile), goodRecord(t), 0o644), c.lay(out, load)); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			var got []Result
			collector := collector{dir: dir, root: root, loads: []Load{{ID: id, Order: &pageload.Order{}}}, done: func(r Result) error { got = append(got, r); return nil }}
			if err := collector.collect(); err != nil || len(got) != 1 {
				t.Fatalf("%d results, error %v; want one result", len(got), err)
			}
			if err := got[0].Failed; c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || got[0].Record != nil) {
				t.Errorf("the load's failure is %v, want %q", err, c.fails)
			}
			if _, err := os.Stat(filepath.Join(secret, outcomeFile)); err != nil {
				t.Errorf("a file outside is gone: %v", err)
			}
		})
	}
}

// FuzzReadOutcome reads mutated records within bounds.
func FuzzReadOutcome(f *testing.F) {
	f.Add(goodRecord(f))
	f.Add([]byte(`{"Failed":"the browser died"}`))
	f.Add([]byte(`{"LoadError":"x","Record":{"page":{"HAR":{"log":{"entries":[{},{},null],"pages":[{}]}}}}}`))
	f.Add([]byte(`{"Record":{"page":null}}`))
	dir := f.TempDir()
	limit := costtest.Limit{Fixed: 1 << 20, PerOctet: 512, Time: 4 * time.Microsecond}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, outcomeFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
		costtest.Check(t, len(text), limit, func() {
			got, err := take(dir, pageload.Workload{})
			if err == nil && got.Common() == nil {
				t.Error("neither a record nor an error")
			}
			if errors.Is(err, artefact.ErrUnfit) {
				t.Error(err)
			}
		})
	})
}
