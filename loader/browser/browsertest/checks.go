// Package browsertest has the expectations that the tests of both browsers' loaders share.
package browsertest

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/loader/browser"
	"wiretime/metric"
)

// CheckPhases expects the phases of a HAR entry, which add up to 200 ms, to within some ms.
func CheckPhases(t *testing.T, e capture.Entry, want capture.Timings, within float64) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) < within }
	got := e.Timings
	if !near(got.Blocked, want.Blocked) || !near(got.DNS, want.DNS) || !near(got.Connect, want.Connect) || !near(got.SSL, want.SSL) ||
		!near(got.Send, want.Send) || !near(got.Wait, want.Wait) || !near(got.Receive, want.Receive) {
		t.Errorf("phases %+v, want %+v", got, want)
	}
	sum := got.Blocked + max(0, got.DNS) + max(0, got.Connect) + got.Send + got.Wait + got.Receive
	if !near(sum, e.Time) || !near(e.Time, 200) {
		t.Errorf("the phases add up to %g ms, the request took %g ms, want 200 ms", sum, e.Time)
	}
}

// CheckNoProcess expects no process of the browser that had its profile in folder.
func CheckNoProcess(t *testing.T, folder string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range environments {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "HOME="+folder) {
			t.Errorf("process %s is left behind", filepath.Dir(name))
		}
	}
}

// CheckEnding expects a valid load of a page that does not come to rest by itself. The HAR's comment
// has note in it, or is empty if note is. unawaited is the path of the only URL whose requests were
// not waited for; empty if all were.
func CheckEnding(t *testing.T, ev *evidence.Evidence, note, unawaited string) {
	t.Helper()
	for _, violation := range metric.Pages().Violations(ev) {
		t.Errorf("rule %d is broken: %s", violation.Rule, violation.Detail)
	}
	comment := ev.HAR.Log.Pages[0].Comment
	if strings.Contains(comment, browser.TooLate) {
		return // on a busy machine the page counted as loaded before the script ran
	}
	if !strings.Contains(comment, note) || (note == "") != (comment == "") {
		t.Errorf("the page's comment is %q, want %q", comment, note)
	}
	var paths []string
	for _, e := range ev.HAR.Log.Entries {
		if e.Unawaited != "" {
			path, _, _ := strings.Cut(strings.TrimPrefix(e.Request.URL, "https://www.page.test"), "?")
			paths = append(paths, path)
		}
	}
	if got := slices.Compact(paths); strings.Join(got, " ") != unawaited {
		t.Errorf("not waited for: %q, want %q", got, unawaited)
	}
	if ev.Timing.OnLoad <= 0 {
		t.Errorf("onLoad is %v", ev.Timing.OnLoad)
	}
}
