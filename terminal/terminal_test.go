package terminal_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"wiretime/costtest"
	"wiretime/terminal"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, text, escaped, line string }{
		{"plain", "Zürich ✓ 東京", "Zürich ✓ 東京", "Zürich ✓ 東京"},
		{"the replacement character itself", "\ufffd", "\ufffd", "\ufffd"},
		{"lines and columns", "a\tb\nc", "a\tb\nc", `a\x09b\x0ac`},
		{"a change of colour", "\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"the window's title", "\x1b]0;title\a", `\x1b]0;title\x07`, `\x1b]0;title\x07`},
		{"overwriting the line", "bad\rgood", `bad\x0dgood`, `bad\x0dgood`},
		{"CSI as one character", "\u009b31m", `\u009b31m`, `\u009b31m`},
		{"CSI as one octet", "\x9b31m", `\x9b31m`, `\x9b31m`},
		{"delete", "a\x7f", `a\x7f`, `a\x7f`},
		{"writing from right to left", "exe.\u202egnp", `exe.\u202egnp`, `exe.\u202egnp`},
		{"a character cut short", "\xe2\x9c", `\xe2\x9c`, `\xe2\x9c`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terminal.Escape(c.text); got != c.escaped {
				t.Errorf("Escape: got %q, want %q", got, c.escaped)
			}
			if got := terminal.Line(c.text); got != c.line {
				t.Errorf("Line: got %q, want %q", got, c.line)
			}
		})
	}
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	const text = "a\x1b[2Jb\n"
	if n, err := fmt.Fprint(terminal.NewWriter(&out), text); n != len(text) || err != nil || out.String() != "a\\x1b[2Jb\n" {
		t.Errorf("it reports %d octets and %v, and passed on %q", n, err, out.String())
	}
}

// limit is what escaping may cost: four octets of output for one of input, and their
// growth.
var limit = costtest.Limit{PerOctet: 64, Fixed: 1 << 16}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff\u009b\n")
	f.Fuzz(func(t *testing.T, s string) {
		var escaped string
		costtest.Check(t, len(s), limit, func() { escaped = terminal.Line(s) })
		if !utf8.ValidString(escaped) || strings.ContainsFunc(escaped, unicode.IsControl) {
			t.Errorf("%q is escaped as %q", s, escaped)
		}
	})
}
