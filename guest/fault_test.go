package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/kernel"
	"wiretime/network"
	"wiretime/workload/pageload"
)

// children returns the running guests of this program.
func children(t *testing.T) []int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, file := range tasks {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(command), "time-travel=inf-cpu") {
				all = append(all, pid)
			}
		}
	}
	return all
}

// lost runs a batch that must lose its guest, and returns the error. No process or file may
// remain.
func lost(t *testing.T, m Machine, b Batch, each func(Result) error) *Lost {
	t.Helper()
	h := host(t)
	err := h.Run(t.Context(), m, b, each)
	var how *Lost
	if !errors.As(err, &how) {
		t.Fatalf("the error is %v, want that the guest was lost", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	nothingLeft(t, h)
	t.Log(err)
	return how
}

// nothingLeft checks that a host keeps no folder of a guest that has ended.
func nothingLeft(t *testing.T, h *Host) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(h.dir, "guest-*")); err != nil || len(left) > 0 {
		t.Errorf("folders %v are left (error %v)", left, err)
	}
}

// TestGuestKilledFromOutside kills a guest after its first load: the error names the
// running load, and finished loads count. The batch is so long that the guest cannot finish
// it before, however busy the host is.
func TestGuestKilledFromOutside(t *testing.T) {
	b := everyProtocol(40)
	var came []string
	how := lost(t, machine(1), b, func(r Result) error {
		if came = append(came, r.ID); len(came) > 1 {
			return nil
		}
		guests := children(t)
		if len(guests) != 1 {
			return fmt.Errorf("%d guests are running, want 1", len(guests))
		}
		return unix.Kill(-guests[0], unix.SIGKILL)
	})
	if want := b.Loads[len(came)].ID; len(came) == 0 || how.Load != want {
		t.Errorf("lost at %s, want %s, after %v", how.Load, want, came)
	}
	if !strings.Contains(how.Error(), "killed by signal 9") {
		t.Errorf("it does not say that the guest was killed: %v", how)
	}
	run(t, host(t), machine(1), b) // the host can run another guest
}

// TestLoaderThatSpins uses a browser that computes forever, so that virtual time stands
// still: the guest is killed after its limit, and the end of its console is kept.
func TestLoaderThatSpins(t *testing.T) {
	b := everyProtocol(1)
	b.Station.Chromium, b.Station.Lab.Unblocked = "/init", false
	b.Programs, b.Loads[0].Order.(*pageload.Order).Loader = true, pageload.Chromium
	m := machine(1)
	m.Limit = 5 * time.Second
	began := time.Now()
	how := lost(t, m, b, func(Result) error { return nil })
	if how.Load != b.Loads[0].ID || !strings.Contains(how.Error(), "timed out after 5s") || !strings.Contains(how.Error(), "last words: spinning") {
		t.Errorf("it does not say at which load it was stuck, for how long and with which last words: %v", how)
	}
	if took := time.Since(began); took < m.Limit {
		t.Errorf("given up after %v, before its time of %v was over", took, m.Limit)
	}
}

// TestInterruptedRun ends a run's context while its guest is running.
func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the test")
	err := host(t).Run(ctx, machine(1), everyProtocol(1), func(Result) error { cancel(stop); return nil })
	if !errors.Is(err, stop) {
		t.Errorf("the error is %v, want %v", err, stop)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// TestResultThatCannotBeKept fails when a load is passed on.
func TestResultThatCannotBeKept(t *testing.T) {
	full := errors.New("no room")
	err := host(t).Run(t.Context(), machine(1), everyProtocol(1), func(Result) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("the error is %v, want %v", err, full)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// TestMemoryTooSmall gives guests too little memory: for any program, for the batch's
// loads, and for their capture, which may take half of it.
func TestMemoryTooSmall(t *testing.T) {
	m := machine(1)
	m.Memory = kernel.MinMemory / 2
	if err := host(t).Run(t.Context(), m, everyProtocol(1), nil); !errors.Is(err, kernel.ErrMemory) {
		t.Errorf("the error is %v, want %v", err, kernel.ErrMemory)
	}
	b := Batch{Station: stationConfig(1), Loads: []Load{{ID: "large", Site: large, Order: order("h2", oneLink(network.Link{Delay: time.Millisecond}), 1)}}}
	m.Memory = kernel.MinMemory
	how := lost(t, m, b, func(Result) error { return nil })
	if how.Load != "large" || !strings.Contains(how.Error(), "Out of memory") {
		t.Errorf("it does not say that memory ran out: %v", how)
	}
	m.Memory = 76 << 20
	var failed error
	if err := host(t).Run(t.Context(), m, b, func(r Result) error { failed = r.Failed; return nil }); err != nil {
		t.Fatal(err)
	}
	if failed == nil || !strings.Contains(failed.Error(), "write the capture to memory") || !strings.Contains(failed.Error(), "outgrew") {
		t.Errorf("the load's failure is %v, want that its capture had no room", failed)
	}
}

// TestUnknownSite requests a site that the host was not prepared for.
func TestUnknownSite(t *testing.T) {
	b := everyProtocol(1)
	b.Loads[2].Site = "elsewhere"
	if err := host(t).Run(t.Context(), machine(1), b, nil); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the error is %v, want one that names the site", err)
	}
	nothingLeft(t, host(t))
}

// TestStationThatCannotBeBuilt fails in the guest before a load begins: each load reports
// why, and the guest continues.
func TestStationThatCannotBeBuilt(t *testing.T) {
	b := everyProtocol(1)
	b.Loads[1].Order.(*pageload.Order).TCP.Congestion = "nonesuch"
	var failed []string
	err := host(t).Run(t.Context(), machine(1), b, func(r Result) error {
		if r.Failed != nil {
			failed = append(failed, r.ID+": "+r.Failed.Error())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(failed) != 1 || !strings.Contains(failed[0], b.Loads[1].ID) || !strings.Contains(failed[0], "nonesuch") {
		t.Errorf("failed are %q, want %s for its congestion control", failed, b.Loads[1].ID)
	}
}
