package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// shown is how many lines of a failed test the end repeats.
const shown = 20

// slow is how many of the packages that take longest the end names.
const slow = 5

// failure is a test that failed, or, without a test, a package that could not be built or died.
type failure struct {
	pkg, test string
	lines     []string // the last ones that it printed
}

// tally counts how tests ended. Tests that have subtests are not counted, their subtests are.
type tally struct {
	passed, failed, skipped int
	failures                []failure
	skips                   map[string][]string // tests by the reason why they were skipped
	took                    map[string]time.Duration
}

// summary prints the end of a run.
func (p *progress) summary(parts []part, seed string) {
	t := &p.tally
	fmt.Fprintln(p.out, "\n== How long it took")
	for _, part := range parts {
		text := "passed"
		if part.err != nil {
			text = "failed: " + part.err.Error()
		}
		fmt.Fprintf(p.out, "   %-14s %8v  %s\n", part.name, part.took.Round(time.Second), text)
	}
	longest := slices.SortedFunc(maps.Keys(t.took), func(a, b string) int { return int(t.took[b] - t.took[a]) })
	for _, name := range longest[:min(slow, len(longest))] {
		fmt.Fprintf(p.out, "   %14s %8v  %s\n", "", t.took[name].Round(time.Second), name)
	}
	if len(t.skips) > 0 {
		fmt.Fprintln(p.out, "\n== Skipped")
	}
	for _, why := range slices.Sorted(maps.Keys(t.skips)) {
		tests := t.skips[why]
		fmt.Fprintf(p.out, "   %s: %s", why, tests[0])
		if len(tests) > 1 {
			fmt.Fprintf(p.out, " and %d more", len(tests)-1)
		}
		fmt.Fprintln(p.out)
	}
	for _, f := range t.failures {
		fmt.Fprintf(p.out, "\n== Failed: %s %s\n", f.pkg, f.test)
		for _, l := range f.end() {
			fmt.Fprintf(p.out, "   %s\n", strings.TrimRight(l, "\n"))
		}
		fmt.Fprintf(p.out, "   Repeat it: %s\n", again(f, seed))
	}
	fmt.Fprintf(p.out, "\nThe tests' order is that of seed %s: WIRETIME_TEST_SEED=%s make test\n", seed, seed)
	fmt.Fprintf(p.out, "tests: %d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
}

// end returns the last lines of a failure, or those with which a panic begins, which a list of all goroutines follows.
func (f failure) end() []string {
	if i := slices.IndexFunc(f.lines, func(l string) bool { return strings.HasPrefix(l, "panic: ") }); i >= 0 {
		return f.lines[i:min(i+shown, len(f.lines))]
	}
	return f.lines[max(0, len(f.lines)-shown):]
}

// again is the command that repeats a failure alone.
func again(f failure, seed string) string {
	words := []string{"CGO_ENABLED=0"}
	for _, variable := range slices.Sorted(slices.Values(os.Environ())) {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "WIRETIME_NEED_") || name == "WIRETIME_LONG" {
			words = append(words, variable)
		}
		if name == "GOFLAGS" { // other flags would compile everything anew
			words = append(words, "GOFLAGS='"+value+"'")
		}
	}
	words = append(words, "go", "test", "-count", "1", "-shuffle", seed)
	if f.test != "" {
		levels := strings.Split(f.test, "/")
		for i, l := range levels {
			levels[i] = "^" + regexp.QuoteMeta(l) + "$"
		}
		words = append(words, "-v", "-run", "'"+strings.Join(levels, "/")+"'")
	}
	_, folder, _ := strings.Cut(f.pkg, "/")
	return strings.Join(append(words, "./"+path.Clean(folder)), " ")
}
