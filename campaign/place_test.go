package campaign

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/network"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// atPlaces makes the campaign one of eight loads on the real clock, alternately at two places.
func (f *fixture) atPlaces(places ...string) {
	f.t.Helper()
	f.dir = filepath.Join(f.t.TempDir(), "placed")
	st, err := store.Open(f.dir, store.Create)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	spec := store.RunSpec{StudyName: "made", StudyText: "name: made", Seed: 7, Version: "made", Environment: json.RawMessage("{}"), Started: time.Unix(1, 0),
		Metrics: append([]study.Metric{{Name: "plt", Unit: "ms", Title: "PLT", Definition: "made"}, {Name: "octets", Unit: "B", Title: "octets", Definition: "made"}}, runner.PlaceMetrics()...)}
	for _, place := range places {
		spec.Cells = append(spec.Cells, study.NewCell(study.Pages(), map[study.Axis]string{
			study.AxisSite: "objects", study.AxisProtocol: "h2", study.AxisNetwork: "net", study.AxisLoader: "fetch", study.AxisAt: place,
		}, network.Path{Name: "net"}))
	}
	for n := range 4 {
		for i, c := range spec.Cells {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: c, Repeat: n, Seed: uint64(n*len(spec.Cells) + i)})
		}
	}
	if _, err := st.BeginRun(spec); err != nil {
		f.t.Fatal(err)
	}
	f.config.Cells, f.config.Checks = spec.Cells, 1
}

// placed divides the plan among batches of a load each.
func (f *fixture) placed(c *Config) {
	c.Batches = nil
	if err := c.Store.EachPlanned(1, func(p store.Planned) error {
		c.Batches = append(c.Batches, runner.Batch{At: p.Cell.On(study.AxisAt), Loads: []runner.BatchLoad{{ID: p.ID, Index: p.Index, Cell: p.Index % len(c.Cells), Repeat: p.Repeat, Seed: p.Seed, Done: p.Done, Attempts: p.Attempts}}})
		return nil
	}); err != nil {
		f.t.Error(err)
	}
}

// placedLoads returns the valid loads and the workers of the run.
func (f *fixture) placedLoads() (loads []store.Load, workers map[string]store.Worker) {
	f.t.Helper()
	st, err := store.Open(f.dir, store.Read)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	if loads, err = st.Loads(1); err != nil {
		f.t.Fatal(err)
	}
	all, err := st.Workers(1)
	if err != nil {
		f.t.Fatal(err)
	}
	workers = map[string]store.Worker{}
	for _, w := range all {
		workers[w.Name] = w
	}
	return slices.DeleteFunc(loads, func(l store.Load) bool { return l.Validity != store.Valid }), workers
}

// TestEachPlaceHasItsWorkers: loads are made by workers of their place, and by nobody else. Each of them, and each worker,
// says how far its clock was ahead. Nothing is carried out twice to be compared.
func TestEachPlaceHasItsWorkers(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.atPlaces("a", "b")
	for name, at := range map[string][]string{"of-a": {"a"}, "of-b": {"c", "b"}, "of-none": nil} {
		c := f.worker(name, maker{})
		c.At, c.Environment = at, json.RawMessage(`{"kernel": "of `+name+`"}`)
		f.work(c)
	}
	if err := f.conduct(f.ctx, f.placed); err != nil {
		t.Fatal(err)
	}
	f.heard("campaign c is left to others: this machine cannot carry the campaign out: its loads are made at a, b, and this worker names no place (--at)")
	loads, workers := f.placedLoads()
	if len(loads) != 7 || len(workers) != 2 { // of 0 to 7, the maker makes none of 5
		t.Errorf("%d valid loads by %v", len(loads), slices.Sorted(maps.Keys(workers)))
	}
	for _, l := range loads {
		if l.Worker != "of-"+l.Cell.On(study.AxisAt) {
			t.Errorf("load %s at %s was made by %s", l.ID, l.Cell.On(study.AxisAt), l.Worker)
		}
		offset, compared := l.Values["clock_offset"]
		if bound := l.Values["clock_bound"]; !compared || bound <= 0 || offset < -bound || offset > bound {
			t.Errorf("load %s: the clock is ahead by %v +- %v ms, and it is the same clock", l.ID, offset, bound)
		}
	}
	var d description
	if err := json.Unmarshal(workers["of-b"].Described, &d); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.At, []string{"c", "b"}) || string(d.Environment) != `{"kernel":"of of-b"}` || d.Bound == nil || d.Compared.IsZero() {
		t.Errorf("the worker is described as %s", workers["of-b"].Described)
	}
}

