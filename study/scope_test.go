package study

import "testing"

func TestCutScope(t *testing.T) {
	for ratio, want := range map[string]struct {
		within string
		scope  Scope
		of10   int
	}{
		"below 1":                  {"below 1", Scope{}, 10},
		"at least 2":               {"at least 2", Scope{}, 10},
		"0.7 to 0.8 on average":    {"0.7 to 0.8", Scope{Mean: true}, 10},
		"below 1 in all but 2":     {"below 1", Scope{AllBut: 2}, 8},
		"below 1 in all but 12":    {"below 1", Scope{AllBut: 12}, 0},
		"at least 2 in at least 1": {"at least 2", Scope{AtLeast: 1}, 1},
	} {
		within, scope, err := CutScope(ratio)
		if err != nil || within != want.within || scope != want.scope || scope.Needed(10) != want.of10 {
			t.Errorf("%q: %q, %+v, %d of 10 (%v), want %+v", ratio, within, scope, scope.Needed(10), err, want)
		}
		if single := want.scope == (Scope{}); scope.Single() != single {
			t.Errorf("%q: single is %v", ratio, scope.Single())
		}
	}
	for _, ratio := range []string{"below 1 in all but", "below 1 in all but 0", "below 1 in all but some", "below 1 in at least -1"} {
		if within, scope, err := CutScope(ratio); err == nil && !scope.Single() {
			t.Errorf("%q: %q, %+v, want an error", ratio, within, scope)
		}
	}
}
