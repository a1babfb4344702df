package main

import (
	"strings"
	"testing"

	"wiretime/store"
)

// TestAQuickRunIsNotTheWholeStudy measures the quick part of a study, and finds that such a run is
// marked, and continued only as what it is.
func TestAQuickRunIsNotTheWholeStudy(t *testing.T) {
	u := self(t)
	u.addKernel(t)
	text := strings.NewReplacer("%s", "virtual", "%%", "%").Replace(virtualStudy) + "quick: {repeats: 2, only: [{protocol: [h2, spdy/2]}]}\n"
	u.write(t, "study.yaml", text)
	r := u.run(t, "run", "study.yaml", "--quick", "--store", "kept")
	if r.code != 0 || !strings.Contains(r.out, "4 of 4 loads done") || !strings.Contains(r.out, "This is a quick run") {
		t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
	for name, tt := range map[string]struct {
		quick bool
		args  []string
		says  string // of the refusal; empty if the run goes on
	}{
		"a quick run":                          {true, []string{"--resume", "--quick"}, ""},
		"a quick run without the flag":         {true, []string{"--resume"}, ""},
		"a quick run as that of a whole study": {true, []string{"study.yaml", "--resume"}, "add --quick to continue it"},
		"a whole run as a quick one":           {false, []string{"study.yaml", "--resume", "--quick"}, "leave out --quick"},
	} {
		o := runOptions{store: "kept", resume: true}
		for _, a := range tt.args {
			switch a {
			case "--quick":
				o.quick = true
			case "study.yaml":
				o.study = a
			}
		}
		environment := `{"quick": true}`
		if !tt.quick {
			environment = `{}`
		}
		err := checkQuick(&o, store.Run{ID: 1, StudyName: "small", Environment: []byte(environment)})
		if tt.says == "" && (err != nil || o.quick != tt.quick) {
			t.Errorf("%s: quick %t, error %v", name, o.quick, err)
		}
		if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: error %v, want it to say %q", name, err, tt.says)
		}
	}
}
