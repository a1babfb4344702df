package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wiretime/compare"
)

// untilStudy is a study of one cell on a path with losses, which draws others with another seed.
const untilStudy = `name: until
repeats: 1
seed: SEED
clock: virtual
keep: none
matrix:
  sites: [objects@4x4kB]
  protocols: [h2]
  networks: [{name: lossy, rate: 2mbit, rtt: 60ms, queue: 64kB, loss: 5%}]
  loaders: [builtin]
`

// TestCompareUntil measures two studies that differ only in their seed, until a bound is reached. Their runs grow from look to look, and have
// then the loads that runs of as many repeats have. The same command afterwards finds all measured, and says the same.
func TestCompareUntil(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.write(t, "a.yaml", strings.ReplaceAll(untilStudy, "SEED", "1"))
	u.write(t, "b.yaml", strings.ReplaceAll(untilStudy, "SEED", "2"))
	args := []string{"compare", "a.yaml", "b.yaml", "--until", "0.1%", "--at-most", "10", "--store", "both", "--json", "result.json"}
	first := u.runs(t, 0, args...)
	if !strings.Contains(first.errors, "Look 1, 8 repeats:") || !strings.Contains(first.errors, "Look 2, 10 repeats:") {
		t.Errorf("it looked otherwise: %s", first.errors)
	}
	var c compare.Comparison
	text, err := os.ReadFile(filepath.Join(u.home, "result.json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Pairs[0]; len(c.Pairs) != 1 || c.Looks != 2 || p.NA != 10 || p.NB != 10 || p.Verdict != compare.NotDecided || p.Level < 0.99 {
		t.Errorf("the comparison is %+v", c)
	}
	if again := u.runs(t, 0, args...); again != first {
		t.Errorf("the same command says something else: %s", cmp.Diff(first, again))
	}
	u.runs(t, 0, "run", "a.yaml", "--store", "whole", "--repeats", "10")
	grown, whole := loadsIn(t, filepath.Join(u.home, "both/a")), loadsIn(t, filepath.Join(u.home, "whole"))
	if len(grown) != 10 || len(whole) != 10 {
		t.Fatalf("the runs have %d and %d loads", len(grown), len(whole))
	}
	for i, l := range whole {
		if d := cmp.Diff(l.Values, grown[i].Values); d != "" || l.Seed != grown[i].Seed || l.ID != grown[i].ID {
			t.Errorf("load %s of a run that grew is another: %s", l.ID, d)
		}
	}
	same := u.runs(t, 0, "compare", "both/a", "whole")
	if !strings.Contains(same.out, "identical to the nanosecond") || !strings.Contains(same.out, "the same bytes in all") {
		t.Errorf("the run that grew and the whole one compare as\n%s", same.out)
	}
}

// TestCompareRefuses: errors of input say what is wrong.
func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	u := self(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"a"}, exitInput, "accepts 2 arg(s)"},
		{[]string{"a", "b"}, exitStore, "open store a"},
		{[]string{"protocol=h2", "speed=9"}, exitStore, "open store results"},
		{[]string{"speed=9", "protocol=h2"}, exitInput, `unknown axis "speed"`},
		{[]string{"a:0", "b"}, exitInput, `invalid run "0"`},
		{[]string{"a", "b", "--fail-if", "onload 3%"}, exitInput, "neither > nor <"},
		{[]string{"a", "b", "--fail-if", "onload p50 > 3"}, exitInput, "the bound has no unit"},
		{[]string{"a", "b", "--fail-if", "onload p0 > 3%"}, exitInput, "unknown statistic"},
		{[]string{"a", "b", "--fail-undecided"}, exitInput, "needs a --fail-if"},
		{[]string{"a", "b", "--margin", "3"}, exitInput, "invalid percentage"},
		{[]string{"a", "b", "--margin", "NaN%"}, exitInput, "invalid percentage"},
		{[]string{"a", "b", "--statistic", "p95"}, exitInput, "name the metric as well"},
		{[]string{"a.yaml", "b.yaml", "--until", "1%", "--at-most", "soon"}, exitInput, "invalid bound"},
		{[]string{"a.yaml", "b.yaml", "--until", "1%"}, exitInput, "no such file"},
	} {
		r := u.run(t, append([]string{"compare"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.errors, c.want) {
			t.Errorf("compare %q: exit code %d, %swant %d and %q", c.args, r.code, r.errors, c.code, c.want)
		}
	}
}
