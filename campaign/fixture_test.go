package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/network"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// patience is how long a campaign of a test may take: far longer than any takes on a busy machine.
const patience = time.Minute

// quick are terms that tests need not wait for. What comes too late on a busy machine is done twice, which must not matter.
func quick() terms {
	return terms{ack: time.Second, lease: time.Second, pause: 20 * time.Millisecond, audit: 300 * time.Millisecond, upload: 500 * time.Millisecond}
}

const (
	repeats = 40 // of each of two cells
	inBatch = 4
	loads   = 2 * repeats
	retries = 2
)

// fixture is a campaign over a real NATS server, into a real store.
type fixture struct {
	t       *testing.T
	server  *broker.Server
	dir     string // of the store
	config  Config // of coordinators
	workers sync.WaitGroup
	ctx     context.Context

	mu   sync.Mutex
	said []string
}

// plannedCampaign makes a campaign of 80 loads in batches of four.
func plannedCampaign(t *testing.T) *fixture {
	t.Helper()
	// As in the program it has no deadline: nats.go then limits each request itself.
	ctx, cancel := context.WithCancel(t.Context())
	late := time.AfterFunc(patience, cancel)
	f := &fixture{t: t, dir: filepath.Join(t.TempDir(), "store"), ctx: ctx}
	t.Cleanup(func() {
		late.Stop()
		cancel()
		f.workers.Wait()
	})
	var err error
	if f.server, err = broker.Start(ctx, broker.Config{Dir: filepath.Join(t.TempDir(), "nats"), Octets: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
	})
	f.config = Config{
		Campaign: "c", Keep: study.KeepAll, Octets: 16 << 20, Key: f.server.PlanKey(), Revoke: f.server.Revoke,
		Plan:   Plan{Study: "made", Seed: 7, Options: study.Options{Retries: retries}, Programs: map[string]string{"wiretime": "made"}},
		Report: func(Progress) {}, Said: f.say, terms: quick(),
	}
	f.config.Cells = cells()
	f.begin()
	return f
}

func (f *fixture) say(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, line)
}

// heard waits until somebody has said something.
func (f *fixture) heard(words string) {
	f.t.Helper()
	f.await("nobody says "+words, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.ContainsFunc(f.said, func(line string) bool { return strings.Contains(line, words) })
	})
}

// await waits until something holds that no event tells.
func (f *fixture) await(otherwise string, holds func() bool) {
	f.t.Helper()
	for !holds() {
		if !pause(f.ctx, 5*time.Millisecond) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.t.Fatalf("%s; said was\n%s", otherwise, strings.Join(f.said, "\n"))
		}
	}
}

func cells() (all []study.Cell) {
	for _, protocol := range []string{"h2", "h3"} {
		all = append(all, study.NewCell(study.Pages(), map[study.Axis]string{
			study.AxisSite: "objects", study.AxisProtocol: protocol, study.AxisNetwork: "net", study.AxisLoader: "fetch", study.AxisClock: study.ClockVirtual,
		}, network.Path{Name: "net"}))
	}
	return all
}

// begin makes the store and plans the run.
func (f *fixture) begin() {
	f.t.Helper()
	st, err := store.Open(f.dir, store.Create)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	spec := store.RunSpec{StudyName: "made", StudyText: "name: made", Seed: 7, Version: "made", Environment: json.RawMessage("{}"), Started: time.Unix(1, 0), Cells: cells(),
		Metrics: []study.Metric{{Name: "plt", Unit: "ms", Title: "PLT", Definition: "made"}, {Name: "octets", Unit: "B", Title: "octets", Definition: "made"}}}
	for n := range repeats {
		for i, c := range spec.Cells {
			spec.Plan = append(spec.Plan, study.PlannedLoad{Cell: c, Repeat: n, Seed: uint64(2*n + i)})
		}
	}
	if _, err := st.BeginRun(spec); err != nil {
		f.t.Fatal(err)
	}
}

