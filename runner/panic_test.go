package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wiretime/kernel"
	"wiretime/lab/labtest"
	"wiretime/panics"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// panicking begins a run of five loads on a clock, side by side or in one guest, with one further attempt for each load.
func panicking(t *testing.T, clock string) (*run, []*job) {
	t.Helper()
	page, err := site.Objects(3, 2000)
	if err != nil {
		t.Fatal(err)
	}
	cell := pageCell(map[study.Axis]string{study.AxisClock: clock, study.AxisLoader: pageload.Builtin, study.AxisProtocol: "h2"})
	return begun(t, page, study.Session{}, 5, cell)
}

// begun begins a run of a page's cells in a store of its own, with so many repeats of each cell and one further attempt
// for each load.
func begun(t *testing.T, page *site.Site, session study.Session, repeats int, cells ...study.Cell) (*run, []*job) {
	t.Helper()
	for i := range cells {
		cells[i] = cells[i].With(study.AxisSite, page.Name)
		cells[i].Network = path(0, 20*time.Millisecond)
	}
	spec := store.RunSpec{StudyName: "begun", StudyText: "name: begun\n", Version: "test", Environment: []byte("{}"), Started: time.Now(), Cells: cells, Metrics: Metrics(study.Pages())}
	for repeat := range repeats {
		for _, cell := range cells {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Index: len(spec.Plan), Cell: cell, Repeat: repeat, Seed: uint64(repeat)})
		}
	}
	st, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	id, err := st.BeginRun(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{keeper: st, Config: Config{Store: st, Run: id, Seed: 1, Sites: map[string]*site.Site{page.Name: page}, Report: func(Attempt) {},
		Options: study.Options{Timeout: time.Minute, Retries: 1, DNS: study.DNSInstant, Fallback: study.FallbackNone, Session: session, TCPRmem: labtest.Config(1).TCPRmem, TCPWmem: labtest.Config(1).TCPWmem,
			LateLimit: study.Late{P99: time.Hour, Share: 1e9}, TakenLimit: 1e9}}}
	if cells[0].Clock() == study.ClockVirtual {
		if r.Kernel, err = kernel.Find(); err != nil {
			if os.Getenv("WIRETIME_NEED_KERNEL") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	queue, err := r.queue()
	if err != nil {
		t.Fatal(err)
	}
	r.pace = newPace(queue, len(queue))
	if err := r.prepare(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return r, queue
}

// TestPanicFailsOneLoad has the second load of five panic in each of its attempts: the others must be valid, and the store
// must have the stack. A load without its site panics in the station.
func TestPanicFailsOneLoad(t *testing.T) {
	for clock, open := range map[string]func(*run) func([]*job) (pool, error){
		study.ClockReal:    func(r *run) func([]*job) (pool, error) { return r.openStations },
		study.ClockVirtual: func(r *run) func([]*job) (pool, error) { return r.openGuests },
	} {
		t.Run(clock, func(t *testing.T) {
			r, queue := panicking(t, clock)
			queue[1].Site = nil
			if err := r.attemptAll(t.Context(), queue, open(r)); err != nil {
				t.Fatal(err)
			}
			checkPanic(t, r, "station.(*Station).loadRenamed", "nil pointer dereference")
		})
	}
}

// TestPanicInGoroutineFailsOneLoad is like TestPanicFailsOneLoad, for a panic in a goroutine of the load, while the load waits
// for its context.
func TestPanicInGoroutineFailsOneLoad(t *testing.T) {
	r, queue := panicking(t, study.ClockReal)
	queue[1].Order = func(string) workload.Order { return exploding{} }
	if err := r.attemptAll(t.Context(), queue, r.openStations); err != nil {
		t.Fatal(err)
	}
	checkPanic(t, r, "runner.explode", "boom")
}

// TestPanicInVerdict is like TestPanicFailsOneLoad, for a panic while the load's evidence is read.
func TestPanicInVerdict(t *testing.T) {
	r, queue := panicking(t, study.ClockReal)
	order := queue[1].Order
	queue[1].Order = func(id string) workload.Order { return unreadable{order(id)} }
	if err := r.attemptAll(t.Context(), queue, r.openStations); err != nil {
		t.Fatal(err)
	}
	checkPanic(t, r, "runner.explode", "boom")
}

// exploding is an order that is carried out by a goroutine which panics.
type exploding struct{ workload.Order }

func (exploding) RunOn(ctx context.Context, _ workload.Station, _ *site.Site, _ string) (workload.Outcome, error) {
	g := panics.Group{Guard: panics.From(ctx)}
	g.Go(explode)
	defer g.Wait()
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func explode() { panic("boom") }

// unreadable is an order whose outcome panics when evidence is collected from it.
type unreadable struct{ workload.Order }

func (o unreadable) RunOn(ctx context.Context, s workload.Station, page *site.Site, dir string) (workload.Outcome, error) {
	outcome, err := o.Order.RunOn(ctx, s, page, dir)
	return explosive{outcome}, err
}

type explosive struct{ workload.Outcome }

func (explosive) Workload() workload.Workload { explode(); return nil }

// checkPanic checks that the second load has failed twice, with a stack that names a function, and that all others are valid.
func checkPanic(t *testing.T, r *run, function, value string) {
	t.Helper()
	loads, err := r.Store.Loads(r.Run)
	if err != nil {
		t.Fatal(err)
	}
	failed, valid := 0, 0
	for _, l := range loads {
		if l.Index != 1 {
			valid++
			if l.Validity != store.Valid {
				t.Errorf("load %s is %s: %s", l.ID, l.Validity, l.Reason)
			}
			continue
		}
		failed++
		if l.Validity != store.Failed || !strings.Contains(l.Reason, "this is a bug of Wiretime: panic: ") || !strings.Contains(l.Reason, value) {
			t.Errorf("load %s is %s: %s", l.ID, l.Validity, l.Reason)
		}
		text, err := os.ReadFile(filepath.Join(l.Artefacts, panicFile))
		if err != nil || !strings.Contains(string(text), function) || !strings.Contains(string(text), value) {
			t.Errorf("load %s: %s: %q, error %v", l.ID, panicFile, text, err)
		}
	}
	if failed != 2 || valid != 4 {
		t.Errorf("%d attempts at the load that panics, want 2; %d at the four others", failed, valid)
	}
}
