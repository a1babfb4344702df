package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wiretime/needtest"
)

// firstLook is scripts/first-look, what 'make run' measures with, on another study.
func (u user) firstLook(t *testing.T, study, clock string) result {
	t.Helper()
	script, err := filepath.Abs("../../scripts/first-look")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	// The repository may be closed to this user.
	script = u.write(t, "scripts/first-look", strings.Replace(string(text), "run first-look", "run "+study, 1))
	c := u.program(t.Context(), "sh", script, filepath.Join(u.home, "kept"), clock)
	c.Env = append(c.Env, "WIRETIME="+binary)
	return finish(t, c)
}

const fewFetches = `name: few
repeats: %d
clock: virtual
matrix:
  sites: [objects@3x5kB]
  protocols: [http/1.1, h2]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms, queue: 64kB}]
  loaders: [fetch]
options: {late_limit: %s, retries: 0}
`

// TestFirstLookReportsWhatItHas: loads without a valid attempt prevent no report, and the last
// lines say what to do.
func TestFirstLookReportsWhatItHas(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	for clock, todo := range map[string]string{"real": "make run ", "virtual": "kernel check"} {
		t.Run(clock, func(t *testing.T) {
			u := self(t)
			u.addKernel(t)
			r := u.firstLook(t, u.write(t, "few.yaml", fmt.Sprintf(fewFetches, 1, "1ns")), clock)
			if r.code != 1 {
				t.Fatalf("exit code %d, want 1, since nothing can be so punctual: %s%s", r.code, r.out, r.errors)
			}
			if text, err := os.ReadFile(filepath.Join(u.home, "kept", "report.html")); err != nil || !strings.Contains(string(text), "few") {
				t.Errorf("no report of the study (error %v)", err)
			}
			for _, want := range []string{"== Try next:", " explain r1-"} {
				if !strings.Contains(r.out, want) {
					t.Errorf("the output does not say %q:\n%s", want, r.out)
				}
			}
			if _, last, ok := strings.Cut(r.errors, "Some loads have no valid attempt"); !ok || !strings.Contains(last, todo) {
				t.Errorf("the last lines do not say what to do:\n%s", r.errors)
			}
		})
	}
}

// TestFirstLookGoesOn: what was interrupted is resumed by the same command, and what is done is
// measured again by it, as another run.
func TestFirstLookGoesOn(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	file := u.write(t, "few.yaml", fmt.Sprintf(fewFetches, 60, "1s"))
	c := u.command(t.Context(), "run", file, "--store", "kept")
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "[  1/") {
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // its exit code says it
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d, want %d", code, exitInterrupted)
	}
	for _, want := range []string{"Run 1 of study few, seed 1: 120 of 120 loads done", "Run 2 of study few, seed 1: 120 of 120 loads done"} {
		if r := u.firstLook(t, file, "virtual"); r.code != 0 || !strings.Contains(r.out, want) || strings.Contains(r.errors, "valid attempt") {
			t.Errorf("exit code %d, want 0 and %q: %s%s", r.code, want, r.out, r.errors)
		}
	}
}
