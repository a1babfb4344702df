package record_test

import (
	"strings"
	"testing"

	"wiretime/site/record"
)

func TestScriptErrorsSayWhereAndWhatToWrite(t *testing.T) {
	tests := []struct{ script, says string }{
		{"jump 3", `steps.txt:1:1: unknown step "jump": write wait, scroll, click, click? or eval`},
		{"scroll bottom\n\n# a\n  jump", `steps.txt:4:3: unknown step "jump"`},
		{"wait", "steps.txt:1:1: wait needs an argument: write wait 2s"},
		{"wait  2", `steps.txt:1:7: invalid duration "2": write a number with its unit`},
		{"wait -1s", "steps.txt:1:6: invalid duration -1s: must be positive"},
		{"wait 61m", "steps.txt:1:6: invalid duration 61m: must be positive and at most one hour"},
		{"# größer\r\n\tscroll top\r\n", `steps.txt:2:9: invalid distance "top": write 1 to 1000000 CSS pixels`},
		{"scroll 0", `steps.txt:1:8: invalid distance "0"`},
		{"scroll 1e9", `steps.txt:1:8: invalid distance "1e9"`},
		{"click", "steps.txt:1:1: click needs an argument: write click SELECTOR"},
		{"click?  ", "steps.txt:1:1: click? needs an argument: write click? SELECTOR"},
		{"eval", "steps.txt:1:1: eval needs an argument"},
		{"eval '\xff'", "steps.txt:1:1: invalid UTF-8"},
	}
	for _, test := range tests {
		_, err := record.ParseScript("steps.txt", []byte(test.script))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want %s", test.script, err, test.says)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff# steps\nwait 2s\n", "scroll 2000\nscroll bottom\r\n", "click #a > b\nclick? .c\n", "eval await fetch('/x')\n", "wait\n", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := record.ParseScript("steps.txt", text)
		if (s == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "steps.txt:") {
			t.Errorf("%q: %v does not name a place", text, err)
		}
	})
}
