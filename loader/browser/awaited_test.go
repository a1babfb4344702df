package browser

import (
	"testing"
	"time"
)

// TestDue checks that a page is given time for pending requests only.
func TestDue(t *testing.T) {
	const ms = time.Millisecond
	awaited := []Awaited{{URL: "late", Initiator: "script", Delay: 100 * ms}, {URL: "later", Initiator: "late", Delay: 30 * ms}}
	for _, c := range []struct {
		name  string
		ended map[string]time.Duration
		want  time.Duration
	}{
		{"nothing before the initiator has come", map[string]time.Duration{"other": 10 * ms}, 0},
		{"from the load event", map[string]time.Duration{"script": 10 * ms}, 150 * ms},
		{"from the initiator", map[string]time.Duration{"script": 70 * ms}, 170 * ms},
		{"what comes next", map[string]time.Duration{"script": 10 * ms, "late": 160 * ms}, 190 * ms},
		{"nothing once all were made", map[string]time.Duration{"script": 10 * ms, "late": 160 * ms, "later": 200 * ms}, 0},
	} {
		if got := Due(awaited, c.ended, 50*ms); got != c.want {
			t.Errorf("%s: due at %v, want %v", c.name, got, c.want)
		}
	}
}
