package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/kernel"
	"wiretime/needtest"
	"wiretime/store"
)

// virtualStudy is a study on a clock, of more loads than one guest is booted for.
const virtualStudy = `name: small
repeats: 9
clock: %s
matrix:
  sites: [objects@10x5kB]
  protocols: [http/1.1, https/1.1, spdy/2, spdy/3, spdy/3.1, h2, h3]
  networks: [{name: lossy, rate: 10mbit, rtt: 20ms, queue: 64kB, loss: 1%%}]
  loaders: [fetch]
`

const virtualLoads = 63

// addKernel gives the user the kernel of the virtual clock.
func (u user) addKernel(t *testing.T) {
	t.Helper()
	k, err := kernel.Find()
	if err != nil {
		if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v ('make kernel' builds the kernel)", err)
	}
	folder := filepath.Dir(k.Path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		name := u.write(t, filepath.Join(".cache/wiretime/kernel", filepath.Base(folder), e.Name()), string(text))
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// values are a run's raw values as exported, but for when and how fast it ran.
func (u user) values(t *testing.T, kept string) [][]string {
	t.Helper()
	exported := u.run(t, "export", "csv", "--store", kept)
	rows, err := csv.NewReader(strings.NewReader(exported.out)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("export csv: %d rows, error %v: %s", len(rows), err, exported.errors)
	}
	for _, column := range []string{"started", "wall_ms"} {
		i := slices.Index(rows[0], column)
		for k := range rows {
			rows[k] = slices.Delete(slices.Clone(rows[k]), i, i+1)
		}
	}
	return rows
}

// column returns the different values of a column.
func column(rows [][]string, name string) []string {
	i := slices.Index(rows[0], name)
	var all []string
	for _, r := range rows[1:] {
		all = append(all, r[i])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// captures are the checksums of a store's captures by load.
func captures(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "loads", "*", "load.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string][sha256.Size]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sums[filepath.Base(filepath.Dir(file))] = sha256.Sum256(text)
	}
	return sums
}

// sameCaptures compares the captures of two stores.
func sameCaptures(t *testing.T, first, second string) {
	t.Helper()
	want, got := captures(t, first), captures(t, second)
	if len(want) != virtualLoads || len(got) != len(want) {
		t.Errorf("%d captures and %d, want %d", len(want), len(got), virtualLoads)
	}
	for load, sum := range want {
		if got[load] != sum {
			t.Errorf("the captures of load %s differ", load)
		}
	}
}

// TestStudyOnTheVirtualClock runs a study twice, as root and as an unprivileged
// user: the values are the same, and the captures, whoever runs it. Loads that are
// run again are, too.
func TestStudyOnTheVirtualClock(t *testing.T) {
	t.Parallel()
	everyone := users(t)
	for _, u := range everyone {
		t.Run(u.name, func(t *testing.T) {
			u.addKernel(t)
			file := u.write(t, "study.yaml", fmt.Sprintf(virtualStudy, "virtual"))
			for _, kept := range []string{"first", "second"} {
				r := u.run(t, "run", file, "--store", kept, "--verify-determinism", "2")
				if r.code != 0 {
					t.Fatalf("exit code %d: %s", r.code, r.errors)
				}
				if n := strings.Count(r.out, "the same in every metric and every byte"); n != 2 {
					t.Errorf("%d loads came out the same when run again, want 2:\n%s", n, r.out)
				}
				if v := verdicts(t, filepath.Join(u.home, kept)); v[store.Valid] != virtualLoads {
					t.Fatalf("verdicts %v, want %d valid loads", v, virtualLoads)
				}
			}
			first, second := u.values(t, "first"), u.values(t, "second")
			if clocks := column(first, "clock"); !slices.Equal(clocks, []string{"virtual"}) {
				t.Errorf("the clocks are %q, want the virtual one alone", clocks)
			}
			for i := range first {
				if i < len(second) && !slices.Equal(first[i], second[i]) {
					t.Errorf("a value differs: %q and %q", first[i], second[i])
				}
			}
			if len(first) != len(second) {
				t.Errorf("%d values and %d", len(first), len(second))
			}
			sameCaptures(t, filepath.Join(everyone[0].home, "first"), filepath.Join(u.home, "second"))
		})
	}
}

// TestKilledRunGoesOnWithTheSameNanoseconds kills a run with SIGKILL in the middle
// and has it go on: the captures are those of a run that nobody killed.
func TestKilledRunGoesOnWithTheSameNanoseconds(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", fmt.Sprintf(virtualStudy, "virtual"))
	if r := u.run(t, "run", file, "--store", "whole"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	c := u.command(t.Context(), "run", file, "--store", "killed")
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
	if r := u.run(t, "run", "--resume", "--store", "killed"); r.code != 0 {
		t.Fatalf("resume: exit code %d: %s", r.code, r.errors)
	}
	sameCaptures(t, filepath.Join(u.home, "whole"), filepath.Join(u.home, "killed"))
}

// TestGuestKilledWhileItReplays kills a guest of a resumed run before it has got further than the loads that the store
// has already: the captures are those of a run that nobody killed.
func TestGuestKilledWhileItReplays(t *testing.T) {
	needtest.Long(t)
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "study.yaml", fmt.Sprintf(virtualStudy, "virtual"))
	if r := u.run(t, "run", file, "--store", "whole"); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	p := u.begin(t, "run", file, "--store", "killed")
	p.await(t, "[20/")
	p.signal(t, syscall.SIGINT)
	p.ends(t, 0)
	p = u.begin(t, "run", "--resume", "--store", "killed")
	p.await(t, "Going on")
	var running []int
	for len(running) == 0 {
		running = guests(t, p.Process.Pid)
	}
	if err := unix.Kill(-running[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for p.lines.Scan() {
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	sameCaptures(t, filepath.Join(u.home, "whole"), filepath.Join(u.home, "killed"))
}

// guests are the guests among a process's descendants.
func guests(t *testing.T, ancestor int) []int {
	t.Helper()
	parents := map[int]int{}
	folders, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range folders {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // proc_pid_stat(5): state, parent
		if parents[pid], err = strconv.Atoi(string(fields[1])); err != nil {
			t.Fatal(err)
		}
	}
	var all []int
	for pid, parent := range parents {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !bytes.Contains(command, []byte("time-travel=inf-cpu")) {
			continue
		}
		for parent != ancestor && parent != 0 {
			parent = parents[parent]
		}
		if group, err := unix.Getpgid(pid); parent == ancestor && err == nil && group == pid {
			all = append(all, pid)
		}
	}
	return all
}

// TestRunOutlivesAGuest kills one of a run's guests: the load that it was at is
// attempted again, and everything is valid in the end. The page is so large that the
// guest is the slower one: it still has loads to do when the first one is kept.
func TestRunOutlivesAGuest(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	large := strings.NewReplacer("repeats: 9", "repeats: 1", "http/1.1, https/1.1, ", "", "10x5kB", "300x20kB", "loss: 1%", "loss: 0").Replace(fmt.Sprintf(virtualStudy, "virtual"))
	c := u.command(ctx, "run", u.write(t, "study.yaml", large), "--store", "kept")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	killed := false
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if killed || !strings.HasPrefix(lines.Text(), "[1/") {
			continue
		}
		killed = true
		running := guests(t, c.Process.Pid)
		if len(running) == 0 {
			t.Error("no guest is running")
			continue
		}
		if err := unix.Kill(-running[0], unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 5 || v[store.Failed] != 1 {
		t.Errorf("verdicts %v, want 5 valid loads and the failed attempt at one", v)
	}
	if !strings.Contains(said.String(), "the guest was lost at load r1-") || !strings.Contains(said.String(), "killed by signal 9") {
		t.Errorf("nothing says which load was lost, and why:\n%s", said.String())
	}
	for _, l := range loadsIn(t, filepath.Join(u.home, "kept")) {
		if l.Validity == store.Valid && l.Attempt > 1 { // its guest was another one than that of its first attempt
			u.runs(t, 0, "reproduce", l.ID, "--store", "kept")
		}
	}
}

// TestClockWithoutAKernel asks for the virtual clock where there is none.
func TestClockWithoutAKernel(t *testing.T) {
	t.Parallel()
	u := self(t)
	few := strings.Replace(virtualStudy, "repeats: 9", "repeats: 1", 1) + "options: {late_limit: 50ms, taken_limit: 100%%}\n"
	open := u.write(t, "open.yaml", fmt.Sprintf(few, "auto"))
	r := u.run(t, "run", open, "--store", "kept")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if n := strings.Count(r.errors, "real clock"); n != 1 || !strings.Contains(r.errors, "wiretime kernel build") {
		t.Errorf("%d lines say that the real clock is used, want one that says what to do:\n%s", n, r.errors)
	}
	if clocks := column(u.values(t, "kept"), "clock"); !slices.Equal(clocks, []string{"real"}) {
		t.Errorf("the clocks are %q, want the real one alone", clocks)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 7 {
		t.Errorf("verdicts %v, want a valid load by each of 7 protocols", v)
	}
	if logs, err := filepath.Glob(filepath.Join(u.home, "kept", "loads", "*", "frames.sqlog")); err != nil || len(logs) != 3 {
		t.Errorf("the frame logs are %q (error %v), want one of each version of SPDY", logs, err)
	}
	for _, args := range [][]string{
		{"run", u.write(t, "virtual.yaml", fmt.Sprintf(few, "virtual")), "--store", "none"},
		{"run", open, "--clock", "virtual", "--store", "none"},
	} {
		if r := u.run(t, args...); r.code != exitMachine || !strings.Contains(r.errors, "wiretime kernel build") {
			t.Errorf("%v: exit code %d, want %d and what to do: %s", args, r.code, exitMachine, r.errors)
		}
	}
}

// TestBrowserInAGuest loads a page with Chromium on the virtual clock.
func TestBrowserInAGuest(t *testing.T) {
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addKernel(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", `name: browser
repeats: 1
clock: virtual
matrix:
  sites: [page]
  protocols: [http/1.1, h2, h3]
  networks: [{name: quick, rate: 10mbit, rtt: 50ms}]
  loaders: [chromium]
`)
	r := u.run(t, "run", file, "--store", "kept")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 3 {
		t.Errorf("verdicts %v, want 3 valid loads", v)
	}
	rows := u.values(t, "kept")
	if metrics := column(rows, "metric"); !slices.Contains(metrics, "onload") || !slices.Contains(metrics, "fcp") {
		t.Errorf("the browser's own times are not among %q", metrics)
	}
	decrypts(t, filepath.Join(u.home, "kept"))
	opensElsewhere(t, filepath.Join(u.home, "kept"))
}
