package broker

import (
	"strings"
	"testing"
)

// TestNames: what stands in subjects and keys is one word of the permitted characters.
func TestNames(t *testing.T) {
	for _, bad := range []string{"", "A", "a.b", "a b", "*", ">", "ä", strings.Repeat("a", 41)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken for the name of a campaign", bad)
		}
	}
	for _, bad := range []string{"", "a.b", "a b", "*", ">", "ä", strings.Repeat("a", 61)} {
		if CheckWorker(bad) == nil {
			t.Errorf("%q is taken for the name of a worker", bad)
		}
	}
	campaign, worker, batch, ok := ParseResultSubject(ResultSubject("c-1", "W_1", "17"))
	if campaign != "c-1" || worker != "W_1" || batch != "17" || !ok {
		t.Errorf("a result's subject reads %q %q %q %t", campaign, worker, batch, ok)
	}
	for _, reply := range []string{"", "_INBOX.w", "_INBOX.other.x", "_INBOX.w2.x", "$JS.API.STREAM.DELETE." + WorkStream, ResultSubject("c", "other", "b")} {
		if _, ok := Asker(TimeSubject("c", "w"), reply); ok {
			t.Errorf("the coordinator would tell the time to %q", reply)
		}
	}
	for _, bad := range []string{"", "wiretime.result.c.w", "wiretime.work.c.w.b", "wiretime.result.c.w.b.x"} {
		if _, _, _, ok := ParseResultSubject(bad); ok {
			t.Errorf("%q is taken for the subject of a result", bad)
		}
	}
}
