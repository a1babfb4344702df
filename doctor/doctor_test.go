package doctor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"wiretime/doctor"
	"wiretime/lab"
)

func TestMain(m *testing.M) {
	lab.Helper()
	os.Exit(m.Run())
}

// TestExamine: a browser that does not exist is missed, and each lack has a remedy.
func TestExamine(t *testing.T) {
	findings := doctor.Examine(t.Context(), doctor.Config{Chromium: "/nonexistent", Firefox: "/nonexistent", Duration: 10 * time.Millisecond})
	missing := map[string]bool{}
	for _, f := range findings {
		if !f.OK {
			missing[f.Name] = true
			if f.Remedy == "" {
				t.Errorf("%s: %s: no remedy", f.Name, f.Detail)
			}
		}
		if f.Detail == "" {
			t.Errorf("%s has no detail", f.Name)
		}
	}
	if !missing["Chromium"] || !missing["Firefox"] || doctor.Fit(findings) {
		t.Errorf("browsers that do not exist are found: %+v", findings)
	}
	var names []string
	for _, f := range findings {
		names = append(names, f.Name)
	}
	if all := strings.Join(names, " "); !strings.Contains(all, "Chromium Firefox virtual clock containment punctuality") {
		t.Errorf("the findings are %s", all)
	}
}

// TestFit: only what is required counts.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		required, ok, want bool
	}{{true, true, true}, {true, false, false}, {false, false, true}} {
		if got := doctor.Fit([]lab.Finding{{Required: test.required, OK: test.ok}}); got != test.want {
			t.Errorf("required %v, OK %v: Fit returns %v", test.required, test.ok, got)
		}
	}
}
