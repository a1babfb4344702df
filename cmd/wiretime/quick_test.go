package main

import (
	"strings"
	"testing"

	"wiretime/store"
)

// TestAQuickRunIsNotTheWholeStudy measures the quick part of a study. Results say that the run is a quick one, and an
// unfinished run continues only as what it is, quick or whole. A clock on which the quick part has no cell is refused.
func TestAQuickRunIsNotTheWholeStudy(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	text := strings.NewReplacer("%s", "virtual", "%%", "%").Replace(virtualStudy) + "quick: {repeats: 2, only: [{protocol: [h2, spdy/2]}]}\n"
	u.write(t, "study.yaml", text)
	r := u.run(t, "run", "study.yaml", "--quick", "--store", "kept")
	if r.code != 0 || !strings.Contains(r.out, "4 of 4 loads done") || !strings.Contains(r.out, "This is a quick run") {
		t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
	text = strings.Replace(text, "clock: virtual", "clock: [real, virtual]", 1)
	text = strings.Replace(text, "[h2, spdy/2]", "[h2, spdy/2], clock: real", 1)
	u.write(t, "study.yaml", text)
	r = u.run(t, "run", "study.yaml", "--quick", "--clock", "virtual", "--store", "none")
	if want := "--clock virtual leaves no cell to measure"; r.code != exitInput || !strings.Contains(r.errors, want) {
		t.Errorf("exit code %d, want %d and %q: %s", r.code, exitInput, want, r.errors)
	}
	for name, tt := range map[string]struct {
		unfinished string // environment of the unfinished run
		o          runOptions
		quick      bool   // whether the run goes on as a quick one
		says       string // of the refusal; empty if the run goes on
	}{
		"a quick run":                                 {`{"quick": true}`, runOptions{quick: true}, true, ""},
		"a quick run without the flag":                {`{"quick": true}`, runOptions{}, true, ""},
		"a quick run as one of a whole study":         {`{"quick": true}`, runOptions{study: "study.yaml"}, false, "add --quick to continue it"},
		"a whole run":                                 {`{}`, runOptions{study: "study.yaml"}, false, ""},
		"a whole run as a quick one":                  {`{}`, runOptions{study: "study.yaml", quick: true}, false, "leave out --quick"},
		"a run that does not say whether it is quick": {``, runOptions{}, false, ""},
	} {
		err := checkQuick(&tt.o, store.Run{ID: 1, StudyName: "small", Environment: []byte(tt.unfinished)})
		if tt.says == "" && (err != nil || tt.o.quick != tt.quick) {
			t.Errorf("%s: quick %t, error %v; want %t", name, tt.o.quick, err, tt.quick)
		}
		if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: error %v, want it to say %q", name, err, tt.says)
		}
	}
}