// TestALateResultOfAPlaceIsDropped: a batch of a place that two workers carried out counts once, the way that it came first, and
// nobody is blamed for the difference.
func TestALateResultOfAPlaceIsDropped(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.atPlaces("a")
	f.setup()
	ended := f.conducting(f.placed)
	late := f.raw("late", "a")
	late.executor = maker{lie: 1000}
	taken := f.take(late)
	first := taken.order.Batch.Loads[0].Index
	taken.stop() // no more heartbeats
	last := f.take(f.raw("last", "a"))
	next := f.raw("next", "a")
	again := f.take(next)
	for again.order.Batch.Loads[0].Index != first {
		if err := again.send(f.ctx); err != nil {
			t.Fatal(err)
		}
		again = f.take(next)
	}
	if err := again.send(f.ctx); err != nil {
		t.Fatal(err)
	}
	if err := taken.send(f.ctx); err != nil {
		t.Log(err) // its acknowledgement comes too late
	}
	if err := last.send(f.ctx); err != nil {
		t.Log(err) // the campaign may end before it is acknowledged
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.placedOnce(first, "next")
}

// placedOnce checks that a load was kept once, as a worker made it.
func (f *fixture) placedOnce(index int, worker string) {
	f.t.Helper()
	loads, _ := f.placedLoads()
	n := 0
	for _, l := range loads {
		if l.Index != index {
			continue
		}
		if n++; l.Worker != worker || l.Values["plt"] != values(l.Index, l.Attempt)["plt"] {
			f.t.Errorf("load %s is of worker %s, with a PLT of %v", l.ID, l.Worker, l.Values["plt"])
		}
	}
	if n != 1 {
		f.t.Errorf("load %d was kept %d times", index, n)
	}
}

// TestAPlaceWithoutWorkers: the user hears of a place where nobody works, once.
func TestAPlaceWithoutWorkers(t *testing.T) {
	said := []string{}
	c := NewCoordinator(Config{Said: func(line string) { said = append(said, line) }})
	c.batches = map[int]*tracked{0: {batch: runner.Batch{At: "a"}}, 1: {batch: runner.Batch{At: "b"}, done: true}, 2: {batch: runner.Batch{}}}
	now := time.Now()
	c.pace.start(now, 0)
	for _, step := range []struct {
		after time.Duration
		there bool
		want  int // lines so far
	}{{silence / 2, false, 0}, {silence, false, 1}, {2 * silence, false, 1}, {3 * silence, true, 1}, {5 * silence, false, 2}} {
		at := now.Add(step.after)
		if step.there {
			c.states["w"] = seen{State{At: []string{"a"}}, at}
		}
		c.noteAbsent(at)
		if len(said) != step.want {
			t.Errorf("after %v it says %q", step.after, said)
		}
	}
}

// TestACampaignHasAnEnd: at its end a campaign gives up what is left, with nothing left in NATS, and the next one with the same store
// goes on from there. Work that another coordinator has left behind is not carried out.
func TestACampaignHasAnEnd(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.atPlaces("a", "b")
	js := f.setup()
	if _, err := js.Publish(f.ctx, broker.WorkSubject("c", "a", "999"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	ended := f.conducting(func(c *Config) { f.placed(c); c.End = time.Now().Add(time.Second) })
	work, err := js.Stream(f.ctx, broker.WorkStream)
	if err != nil {
		t.Fatal(err)
	}
	f.await("work that nobody wants is still there", func() bool {
		_, err := work.GetLastMsgForSubject(f.ctx, broker.WorkSubject("c", "a", "999"))
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	if err := <-ended; !errors.Is(err, ErrOver) || !strings.Contains(err.Error(), "with 8 loads left") {
		t.Fatal(err)
	}
	f.left(js)
	for _, at := range []string{"a", "b"} {
		c := f.worker("of-"+at, maker{})
		c.At = []string{at}
		f.work(c)
	}
	if err := f.conduct(f.ctx, func(c *Config) { f.placed(c); c.End = time.Now().Add(time.Hour) }); err != nil {
		t.Fatal(err)
	}
	if loads, _ := f.placedLoads(); len(loads) != 7 { // of 0 to 7, the maker makes none of 5
		t.Errorf("%d valid loads", len(loads))
	}
}

// TestAForsakenCampaign: with an end, a campaign waits for workers of a place for some time only, once nothing else is left.
func TestAForsakenCampaign(t *testing.T) {
	now := time.Now()
	c := NewCoordinator(Config{})
	for _, step := range []struct {
		what    string
		batches map[int]*tracked
		absent  map[string]time.Time
		want    bool
	}{
		{"nothing is left", map[int]*tracked{0: {batch: runner.Batch{At: "a"}, done: true}}, nil, false},
		{"somebody is there", map[int]*tracked{0: {batch: runner.Batch{At: "a"}}}, nil, false},
		{"nobody has been there for long", map[int]*tracked{0: {batch: runner.Batch{At: "a"}}}, map[string]time.Time{"a": now.Add(-c.terms.patience)}, true},
		{"nobody is there for now", map[int]*tracked{0: {batch: runner.Batch{At: "a"}}}, map[string]time.Time{"a": now.Add(time.Second - c.terms.patience)}, false},
		{"somebody is elsewhere", map[int]*tracked{0: {batch: runner.Batch{At: "a"}}, 1: {batch: runner.Batch{At: "b"}}}, map[string]time.Time{"a": now.Add(-c.terms.patience)}, false},
	} {
		c.batches, c.absent = step.batches, step.absent
		if got := c.forsaken(now); got != step.want {
			t.Errorf("%s: forsaken is %t", step.what, got)
		}
	}
}
