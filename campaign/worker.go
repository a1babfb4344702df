package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/scratch"
	"wiretime/store"
)

const (
	// poll is how long the coordinator waits for a result before it asks again. The server answers as soon as there is one.
	poll = 20 * time.Second
	// idle is how long a worker waits for a batch before it asks again, and idleBeat how often the server tells it to keep waiting.
	// Each time, the server goes through all waiting requests: 1,000 idle workers make it look at 1,000,000 every idleBeat.
	idle     = 2 * time.Minute
	idleBeat = 15 * time.Second
	// mostTries is how many workers may give a batch up, or die of it, before the coordinator is told that it cannot be done.
	mostTries = 10
	// checkTries is how often a worker passes the check of its own work on. Then there is no other worker, and it does the check.
	checkTries = 3
)

// Executor carries out batches of one run; runner.Executor is one.
type Executor interface {
	Do(ctx context.Context, core int, b runner.Batch, dir string, attempted func()) ([]store.LoadRecord, error)
	Close() error
}

// WorkerConfig configures a worker.
type WorkerConfig struct {
	Conn  *nats.Conn
	Name  string
	Jobs  int    // batches at once, one a core
	Core  int    // the first of these cores, from 0
	Dir   string // for what batches leave until it is sent, and for inputs
	Trust string // the public key that plans must be signed with
	// Campaign is the only one to work for; empty: all of them.
	Campaign string
	// At names the places that the worker is at. It carries out batches of these one at a time, and those of no place.
	At []string
	// Environment describes the machine of a worker that is at a place, for the store.
	Environment json.RawMessage
	// Prepare makes the executor of a plan. An error that wraps ErrUnfit says that this machine is not fit for the plan, and
	// ErrServed that another program has served the campaign until it ended.
	Prepare func(ctx context.Context, p *Plan, inputs Inputs) (Executor, error)
	// Said is called with what the worker's operator wants to know, never concurrently.
	Said func(line string)

	terms terms // usual() if it has none
}

// ErrUnfit is wrapped by errors about a plan that this machine must not carry out: its programs are other ones, or it lacks
// something.
var ErrUnfit = errors.New("this machine cannot carry the campaign out")

// ErrServed says that another program has served a campaign until it ended.
var ErrServed = errors.New("another program has served the campaign")

// Worker carries out batches of campaigns.
type Worker struct {
	WorkerConfig
	js        jetstream.JetStream
	campaigns jetstream.KeyValue
	states    jetstream.KeyValue
	inputs    jetstream.ObjectStore
	speaking  sync.Mutex
}

// NewWorker finds a worker's place in JetStream, which a coordinator has made (broker.Setup).
func NewWorker(ctx context.Context, c WorkerConfig) (*Worker, error) {
	w := &Worker{WorkerConfig: c}
	if w.terms == (terms{}) {
		w.terms = usual()
	}
	var err error
	if w.js, err = jetstream.New(c.Conn); err != nil {
		return nil, err
	}
	if w.campaigns, err = w.js.KeyValue(ctx, broker.CampaignBucket); err == nil {
		w.states, err = w.js.KeyValue(ctx, broker.WorkerBucket)
	}
	if err == nil {
		w.inputs, err = w.js.ObjectStore(ctx, broker.InputBucket)
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fmt.Errorf("find the campaigns: no campaign was ever run over this NATS account; begin one with 'wiretime campaign run STUDY --nats URL': %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("find the campaigns: %w", err)
	}
	return w, nil
}

func (w *Worker) say(format string, args ...any) {
	w.speaking.Lock()
	defer w.speaking.Unlock()
	w.Said(fmt.Sprintf(format, args...))
}

// Run carries out batches of one campaign after the other until ctx ends, or of one until that ends. Batches that are under
// way then are given back.
func (w *Worker) Run(ctx context.Context) error {
	watcher, err := watch(ctx, w.Conn, w.terms, w.campaigns, broker.PlanKey(cmp.Or(w.Campaign, "*")))
	if err != nil {
		return fmt.Errorf("watch the campaigns: %w", err)
	}
	defer func() { _ = watcher.Stop() }()
	plans := &planned{changed: make(chan struct{}, 1), waiting: map[string]signed{}}
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watching.Go(func() { plans.follow(ctx, watcher) })
	watching.Go(func() {
		if err := closed(ctx, w.Conn); err != nil {
			stop(err)
		}
	})
	for {
		s, ok := plans.next(ctx)
		if !ok {
			return context.Cause(ctx)
		}
		serving, end := context.WithCancelCause(ctx)
		plans.serve(s, end)
		err := w.serve(ctx, serving, s)
		end(nil)
		plans.served()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errEnded), errors.Is(err, ErrServed):
			if w.Campaign != "" {
				return nil
			}
			w.say("campaign %s has ended", s.Campaign)
		case errors.Is(err, ErrUntrusted), errors.Is(err, ErrUnfit), errors.Is(err, errQuarantined):
			if w.Campaign != "" {
				return err
			}
			w.say("campaign %s is left to others: %v", s.Campaign, err)
		case passes(err): // NATS is away for a while
			plans.again(s)
			if !pause(ctx, w.terms.pause) {
				return context.Cause(ctx)
			}
		case err != nil:
			return fmt.Errorf("work for campaign %s: %w", s.Campaign, err)
		}
	}
}

// serve carries out batches of a campaign until serving ends. ctx is the worker's own: another program that serves the
// campaign in its place sees itself when that ends.
func (w *Worker) serve(ctx, serving context.Context, s signed) (err error) {
	if err := s.check(w.Trust, time.Now()); err != nil {
		return err
	}
	plan, inputs, err := w.fetch(ctx, s)
	if err != nil {
		return err
	}
	places, err := w.places(plan)
	if err != nil {
		return err
	}
	executor, err := w.Prepare(ctx, plan, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, executor.Close()) }()
	queues, err := w.queues(serving, s.Campaign, places)
	if err != nil {
		return err
	}
	dir, err := scratch.Make(w.Dir, "batches-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	w.say("working for campaign %s, study %s, %s", s.Campaign, plan.Study, w.manner(places))
	sv := &service{Worker: w, plan: plan, executor: executor, dir: dir.Path, done: map[int]bool{}}
	ctx, stop := context.WithCancelCause(serving)
	defer stop(nil)
	var running sync.WaitGroup
	running.Go(func() { sv.tell(ctx) })
	running.Go(func() { sv.keepComparing(ctx) })
	running.Go(func() {
		if err := sv.watchQuarantine(ctx); err != nil {
			stop(err)
		}
	})
	for n, queue := range queues {
		running.Go(func() {
			if err := sv.work(ctx, queue, w.Core+n); err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// fetch returns the plan and its inputs, with its sites.
func (w *Worker) fetch(ctx context.Context, s signed) (*Plan, Inputs, error) {
	inputs := Inputs{Sites: filepath.Join(w.Dir, "sites-"+s.ID), worker: w}
	object, err := w.inputs.GetBytes(ctx, s.Object)
	if err != nil {
		return nil, inputs, fmt.Errorf("fetch the plan of campaign %s: %w", s.Campaign, err)
	}
	plan, err := s.read(object)
	if err != nil {
		return nil, inputs, err
	}
	for _, site := range plan.Sites {
		if err := w.fetchFolder(ctx, site, inputs.Sites); err != nil {
			return nil, inputs, fmt.Errorf("fetch site %s of campaign %s: %w", site.Name, s.Campaign, err)
		}
	}
	return plan, inputs, nil
}
