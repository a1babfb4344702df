package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wiretime/counts"
	"wiretime/protocol"
	"wiretime/workload/pageload"
)

// spins are computations of a guest's program before it reads the kernel's counts, some tenths of a second each: they
// take the host's processor time, and nothing else.
type spins struct{ Spins int }

// These are the files in a guest with the spins to make and the kernel's counts after them.
const (
	spinsFile   = "spins.json"
	readingFile = "reading.json"
)

// serveSpins reads the counts in a guest.
func serveSpins() error {
	var s spins
	if err := readJSON(spinsFile, &s); err != nil {
		return err
	}
	at := uint32(1)
	for range s.Spins * 200_000_000 {
		at = at*1664525 + 1013904223
	}
	text, err := counts.Read()
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(shared, outDir, readingFile), append(text, byte(at>>31))[:len(text)])
}

// TestCountsShowNoSlowHost: however much processor time of the host a guest has taken, the kernel's counts have the same
// length. The program that reads a longer text takes other memory for it, which moves all loads after it.
func TestCountsShowNoSlowHost(t *testing.T) {
	times := regexp.MustCompile(`(?m)^(processor|program \d+) \d+`)
	reading := func(s spins) (text []byte) {
		inGuest(t, spinsProgram, spinsFile, s, readingFile, &text)
		return text
	}
	mask := func(text []byte) string {
		return times.ReplaceAllStringFunc(string(text), func(found string) string { return strings.Repeat("x", len(found)) })
	}
	fast, slow := reading(spins{0}), reading(spins{4})
	if string(fast) == string(slow) {
		t.Error("the counts have no processor time of the host")
	}
	if x, y := mask(fast), mask(slow); x != y {
		t.Errorf("the counts on a slow host differ in more than digits: %s\n%s", around(x, y), around(string(fast), string(slow)))
	}
}

// TestCountedLoadsAskTheSame runs a batch again and again: its loads must ask the same of the kernel each time, to the
// last page fault.
func TestCountedLoadsAskTheSame(t *testing.T) {
	const boots = 4
	first := run(t, host(t), machine(1), countedBatch())
	for id, l := range first {
		if !strings.Contains(l.counts(t), `"rounds"`) {
			t.Fatalf("load %s was not counted: %s", id, l.counts(t))
		}
	}
	for i := 1; i < boots; i++ {
		for id, again := range run(t, host(t), machine(1), countedBatch()) {
			if where := difference(t, first[id], again); where != "" {
				t.Errorf("boot %d: load %s differs: %s", i, id, where)
			}
		}
	}
}

// countedBatch is a batch whose costs are counted: three rounds of loads over all protocols, since what is not the same
// in a guest shows in its later loads.
func countedBatch() Batch {
	b := Batch{Station: stationConfig(1), Count: true}
	for i := range 3 {
		for _, p := range protocol.Names() {
			o := order(p, lossy, 1)
			o.Loader = pageload.Builtin
			b.Loads = append(b.Loads, Load{ID: fmt.Sprintf("%s-%d", name(p), i), Site: small, Order: o})
		}
	}
	return b
}

// counts returns what a load asked of the kernel, as JSON, without the host's processor time; nothing if it was not counted.
func (d done) counts(t *testing.T) string {
	t.Helper()
	text, counted := d.files[counts.File]
	if !counted {
		return ""
	}
	var c counts.Counts
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	c.Processor = 0
	for name, p := range c.Programs {
		p.Processor = 0
		c.Programs[name] = p
	}
	rest, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// TestForeignCounts: counts that a guest left and that are none cost the load, and no more.
func TestForeignCounts(t *testing.T) {
	const reading = "idle 1\nevents 1\nprocessor 1\nprogram 1 1 1 1 1 1 init\ncall read 1\n"
	for _, test := range []struct {
		name, before, after, fails string
	}{
		{"counts", reading, reading, ""},
		{"no counts", reading, "x\n", "invalid line"},
		{"only one reading", reading, "", countsAfter},
		{"too much", reading, strings.Repeat(reading, largestCounts/len(reading)+1), "larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{countsBefore: test.before, countsAfter: test.after} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := takeCounts(dir)
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("the error is %v, want %q", err, test.fails)
			}
		})
	}
}
