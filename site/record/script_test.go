package record_test

import (
	"strings"
	"testing"

	"wiretime/site/record"
)

func TestScriptErrorsSayWhereAndWhatToWrite(t *testing.T) {
	tests := []struct{ script, says string }{
		{"jump 3", `steps.txt:1:1: "jump" is no step: write wait, scroll, click, click? or eval`},
		{"scroll bottom\n\n# a\n  jump", `steps.txt:4:3: "jump" is no step`},
		{"wait", "steps.txt:1:1: wait what? Write wait 2s"},
		{"wait  2", `steps.txt:1:7: "2" is no time: write a number with its unit`},
		{"wait -1s", "steps.txt:1:6: a wait of -1s"},
		{"wait 61m", "steps.txt:1:6: a wait of 61m: write one of more than 0, and an hour at most"},
		{"# größer\r\n\tscroll top\r\n", `steps.txt:2:9: "top" is no distance: write 1 to 1000000 CSS pixels`},
		{"scroll 0", `steps.txt:1:8: "0" is no distance`},
		{"scroll 1e9", `steps.txt:1:8: "1e9" is no distance`},
		{"click", "steps.txt:1:1: click what? Write click SELECTOR"},
		{"click?  ", "steps.txt:1:1: click? what? Write click? SELECTOR"},
		{"eval", "steps.txt:1:1: eval what?"},
		{"eval '\xff'", "steps.txt:1:1: the line is no UTF-8 text"},
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
			t.Errorf("%q: %v does not say where", text, err)
		}
	})
}
