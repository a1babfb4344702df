package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wiretime/kernel"
	"wiretime/store"
)

// measuredFile has what the studies beside it measured on the virtual clock: a line for each
// load, with its validity, its foremost figure and a digest of all its figures.
const measuredFile = "testdata/measured/measured.txt"

// TestMeasuredValues measures studies over all protocols, loaders, visits, strategies,
// transports, players and handovers on the virtual clock, and compares every figure of every
// load with what is on record, to the last bit. A change that is not meant to change what is
// measured must pass. One that is meant to records the new figures with WIRETIME_RECORD=1.
//
// Up to one load in twenty may differ, and by up to 5 % in its foremost figure: how the program
// is laid out in memory decides which of two goroutines runs first in a few loads.
//
// The kernel must be the one on record. Figures of a few loads depend on the order in which Go
// walks its maps, which decides the order of HTTP/2 header fields and follows from how many maps
// the program has made before: so the program is built with that order held constant.
func TestMeasuredValues(t *testing.T) {
	k, err := kernel.Find()
	if err != nil {
		if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no kernel of the virtual clock: ", err)
	}
	program := buildWithConstantMaps(t)
	got := []string{"kernel " + k.Hash}
	for _, study := range []string{"protocols", "visits", "strategies", "streams"} {
		got = append(got, measuredLoads(t, program, study)...)
	}
	if os.Getenv("WIRETIME_RECORD") != "" {
		if err := os.WriteFile(measuredFile, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(measuredFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	few := len(want) / 20
	if got[0] != want[0] {
		t.Logf("the figures on record are of another kernel (%s, here %s): foremost figures are held to 5 %%", want[0], got[0])
		few = len(want)
	}
	if len(got) != len(want) {
		t.Fatalf("%d loads, %d on record", len(got)-1, len(want)-1)
	}
	var differ []string
	for i := 1; i < len(want); i++ {
		if got[i] == want[i] {
			continue
		}
		differ = append(differ, fmt.Sprintf("measured   %s\non record  %s", got[i], want[i]))
		if !alike(got[i], want[i]) {
			t.Errorf("a load differs by more than 5 %%:\n%s", differ[len(differ)-1])
		}
	}
	if len(differ) > few {
		t.Errorf("%d of %d loads differ from what is on record:\n%s", len(differ), len(want)-1, strings.Join(differ, "\n"))
	}
}

// buildWithConstantMaps builds the program with a Go runtime whose maps are walked in the same
// order whatever was done before, and whose select statements choose alike.
func buildWithConstantMaps(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	original := filepath.Join(runtime.GOROOT(), "src", "runtime", "rand.go") //nolint:staticcheck // the test runs where it is built
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for _, c := range [][2]string{
		{"func maps_rand() uint64 {\n\treturn rand()\n}", "func maps_rand() uint64 {\n\treturn 0x9e3779b97f4a7c15\n}"},
		{"func cheaprand() uint32 {\n", "func cheaprand() uint32 {\n\tif true {\n\t\treturn 0x7f4a7c15\n\t}\n"},
	} {
		if !strings.Contains(changed, c[0]) {
			t.Fatalf("%s has no %q any more: find out how this Go draws the random numbers of its maps", original, c[0])
		}
		changed = strings.Replace(changed, c[0], c[1], 1)
	}
	replacement, overlay := filepath.Join(dir, "rand.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replacement, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "wiretime")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-trimpath", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return program
}

// measuredLoads runs a study and returns a line for each of its loads.
func measuredLoads(t *testing.T, program, study string) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	run := exec.CommandContext(t.Context(), program, "run", filepath.Join("testdata", "measured", study+".yaml"), "--store", dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("run study %s: %v\n%s", study, err, out)
	}
	st, err := store.Open(dir, store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	loads, err := st.Loads(1)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(loads))
	for i, l := range loads {
		figures := make([]string, 0, len(l.Values))
		for name, v := range l.Values {
			figures = append(figures, name+"="+strconv.FormatFloat(v, 'g', -1, 64))
		}
		slices.Sort(figures)
		foremost := cmp.Or(l.Values["onload"], l.Values["ttd"], l.Values["loading_delay"])
		digest := sha256.Sum256([]byte(strings.Join(figures, " ")))
		lines[i] = fmt.Sprintf("%s %s %s %.6f %x %s", study, l.ID, l.Validity, foremost, digest[:6], l.Cell.Key())
	}
	return lines
}

// alike reports whether two lines are of the same load, with foremost figures within 5 %.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	one, err := strconv.ParseFloat(x[3], 64)
	other, err2 := strconv.ParseFloat(y[3], 64)
	return err == nil && err2 == nil && x[1] == y[1] && x[2] == y[2] && slices.Equal(x[5:], y[5:]) && one <= 1.05*other+2 && other <= 1.05*one+2
}