// conduct runs the campaign in a process's stead: the store is opened, a coordinator conducts, the store is closed.
func (f *fixture) conduct(ctx context.Context, change func(*Config)) error {
	conn, err := f.server.Coordinator(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	st, err := store.Open(f.dir, store.Create)
	if err != nil {
		return err
	}
	defer st.Close()
	c := f.config
	c.Conn, c.Store = conn, st
	if c.Run, err = st.Run(1); err != nil {
		return err
	}
	if c.Batches, err = batches(st); err != nil {
		return err
	}
	if change != nil {
		change(&c)
	}
	return NewCoordinator(c).Conduct(ctx)
}

// batches divides the plan among batches.
func batches(st *store.Store) (all []runner.Batch, err error) {
	err = st.EachPlanned(1, func(p store.Planned) error {
		if p.Index%inBatch == 0 {
			all = append(all, runner.Batch{Number: len(all)})
		}
		b := &all[len(all)-1]
		b.Loads = append(b.Loads, runner.BatchLoad{ID: p.ID, Index: p.Index, Cell: p.Index % 2, Repeat: p.Repeat, Seed: p.Seed, Done: p.Done, Attempts: p.Attempts})
		return nil
	})
	return all, err
}

// maker is an executor that makes loads up, the same ones each time.
type maker struct {
	before func(ctx context.Context, b runner.Batch) error
	lie    float64 // added to a metric
	octets int     // of each artefact
}

func (maker) Close() error { return nil }

func (m maker) Do(ctx context.Context, _ int, b runner.Batch, dir string, attempted func()) (records []store.LoadRecord, err error) {
	if m.before != nil {
		if err := m.before(ctx, b); err != nil {
			return nil, err
		}
	}
	for _, l := range b.Loads {
		for number, done := l.Attempts+1, l.Done; !done; number++ {
			r := store.LoadRecord{Planned: store.Planned{Run: 1, Index: l.Index}, Attempt: number, Started: time.Now(), Wall: time.Millisecond, Validity: store.Valid,
				Values: values(l.Index, number), Final: number > retries, Making: &store.Making{Boot: b.Loads[0].Index, Attempt: 1}}
			r.Values["plt"] += m.lie
			if !valid(l.Index, number) {
				r.Validity, r.Reason, r.Violations = store.Invalid, "late packets", []study.Violation{{Rule: 3, Detail: "made"}}
			}
			done = r.Final || r.Validity == store.Valid
			folder := filepath.Join(dir, r.ID())
			if err := os.Mkdir(folder, 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(folder, "load.har"), content(l.Index, number, m.octets), 0o644); err != nil {
				return nil, err
			}
			if r.Files, err = store.Checksums(folder); err != nil {
				return nil, err
			}
			records = append(records, r)
			attempted()
		}
	}
	return records, ctx.Err()
}

// valid tells whether an attempt is: some first and second ones are not, and those of some loads never.
func valid(index, attempt int) bool { return index%5 != 0 || attempt > 1 && index%10 == 0 }

func values(index, attempt int) map[string]float64 {
	return map[string]float64{"plt": float64(index) + float64(attempt)/8, "octets": float64(index * index)}
}

// content is what an artefact holds; nothing compresses it.
func content(index, attempt, octets int) []byte {
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], uint64(index*100+attempt))
	text := make([]byte, max(octets, 100))
	_, _ = rand.NewChaCha8(seed).Read(text) // it never fails
	return text
}

// worker is a worker with the rights of one.
func (f *fixture) worker(name string, m Executor) WorkerConfig {
	f.t.Helper()
	i, err := f.server.Invite(name, time.Now().Add(time.Hour))
	if err != nil {
		f.t.Fatal(err)
	}
	access, err := i.Access(f.t.TempDir())
	if err != nil {
		f.t.Fatal(err)
	}
	conn, err := access.Connect(f.ctx, name)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(conn.Close)
	return WorkerConfig{Conn: conn, Name: name, Jobs: 1, Dir: f.t.TempDir(), Trust: i.Trust, Said: f.say, terms: quick(),
		Prepare: func(context.Context, *Plan, Inputs) (Executor, error) { return m, nil }}
}

// work starts a worker. The returned function interrupts it and waits for its end.
func (f *fixture) work(c WorkerConfig) (stop func() error) {
	f.t.Helper()
	f.setup()
	w, err := NewWorker(f.ctx, c)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	f.workers.Go(func() { ended <- w.Run(ctx) })
	return func() error {
		cancel()
		return <-ended
	}
}

// setup makes the streams before there is a coordinator.
func (f *fixture) setup() jetstream.JetStream {
	f.t.Helper()
	conn, err := f.server.Coordinator(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err == nil {
		err = broker.Setup(f.ctx, js, f.config.Octets)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return js
}

// whole checks that the store holds what the maker makes, each attempt exactly once, and nothing else.
func (f *fixture) whole(octets int) {
	f.t.Helper()
	st, err := store.Open(f.dir, store.Read)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	run, err := st.Run(1)
	if err != nil || run.Done != loads || run.Finished.IsZero() {
		f.t.Fatalf("the run is %+v, %v", run, err)
	}
	all, err := st.Loads(1)
	if err != nil {
		f.t.Fatal(err)
	}
	want := map[string]bool{}
	for index := range loads {
		for number := 1; ; number++ {
			want[store.LoadRecord{Planned: store.Planned{Run: 1, Index: index}, Attempt: number}.ID()] = true
			if valid(index, number) || number > retries {
				break
			}
		}
	}
	for _, l := range all {
		if !want[l.ID] {
			f.t.Errorf("there is a load %s too many", l.ID)
		}
		delete(want, l.ID)
		if d := cmp.Diff(values(l.Index, l.Attempt), l.Values); d != "" || (l.Validity == store.Valid) != valid(l.Index, l.Attempt) {
			f.t.Errorf("load %s is %s, with other values: %s", l.ID, l.Validity, d)
		}
		text, err := os.ReadFile(filepath.Join(l.Artefacts, "load.har"))
		if err != nil || sha256.Sum256(text) != sha256.Sum256(content(l.Index, l.Attempt, octets)) {
			f.t.Errorf("load %s has other artefacts (%v)", l.ID, err)
		}
	}
	if len(want) > 0 {
		f.t.Errorf("there are no loads %v", slices.Sorted(maps.Keys(want)))
	}
	entries, err := os.ReadDir(filepath.Join(f.dir, "loads"))
	if err != nil || len(entries) != len(all) {
		f.t.Errorf("there are %d folders of %d loads (%v)", len(entries), len(all), err)
	}
}

// left checks that a campaign has left nothing in NATS.
func (f *fixture) left(js jetstream.JetStream) {
	f.t.Helper()
	for _, name := range []string{broker.WorkStream, broker.ResultStream, "OBJ_" + broker.ArtefactBucket, "OBJ_" + broker.InputBucket} {
		s, err := js.Stream(f.ctx, name)
		if err != nil {
			f.t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n > 0 {
			f.t.Errorf("%d messages are left in %s", n, name)
		}
	}
}
