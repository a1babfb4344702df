package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/interrupt"
	"wiretime/kernel"
	"wiretime/needtest"
)

// chaos builds the command and the program under test, and prepares to run it.
func chaos(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := kernel.Find(); err != nil {
		if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v ('make kernel' builds the kernel)", err)
	}
	dir := t.TempDir()
	for name, folder := range map[string]string{"chaos": ".", "wiretime": "../wiretime"} {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, name), folder)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // guests have no libraries
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", name, err, out)
		}
	}
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "chaos"), append([]string{"-wiretime", filepath.Join(dir, "wiretime")}, args...)...)
	c.Stderr = os.Stderr
	return c
}

// TestInterrupted: Ctrl-C ends chaos itself, with the table of what it has done, and nothing that has its output is left.
func TestInterrupted(t *testing.T) {
	needtest.Long(t)
	c := chaos(t, "-seed", "1")
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "complete after") {
			_ = c.Process.Signal(syscall.SIGINT) // more than one line may come
		}
	}
	_ = c.Wait() // the code says it
	if code := c.ProcessState.ExitCode(); code != interrupt.ExitCode || !strings.Contains(said.String(), "| what, with seed 1") {
		t.Errorf("exit code %d, want %d and a table:\n%s", code, interrupt.ExitCode, &said)
	}
}

func TestLonger(t *testing.T) {
	if got, want := longer("name: x\nrepeats: 3\nclock: real\n", 4), "name: x\nrepeats: 12\nclock: real\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGrown: what a program holds at its end is compared with its first minute.
func TestGrown(t *testing.T) {
	steady := sample{files: 20, threads: 10, memory: 50 << 10}
	busy := sample{files: 90, threads: 40, memory: 500 << 10} // for a moment
	for _, c := range []struct {
		name string
		last sample
		says string
	}{
		{"as before", steady, ""},
		{"files", sample{files: 20 + moreFiles + 1, threads: 10, memory: 50 << 10}, "open files"},
		{"threads", sample{files: 20, threads: 10 + moreThreads + 1, memory: 50 << 10}, "threads"},
		{"memory", sample{files: 20, threads: 10, memory: 50<<10 + moreMemory + 1}, "memory"},
	} {
		track := &track{}
		for i := range 3 * minute {
			s := steady
			if i > 2*minute {
				s = c.last
			}
			if i%3 == 0 {
				s = busy
			}
			track.samples = append(track.samples, s)
		}
		if got := track.grown(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.name, got, c.says)
		}
	}
}
