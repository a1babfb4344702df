package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/store"
)

// verdicts counts a run's loads by validity.
func verdicts(t *testing.T, dir string) map[store.Validity]int {
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
	count := map[store.Validity]int{}
	for _, l := range loads {
		count[l.Validity]++
		if l.Validity != store.Valid {
			t.Logf("%s %s: %s", l.ID, l.Validity, l.Reason)
		}
	}
	return count
}

// TestStudyFromStartToReport runs a small study over all protocols, as root and
// as an unprivileged user, and everything one does with its results.
func TestStudyFromStartToReport(t *testing.T) {
	t.Parallel()
	needChromium(t)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			u.addPage(t)
			r := u.run(t, "run", u.study(t, 1), "--store", "kept")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.errors)
			}
			if !strings.Contains(r.out, "\n0 of ") || !strings.Contains(r.out, "loads used a protocol other than the one asked for") {
				t.Errorf("a load used the wrong protocol:\n%s%s", r.out, r.errors)
			}
			kept := filepath.Join(u.home, "kept")
			if v := verdicts(t, kept); v[store.Valid] != 4 {
				t.Fatalf("verdicts %v, want 4 valid loads", v)
			}
			exported := u.run(t, "export", "csv", "--store", "kept")
			rows, err := csv.NewReader(strings.NewReader(exported.out)).ReadAll()
			if err != nil || len(rows) < 4*15 {
				t.Errorf("export csv: %d rows, error %v", len(rows), err)
			}
			shown := u.run(t, "show", "--store", "kept", "r1-0000-a1")
			if shown.code != 0 || !strings.Contains(shown.out, "onLoad") || !strings.Contains(shown.out, "load.pcapng") {
				t.Errorf("show: exit code %d\n%s%s", shown.code, shown.out, shown.errors)
			}
			if r := u.run(t, "report", "--store", "kept", "-o", "report.html"); r.code != 0 {
				t.Errorf("report: exit code %d: %s", r.code, r.errors)
			} else if page, err := os.ReadFile(filepath.Join(u.home, "report.html")); err != nil || !strings.Contains(string(page), "r1-0000-a1") {
				t.Errorf("the report does not hold the loads (error %v)", err)
			}
			decrypts(t, kept)
		})
	}
}

// decrypts checks that tshark reads the requests of an h3 load from its capture
// with no further option.
func decrypts(t *testing.T, kept string) {
	t.Helper()
	st, err := store.Open(kept, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		if l.Cell.Over() != "h3" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "tshark", "-r", filepath.Join(l.Artefacts, "load.pcapng"),
			"-Y", "http3.frame_type == 1", "-T", "fields", "-e", "frame.number").Output()
		if err != nil {
			t.Fatalf("run tshark: %v", err)
		}
		if len(strings.Fields(string(out))) == 0 {
			t.Errorf("tshark finds no HTTP/3 HEADERS frame in %s: the capture is not decrypted", l.ID)
		}
		return
	}
	t.Fatal("the store holds no h3 load")
}

// TestKilledRunGoesOn kills a run with SIGKILL in the middle, has it go on, and
// finds exactly the planned loads.
func TestKilledRunGoesOn(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	const planned = 12
	c := u.command(t.Context(), "run", u.study(t, 3), "--store", "kept")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "[ 4/") {
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the last process that belongs to the run is gone
	}
	_ = c.Wait() // it was killed

	refused := u.run(t, "run", filepath.Join(u.home, "study.yaml"), "--store", "kept")
	if refused.code != exitInput || !strings.Contains(refused.errors, "--resume") {
		t.Errorf("a new run beside the unfinished one: exit code %d, want %d and a word of --resume: %s", refused.code, exitInput, refused.errors)
	}
	r := u.run(t, "run", "--resume", "--store", "kept")
	if r.code != 0 {
		t.Fatalf("resume: exit code %d: %s", r.code, r.errors)
	}
	st, err := store.Open(filepath.Join(u.home, "kept"), store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	valid := map[int]int{}
	for _, l := range loads {
		if l.Validity == store.Valid {
			valid[l.Index]++
		}
	}
	for i := range planned {
		if valid[i] != 1 {
			t.Errorf("planned load %d has %d valid loads, want 1", i, valid[i])
		}
	}
	if len(valid) != planned {
		t.Errorf("%d planned loads have a valid load, want %d", len(valid), planned)
	}
	folders, err := os.ReadDir(filepath.Join(u.home, "kept", "loads"))
	if err != nil || len(folders) != len(loads) {
		t.Errorf("%d folders of artefacts for %d loads (error %v)", len(folders), len(loads), err)
	}
	if r := u.run(t, "run", "--resume", "--store", "kept"); r.code != exitInput {
		t.Errorf("resume with nothing left: exit code %d, want %d: %s", r.code, exitInput, r.errors)
	}
}

// TestInterruptedRunGoesOn interrupts a run as Ctrl-C does. Its study names a
// file beside it, which must still be found when the run goes on.
func TestInterruptedRunGoesOn(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	u.write(t, "studies/even.trace", "1\n2\n3\n4\n")
	file := u.write(t, "studies/study.yaml", strings.Replace(fmt.Sprintf(smallStudy, 2, "50ms"), "rate: 20mbit, rtt: 20ms, queue: 64kB", "trace: even.trace, rtt: 20ms", 1))
	c := u.command(t.Context(), "run", file, "--store", "kept")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "[1/") {
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // its exit code says it
	if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(said.String(), "--resume") {
		t.Fatalf("exit code %d, want %d and a word of --resume:\n%s", code, exitInterrupted, said.String())
	}
	if r := u.run(t, "run", "--resume", "--store", "kept"); r.code != 0 {
		t.Fatalf("resume: exit code %d: %s", r.code, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 8 {
		t.Errorf("verdicts %v, want 8 valid loads", v)
	}
}

// TestStoreInUse starts a second run on the store of one that is under way.
func TestStoreInUse(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	file := u.study(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	first := u.command(ctx, "run", file, "--store", "kept")
	progress, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer cancel()
	if lines := bufio.NewScanner(progress); !lines.Scan() {
		t.Fatal("the first run did not begin")
	}
	r := u.run(t, "run", file, "--store", "kept")
	if r.code != exitStore || !strings.Contains(r.errors, "in use") {
		t.Errorf("exit code %d, want %d: %s", r.code, exitStore, r.errors)
	}
}

// TestStoreOfNewerVersion meets a store whose schema it cannot know.
func TestStoreOfNewerVersion(t *testing.T) {
	t.Parallel()
	u := self(t)
	dir := filepath.Join(u.home, "kept")
	st, err := store.Open(dir, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "wiretime.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := u.run(t, "results", "--store", "kept"); r.code != exitStore || !strings.Contains(r.errors, "newer") {
		t.Errorf("exit code %d, want %d: %s", r.code, exitStore, r.errors)
	}
}

// TestDiskFull runs a study on a disk that has no room for it.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	file := u.study(t, 3)
	// In a mount namespace of its own the disk goes away with the test.
	script := `mkdir small && mount -t tmpfs -o size=600k none small && "$0" run "$1" --store small/kept; code=$?
ls -a small/kept/loads | grep -c part; exit $code`
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := finish(t, u.program(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, binary, file))
	if r.code != exitStore || !strings.Contains(r.errors, "disk is full") {
		t.Errorf("exit code %d, want %d and a word of the full disk: %s", r.code, exitStore, r.errors)
	}
	if strings.TrimSpace(r.out) != "0" {
		t.Errorf("half-made loads were left behind: %s", r.out)
	}
}
