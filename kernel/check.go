package kernel

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wiretime/scratch"
)

// Finding is the result of one check of a kernel.
type Finding struct {
	Name   string
	OK     bool
	Detail string
}

const (
	checkMemory = 128 << 20
	checkBoots  = 5
	callsToMake = 20000
)

// trial is one boot of the check.
type trial struct {
	sight
	whole  []byte        // content of its result file
	wall   time.Duration // from start to power-off
	memory int64         // peak, in bytes
}

// Check boots the kernel a few times with this very program in it (see Helper) and returns
// its findings. It takes a second or two. An error says why the kernel could not boot.
func (k Kernel) Check(ctx context.Context) ([]Finding, error) {
	record, err := k.Record()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's record: %w", err)
	}
	folder, err := scratch.Make("", "wiretime-check-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a guest: %w", err)
	}
	defer folder.Remove()
	dir := folder.Path
	if err := layOut(dir); err != nil {
		return nil, fmt.Errorf("lay out a guest's root folder: %w", err)
	}
	var trials []trial
	for range checkBoots {
		t, err := k.try(ctx, dir, 1)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	other, err := k.try(ctx, dir, 2)
	if err != nil {
		return nil, err
	}
	var busy []trial
	for range checkBoots {
		t, err := k.try(ctx, dir, 1, fmt.Sprintf("%s=%d", checkCalls, callsToMake))
		if err != nil {
			return nil, err
		}
		busy = append(busy, t)
	}
	_, forbidden := k.try(ctx, dir, 1, "seccomp=on")

	quicker := func(a, b trial) int { return cmp.Compare(a.wall, b.wall) }
	slices.SortFunc(trials, quicker)
	median := trials[len(trials)/2]
	each := (slices.MinFunc(busy, quicker).wall - trials[0].wall) / callsToMake // other processes can only make it longer
	return []Finding{
		{"kernel", record.Unmet == nil, describe(record)},
		{"boot", true, fmt.Sprintf("%d ms of wall time until power-off (median of %d), %s of memory",
			median.wall.Milliseconds(), checkBoots, megabytes(median.memory))},
		timeFinding(median.sight),
		seedFinding(trials, other),
		missingFinding(median.sight),
		callFinding(each, forbidden),
	}, nil
}

func describe(r Record) string {
	detail := fmt.Sprintf("Linux %s from %s, %d patches, %s", r.Version, r.Source, len(r.Patches), r.Compiler)
	if r.Unmet != nil {
		detail += "; unsupported by this Linux: " + strings.Join(r.Unmet, ", ")
	}
	return detail
}

// timeFinding allows for the guest time of the system calls before and after the sleep.
func timeFinding(s sight) Finding {
	off := s.Slept - checkSleep
	return Finding{"virtual time", off >= 0 && off < 10*time.Microsecond, fmt.Sprintf("a sleep of %.0f s took %v longer", checkSleep.Seconds(), off)}
}

func seedFinding(same []trial, other trial) Finding {
	f := Finding{Name: "seed", OK: true, Detail: fmt.Sprintf("%d boots with one seed gave identical results, one with another seed did not", len(same))}
	for _, t := range same[1:] {
		if string(t.whole) != string(same[0].whole) {
			f.OK, f.Detail = false, fmt.Sprintf("two boots with one seed differ: %s, %s", same[0].whole, t.whole)
		}
	}
	if other.Random == same[0].Random {
		f.OK, f.Detail = false, "boots with different seeds draw the same random bytes"
	}
	return f
}

func missingFinding(s sight) Finding {
	if s.Missing != nil {
		return Finding{"parts", false, "missing: " + strings.Join(s.Missing, ", ")}
	}
	return Finding{"parts", true, "SCTP, MPTCP, TUN devices and network namespaces are available"}
}

func callFinding(each time.Duration, forbidden error) Finding {
	how := "by seccomp"
	if forbidden != nil {
		how = "by ptrace, since this machine forbids seccomp filters: about half as fast"
	}
	return Finding{"system call", true, fmt.Sprintf("%.1f µs of wall time, %s", float64(each.Nanoseconds())/1000, how)}
}

// layOut makes a guest's root folder from this very program.
func layOut(dir string) error {
	if err := checkStatic("/proc/self/exe"); err != nil {
		return err
	}
	for _, sub := range []string{"root/proc", "root/dev", "root" + guestResults, hostResults} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	file, err := os.OpenFile(filepath.Join(dir, "root", "init"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, program)
	return errors.Join(err, file.Close())
}

// checkStatic checks that a program needs no other files, since a guest has none.
func checkStatic(path string) error {
	program, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this program is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// try boots the guest once and reads its results.
func (k Kernel) try(ctx context.Context, dir string, seed uint64, args ...string) (trial, error) {
	// A boot takes a fraction of a second of wall time.
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("timed out after one minute"))
	defer cancel()
	begun := time.Now()
	g, err := k.Boot(ctx, Machine{
		Root: filepath.Join(dir, "root"), Init: "/init", Memory: checkMemory, Seed: seed, CPU: 0, Dir: dir,
		Args: append([]string{checkCommand}, args...),
	})
	if err != nil {
		return trial{}, err
	}
	if err := g.Wait(); err != nil {
		return trial{}, err
	}
	t := trial{wall: time.Since(begun), memory: g.PeakMemory()}
	name := filepath.Join(dir, hostResults, resultFile)
	if t.whole, err = os.ReadFile(name); err != nil {
		return t, fmt.Errorf("read the guest's results: %w", err)
	}
	if err := json.Unmarshal(t.whole, &t.sight); err != nil {
		return t, fmt.Errorf("read the guest's results: %w", err)
	}
	return t, os.Remove(name)
}
