package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// sessionRun begins a run of one session of three loads on the real clock.
func sessionRun(t *testing.T) (*run, []*job) {
	t.Helper()
	page, err := site.Objects(3, 2000)
	if err != nil {
		t.Fatal(err)
	}
	session := study.Session{Loads: 3}
	cell := pageCell(map[study.Axis]string{study.AxisClock: study.ClockReal, study.AxisLoader: pageload.Builtin, study.AxisProtocol: "h2", study.AxisVisit: study.VisitConnected})
	var cells []study.Cell
	for n := range session.Loads {
		cells = append(cells, cell.With(study.AxisLoad, strconv.Itoa(n+1)))
	}
	return begun(t, page, session, 1, cells...)
}

// wrapped is an order whose outcome is changed before it is judged.
type wrapped struct {
	workload.Order
	change func(outcome workload.Outcome, dir string) workload.Outcome
}

func (w wrapped) RunOn(ctx context.Context, s workload.Station, page *site.Site, dir string) (workload.Outcome, error) {
	outcome, err := w.Order.RunOn(ctx, s, page, dir)
	if err != nil {
		return outcome, err
	}
	return w.change(outcome, dir), nil
}

// TestASessionIsAttemptedAgainAsAWhole has the second of three loads fail in the first attempt at their session. The
// session goes on and is then attempted again, none of its first attempts counts, and the report of the last load says
// what the store says.
func TestASessionIsAttemptedAgainAsAWhole(t *testing.T) {
	r, queue := sessionRun(t)
	order := queue[1].Order
	queue[1].Order = func(id string) workload.Order {
		return wrapped{order(id), func(outcome workload.Outcome, _ string) workload.Outcome {
			if strings.HasSuffix(id, "-a1") {
				outcome.Common().LoadError = errors.New("made to fail")
			}
			return outcome
		}}
	}
	var reported []Attempt
	r.Report = func(a Attempt) { reported = append(reported, a) }
	if err := r.attemptAll(t.Context(), queue, r.openStations); err != nil {
		t.Fatal(err)
	}
	loads, err := r.Store.Loads(r.Run)
	if err != nil {
		t.Fatal(err)
	}
	const again = "its session was attempted again, because load 2 failed: made to fail"
	want := map[string]struct {
		validity store.Validity
		reason   string
	}{
		"r1-0000-a1": {store.Invalid, again}, "r1-0001-a1": {store.Failed, "made to fail"}, "r1-0002-a1": {store.Invalid, again},
		"r1-0000-a2": {store.Valid, ""}, "r1-0001-a2": {store.Valid, ""}, "r1-0002-a2": {store.Valid, ""},
	}
	if len(loads) != len(want) || len(reported) != len(want) {
		t.Fatalf("%d attempts in the store and %d reported, want %d", len(loads), len(reported), len(want))
	}
	for _, l := range loads {
		if w := want[l.ID]; l.Validity != w.validity || l.Reason != w.reason {
			t.Errorf("%s is %s: %s, want %s: %s", l.ID, l.Validity, l.Reason, w.validity, w.reason)
		}
	}
	for i, a := range reported {
		done := 0
		if i == len(reported)-1 {
			done = 3
		}
		if a.Of != 3 || a.Done != done || a.Planned != 3 {
			t.Errorf("report of %s: %d of %d loads done, %d in its session, want %d of 3, and 3", a.ID, a.Done, a.Planned, a.Of, done)
		}
	}
	if last := reported[2]; last.ID != "r1-0002-a1" || last.Validity != store.Invalid || last.Reason != again {
		t.Errorf("%s is reported as %s: %s, want %s: %s", last.ID, last.Validity, last.Reason, store.Invalid, again)
	}
}

// TestAnErrorInASessionClosesItsStation ends a run by an error between two loads of a session: nothing of the station
// that they shared may be left.
func TestAnErrorInASessionClosesItsStation(t *testing.T) {
	r, queue := sessionRun(t)
	order := queue[0].Order
	queue[0].Order = func(id string) workload.Order {
		return wrapped{order(id), func(outcome workload.Outcome, dir string) workload.Outcome {
			if err := os.Mkdir(filepath.Join(dir, panicFile), 0o755); err != nil {
				t.Error(err)
			}
			return explosive{outcome} // its stack cannot be kept, because a folder has the file's name
		}}
	}
	before := openNamespaces(t)
	if err := r.attemptAll(t.Context(), queue, r.openStations); !errors.Is(err, syscall.EISDIR) {
		t.Fatalf("the run ended with %v, want %v", err, syscall.EISDIR)
	}
	if after := openNamespaces(t); after != before {
		t.Errorf("%d network namespaces are open after the run, %d before it", after, before)
	}
	if loads, err := r.Store.Loads(r.Run); err != nil || len(loads) > 0 {
		t.Errorf("the store has %d loads of a session that did not end, error %v", len(loads), err)
	}
}

// openNamespaces counts the network namespaces that this process has open.
func openNamespaces(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, err := os.Readlink(file); err == nil && strings.HasPrefix(name, "net:") {
			n++
		}
	}
	return n
}
