package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/kernel"
	"wiretime/needtest"
	"wiretime/process"
)

// TestMain of this package starts the test's own program again as this disturber.
const disturberMark = "WIRETIME_TEST_DISTURBER"

// disturb takes all processors now and then: 300 ms of every half second, on each.
func disturb() {
	for range runtime.NumCPU() {
		go func() {
			for {
				for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
				}
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
	select {}
}

// besideADisturber runs that program until the test is over.
func besideADisturber(t *testing.T) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), disturberMark+"=1")
	child, err := process.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = child.Wait()
	})
}

// firstTable is the README's: what 'wiretime results' printed.
func firstTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(text), "<!-- make readme-table -->\n\n")
	table, _, ends := strings.Cut(rest, "\n<!-- program ")
	if !begins || !ends {
		t.Fatal("README.md has no table between the marks that scripts/readme-table looks for")
	}
	return strings.ReplaceAll("\n"+table, "\n    ", "\n")[1:]
}

// measuredWith says whether the README's table is of this very program and kernel.
func measuredWith(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Find()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	return strings.Contains(string(text), fmt.Sprintf("<!-- program %x kernel %s -->", sum[:16], k.Hash))
}

// near says whether the medians in a row's columns of ms are within 1 % of another's, or 2 ms.
func near(row, other string) bool {
	a, b := strings.Fields(row), strings.Fields(other)
	if len(a) != len(b) || a[0] != b[0] {
		return false
	}
	for i := 1; i < 9; i += 2 {
		x, errX := strconv.ParseFloat(a[i], 64)
		y, errY := strconv.ParseFloat(b[i], 64)
		if errX != nil || errY != nil || math.Abs(x-y) > max(2, y/100) && i < 7 { // ToW ends with whichever acknowledgement is the last
			return false
		}
	}
	return true
}

var (
	versionsLine = regexp.MustCompile(`(?m)^Measured with .*$`)
	h3Row        = regexp.MustCompile(`(?m)^h3 +\d.*$`)
)

// TestFirstTable measures the study first-look while another program takes all processors now and then, and holds what 'wiretime results' prints to the README's table: octet by octet if
// the program and the kernel are those that the table was measured with, else within 1 %.
//
// The run is interrupted when its loads over HTTP/3 are done, and resumed to its end: root's run and an
// unprivileged user's.
func TestFirstTable(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	needChromium(t)
	want := firstTable(t)
	besideADisturber(t)
	for _, u := range users(t) {
		t.Run(u.name, func(t *testing.T) {
			u.addKernel(t)
			u.interruptAfterHTTP3(t)
			if r := finish(t, u.command(t.Context(), "run", "first-look", "--resume", "--store", "kept")); r.code != 0 {
				t.Fatalf("resume: exit code %d: %s", r.code, r.errors)
			}
			got := u.run(t, "results", "--store", "kept").out
			here, there := versionsLine.FindString(got), versionsLine.FindString(want)
			if here == "" || there == "" {
				t.Fatalf("the versions are %q here and %q in README.md", here, there)
			}
			if here != there {
				t.Skipf("the README's table is of other versions (make readme-table measures it anew).\nREADME: %s\nhere:   %s", there, here)
			}
			if !measuredWith(t) {
				// Figures move by a millisecond or so with every change of the program.
				t.Log("the README's table is of another program or kernel: 'make readme-table' measures it anew")
			}
			if measuredWith(t) {
				if got != want {
					t.Errorf("the table is\n%s\nand the README's\n%s", got, want)
				}
				return
			}
			rows, wanted := fields(h3Row.FindAllString(got, -1)), fields(h3Row.FindAllString(want, -1))
			if len(rows) != 3 || !slices.EqualFunc(rows, wanted, near) {
				t.Errorf("the rows of h3 are\n%s\nand the README's\n%s", strings.Join(rows, "\n"), strings.Join(wanted, "\n"))
			}
		})
	}
}

// fields are lines with their columns one space apart: how far apart they are printed depends on
// the other rows.
func fields(lines []string) []string {
	var all []string
	for _, l := range lines {
		all = append(all, strings.Join(strings.Fields(l), " "))
	}
	return all
}

// interruptAfterHTTP3 measures first-look into the store "kept" until all its loads over h3 are done, and
// interrupts it then.
func (u user) interruptAfterHTTP3(t *testing.T) {
	t.Helper()
	c := u.command(t.Context(), "run", "first-look", "--resume", "--store", "kept")
	var out bytes.Buffer
	c.Stdout = &out
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	left := 18
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if !strings.Contains(lines.Text(), " h3 ") {
			continue
		}
		if left--; left == 0 {
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); left > 0 || code != exitInterrupted && code != 0 {
		t.Fatalf("exit code %d with %d loads over h3 not done:\n%s%s", code, left, said.String(), &out)
	}
}
