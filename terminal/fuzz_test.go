package terminal

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzTable: whatever the cells are, nothing controls the terminal, and all figures stay whole.
func FuzzTable(f *testing.F) {
	f.Add("protocol\tms\nh2\t12\n", uint8(9))
	f.Add("a\t\t\n\tb\n\n\x1b[31m\t999\n", uint8(1))
	f.Add("東京\t3.14 [3..4]\n  indented words\t1.5 ms\n", uint8(3))
	f.Fuzz(func(t *testing.T, text string, columns uint8) {
		out := (&Table{}).fitted(Screen{Columns: int(columns), Unicode: true}, text)
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && obeyed(r) }) {
			t.Errorf("%q becomes %q", text, out)
		}
		previous := false
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			table := strings.Contains(line, "\t")
			for _, cell := range cells(line) {
				if table && previous && whole(cell) && !strings.Contains(out, strings.TrimFunc(cell, unicode.IsSpace)) {
					t.Errorf("the figure %q is not in %q", cell, out)
				}
			}
			previous = table
		}
	})
}
