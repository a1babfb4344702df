package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wiretime/needtest"
	"wiretime/store"
)

// TestLateLoadsAreRepeatedAndKept asks for a punctuality that no machine has.
func TestLateLoadsAreRepeatedAndKept(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", fmt.Sprintf(smallStudy, 1, "1ns"))
	r := u.run(t, "run", file, "--store", "kept")
	if r.code != exitFailure || !strings.Contains(r.errors, "4 planned loads have no valid attempt") {
		t.Errorf("exit code %d, want %d: %s", r.code, exitFailure, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Invalid] != 4*3 || v[store.Valid] != 0 {
		t.Errorf("verdicts %v, want the 4 loads and the 2 repetitions of each, all invalid", v)
	}
	if shown := u.run(t, "show", "--store", "kept", "r1-0000-a3"); !strings.Contains(shown.out, "breaks rule 3") {
		t.Errorf("the third attempt does not say which rule it breaks:\n%s", shown.out)
	}
}

// TestCellsThatCannotRunAreUnsupported asks for a congestion control that this
// kernel does not have.
func TestCellsThatCannotRunAreUnsupported(t *testing.T) {
	t.Parallel()
	needChromium(t)
	available, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	absent := ""
	for _, name := range []string{"vegas", "westwood", "yeah"} {
		if !strings.Contains(string(available), name) {
			absent = name
		}
	}
	if absent == "" {
		t.Skip("this kernel has every congestion control that the test knows")
	}
	u := self(t)
	u.addPage(t)
	file := u.write(t, "study.yaml", strings.Replace(fmt.Sprintf(smallStudy, 1, "50ms"), "  loaders:", "  congestion: ["+absent+"]\n  loaders:", 1))
	if r := u.run(t, "run", file, "--store", "kept"); r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.errors)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Unsupported] != 4 {
		t.Errorf("verdicts %v, want 4 unsupported", v)
	}
}

// TestSPDYInABrowserIsUnsupported asks for loads that no browser can do, on both
// clocks. Neither the browser nor the kernel would start.
func TestSPDYInABrowserIsUnsupported(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	kernels, err := filepath.Glob(filepath.Join(u.home, ".cache/wiretime/kernel/*/linux"))
	if err != nil || len(kernels) != 1 {
		t.Fatalf("the kernels are %q (error %v), want one", kernels, err)
	}
	info, err := os.Stat(kernels[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kernels[0], make([]byte, info.Size()), 0o755); err != nil {
		t.Fatal(err)
	}
	// Nothing is started for loads that are unsupported, so any program in a guest's sight will do.
	browser, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	file := u.write(t, "study.yaml", `name: browser
repeats: 2
clock: [real, virtual]
matrix:
  sites: [objects@1x100B]
  protocols: [spdy/2, spdy/3, spdy/3.1]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms}]
  loaders: [chromium]
`)
	r := u.run(t, "run", file, "--store", "kept", "--chromium", browser)
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.errors)
	}
	if want := "Unsupported, 12 planned loads: Chromium dropped SPDY in version 51 (2016), Firefox in version 50; use the loader builtin, or fetch for uploads.\n"; !strings.Contains(r.out, want) {
		t.Errorf("%q is not in\n%s", want, r.out)
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Unsupported] != 12 || len(v) != 1 {
		t.Errorf("verdicts %v, want 12 unsupported", v)
	}
	if r := u.run(t, "report", "--store", "kept", "-o", "report.html"); r.code != 0 {
		t.Errorf("report: exit code %d: %s", r.code, r.errors)
	}
	if r := u.run(t, "run", "--resume", "--store", "kept", "--chromium", browser); r.code != exitInput {
		t.Errorf("resume: exit code %d, want %d, for nothing is left: %s", r.code, exitInput, r.errors)
	}
}

// TestVisitsAndStrategiesThatCannotBeAreUnsupported asks for what no client here
// can do, and finds each with its reason.
func TestVisitsAndStrategiesThatCannotBeAreUnsupported(t *testing.T) {
	t.Parallel()
	u := self(t)
	file := u.write(t, "study.yaml", `name: impossible
repeats: 1
clock: real
matrix:
  sites: [objects@1x100B]
  protocols: [h2, spdy/3.1]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms}]
  loaders: [builtin]
  visits: [0rtt, connected]
  strategies: [pipelined-2, pipelined]
`)
	r := u.run(t, "run", file, "--store", "kept")
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.errors)
	}
	for _, want := range []string{
		"Unsupported, 2 planned loads: 0-RTT over h2: only HTTP/3 has it here.\n",
		"Unsupported, 2 planned loads: 0-RTT over spdy/3.1: only HTTP/3 has it here.\n",
		"objects@1x100B over quick (builtin, cubic, initcwnd 10), connected visit, strategy pipelined-2\n",
		"only HTTP/1.1 has pipelining",
		"\n0 of 0 loads used a protocol",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Unsupported] != 8 || len(v) != 1 {
		t.Errorf("verdicts %v, want 8 unsupported", v)
	}
}

// TestCrashOfTheBrowserCostsOneLoad kills the browsers of a run under way.
func TestCrashOfTheBrowserCostsOneLoad(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needChromium(t)
	u := self(t)
	u.addPage(t)
	c := u.command(t.Context(), "run", u.study(t, 3), "--store", "kept")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		if killed == 0 && strings.HasPrefix(lines.Text(), "[ 3/") {
			killed = killBrowsers(t, c.Process.Pid)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("the run ended with %v", err)
	}
	if killed == 0 {
		t.Fatal("no browser was found to kill")
	}
	if v := verdicts(t, filepath.Join(u.home, "kept")); v[store.Valid] != 12 || v[store.Failed] > killed {
		t.Errorf("%d browsers were killed; verdicts %v, want 12 valid loads and at most that many failed", killed, v)
	}
}

// killBrowsers kills the browser processes among the descendants of a process
// and says how many there were.
func killBrowsers(t *testing.T, root int) int {
	t.Helper()
	parents := map[int]int{}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(status[strings.LastIndexByte(string(status), ')')+1:]))
		if parents[pid], err = strconv.Atoi(fields[1]); err != nil {
			t.Fatal(err)
		}
	}
	killed := 0
	for pid := range parents {
		above := pid
		for above > 1 && above != root {
			above = parents[above]
		}
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if above != root || err != nil || !strings.Contains(string(command), "--user-data-dir=") || strings.Contains(string(command), "--type=") {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	return killed
}
