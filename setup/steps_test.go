package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// order records the steps in the order in which they ended.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) step(name string, after ...string) Step {
	return Step{Name: name, After: after, Do: func(context.Context, Progress) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.names = append(o.names, name)
		return nil
	}}
}

func TestStepsComeAfterOthers(t *testing.T) {
	var o order
	steps := []Step{o.step("program", "page"), o.step("kernel", "compiler"), o.step("compiler", "lists"), o.step("page", "not among them"), o.step("lists")}
	if err := Run(t.Context(), &Display{out: t.Output()}, steps); err != nil {
		t.Fatal(err)
	}
	if len(o.names) != len(steps) {
		t.Fatalf("carried out: %q", o.names)
	}
	for _, s := range steps {
		for _, before := range s.After {
			if at := slices.Index(o.names, before); at > slices.Index(o.names, s.Name) {
				t.Errorf("%s was done before %s: %q", s.Name, before, o.names)
			}
		}
	}
}

// TestStepsRunSideBySide runs two steps, each of which ends only when the other has
// started.
func TestStepsRunSideBySide(t *testing.T) {
	meet := make(chan struct{})
	err := Run(t.Context(), &Display{out: t.Output()}, []Step{
		{Name: "one", Do: func(context.Context, Progress) error { meet <- struct{}{}; return nil }},
		{Name: "other", Do: func(context.Context, Progress) error { <-meet; return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAFailureStopsTheRest checks that the cause of a failure is shown at once, with what to type, and that the other
// steps end without being taken for failures.
func TestAFailureStopsTheRest(t *testing.T) {
	var o order
	var shown bytes.Buffer
	no := errors.New("no network")
	underWay, seen := make(chan struct{}), ""
	err := Run(t.Context(), &Display{out: &shown}, []Step{
		{Name: "lists", Again: "apt-get update", Do: func(context.Context, Progress) error { <-underWay; return no }},
		{Name: "page", Do: func(ctx context.Context, _ Progress) error {
			close(underWay)
			<-ctx.Done()
			seen = shown.String() // the display prints before it stops the steps
			return context.Cause(ctx)
		}},
		o.step("compiler", "lists"), o.step("kernel", "compiler"), o.step("program", "page"),
	})
	failed, ok := errors.AsType[*FailedError](err)
	if !ok || !errors.Is(err, no) || failed.Step != "lists" || strings.Contains(err.Error(), "page") {
		t.Errorf("error %v, want that of the step lists alone", err)
	}
	if len(o.names) > 0 {
		t.Errorf("carried out: %q after the failure", o.names)
	}
	if want := "-- lists: failed: no network\n   This step alone: apt-get update\n"; !strings.HasSuffix(seen, want) {
		t.Errorf("shown when the other step was stopped:\n%s\nwant at the end:\n%s", seen, want)
	}
	if !strings.Contains(shown.String(), "-- page: stopped") {
		t.Errorf("shown:\n%s", shown.String())
	}
}

// TestInterruptedStepsEnd checks that programs end together with their children, that no
// further step starts, and that Run waits for all of this.
func TestInterruptedStepsEnd(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	if err := unix.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	var o order
	steps := []Step{
		{Name: "program", Do: func(ctx context.Context, _ Progress) error {
			// The child holds the pipe open as long as it lives.
			return command(ctx, "sh", "-c", "trap '' TERM; (trap '' TERM; echo begun; while :; do sleep 1; done) >'"+begun+"'")
		}},
		o.step("next", "program"),
	}
	pipe := make(chan *os.File)
	go func() {
		file, err := os.Open(begun)
		if err != nil {
			t.Error(err)
		}
		var line [5]byte
		_, _ = file.Read(line[:])
		interrupt()
		pipe <- file
	}()
	err := Run(ctx, &Display{out: t.Output()}, steps)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if len(o.names) > 0 {
		t.Errorf("%q was begun after the interruption", o.names)
	}
	file := <-pipe
	defer file.Close()
	for { // until no process has the other end any more
		var rest [64]byte
		if _, err := file.Read(rest[:]); err != nil {
			break
		}
	}
}

func TestCommandSaysWhyItFailed(t *testing.T) {
	err := command(t.Context(), "sh", "-c", "echo first; echo 'gcc: not found' >&2; exit 7")
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "gcc: not found") {
		t.Errorf("error %v, want the exit status and the last words", err)
	}
}

// TestDisplayOnATerminal checks that each drawing replaces the previous one, and that no
// line wraps.
func TestDisplayOnATerminal(t *testing.T) {
	var out bytes.Buffer
	d := &Display{out: &out, width: func() int { return 60 }}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	states := []state{
		{name: "packages", phase: done, took: 12 * time.Second},
		{name: "kernel", phase: underWay, began: began, detail: "compiling Linux 7.3.4: 312 of about 750 files"},
		{name: "page", phase: failed},
		{name: "program", phase: waiting, waiting: "page"},
	}
	d.show(states, began.Add(83*time.Second))
	first := `✓ packages  done in 12s
… kernel    compiling Linux 7.3.4: 312 of about 750 files, 
✗ page      failed
  program   waits for: page
1 of 4 done, left: kernel, program
`
	if out.String() != first {
		t.Errorf("drawn:\n%s\nwant:\n%s", out.String(), first)
	}
	out.Reset()
	d.note("apt was interrupted")
	d.show(states, began)
	if want := fmt.Sprintf("\x1b[%dA\r\x1b[Jnote: apt was interrupted\n", 5); !strings.HasPrefix(out.String(), want) {
		t.Errorf("the second drawing begins %q, want %q", out.String(), want)
	}
}

// TestServicesStayStopped: packages' scripts find stand-ins for the programs that start services, as apt and dpkg run
// them, and nothing is left afterwards.
func TestServicesStayStopped(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	script := "for p in invoke-rc.d deb-systemd-invoke; do command -v $p; $p nginx start || exit 1; done >&2; exit 7"
	err := undisturbed(t.Context(), Progress{Say: func(string) {}, Note: func(string) {}}, "sh", "-c", script)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("the script ended with %v, want exit status 7", err)
	}
	for _, name := range starters {
		if !strings.Contains(err.Error(), filepath.Join(os.TempDir(), "wiretime-setup-")) || !strings.Contains(err.Error(), name) {
			t.Errorf("the script used another %s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// TestRemovePolicy: the policy that a killed set-up of an earlier version has left is removed, and one of the machine's
// own stays.
func TestRemovePolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy-rc.d")
	for _, own := range []bool{false, true} {
		text := map[bool]string{false: policy, true: "#!/bin/sh\nexit 0\n"}[own]
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := removePolicy(file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); own != (err == nil && string(got) == text) {
			t.Errorf("the machine's own: %t; afterwards there is %q (%v)", own, got, err)
		}
	}
}

func TestStatusLine(t *testing.T) {
	for line, want := range map[string]string{
		"pmstatus:gcc-12:41.1765:Unpacking gcc-12 (amd64)":  "41 %, Unpacking gcc-12 (amd64)",
		"pmstatus:libc6:80:Configuring libc6:amd64 (amd64)": "80 %, Configuring libc6:amd64 (amd64)",
		"dlstatus:1:20.0:Retrieving file 1 of 9":            "",
		"":                                                  "",
	} {
		if got := statusLine(line); got != want {
			t.Errorf("%q says %q, want %q", line, got, want)
		}
	}
}
