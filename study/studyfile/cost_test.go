package studyfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wiretime/costtest"
)

// cost is what a study file may cost. The YAML parser takes time that grows with the square of
// some files' length, which is why they are short.
var cost = costtest.Limit{Fixed: 256 << 20, PerOctet: 1024, Time: 100 * time.Microsecond}

// TestCost reads files that are as long as allowed and as hard to parse as we know.
func TestCost(t *testing.T) {
	repeat := func(s string) string { return strings.Repeat(s, MaxSource/len(s)) }
	var windows []string
	for i := range 1000 {
		windows = append(windows, fmt.Sprint(i+1))
	}
	for _, test := range []struct{ name, src, want string }{
		{"brackets", repeat("["), "nested more than 32 levels deep"},
		{"braces", repeat("{a: "), "nested more than 32 levels deep"},
		{"lists in lists", repeat("- "), "nested more than 32 levels deep"},
		{"keys of keys", repeat("? "), "nested more than 32 levels deep"},
		{"a list of nothing", repeat("-\n"), "keys and values"},
		{"the billion laughs", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "not supported"},
		{"a matrix of more cells than any study loads", "clock: [real, virtual]\n" + small + "  initcwnd: [" + strings.Join(windows, ", ") +
			"]\n  congestion: [" + strings.Join(congestionControls, ", ") + "]\n  visits: [0rtt, cold, resumed, connected, cached]\n", "more than 1000000 cells"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error
			costtest.Check(t, len(test.src), cost, func() { _, err = Parse("x.yaml", []byte(test.src), words) })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.300v, want %q", err, test.want)
			}
		})
	}
}
