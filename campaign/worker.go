package campaign

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
)

const (
	// poll is how long the coordinator waits for a result before it asks again. The server answers as soon as there is one.
	poll = 20 * time.Second
	// idle is how long a worker waits for a batch before it asks again, and idleBeat how often the server tells it that it may go on
	// waiting. For each of both the server looks through all that wait, so a thousand idle workers cost it a million looks in idleBeat.
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
	watcher, err := w.campaigns.Watch(ctx, broker.PlanKey(cmp.Or(w.Campaign, "*")))
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
		plans.served(s)
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

// These are the causes of a context that ends with a campaign.
var (
	errEnded       = errors.New("the campaign has ended")
	errQuarantined = errors.New("its coordinator has quarantined this worker")
)

// planned are the plans that the bucket holds.
type planned struct {
	mu      sync.Mutex
	changed chan struct{}
	waiting map[string]signed // by campaign; those that were not served yet
	order   []string
	current string // the ID of the run that is served
	end     context.CancelCauseFunc
}

// follow takes over what happens to plans until ctx ends.
func (p *planned) follow(ctx context.Context, watcher jetstream.KeyWatcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case entry, ok := <-watcher.Updates():
			if !ok {
				return
			}
			if entry != nil { // nil: these were all that there are
				p.update(entry)
			}
		}
	}
}

func (p *planned) update(entry jetstream.KeyValueEntry) {
	campaign := entry.Key()[len(broker.PlanKey("")):]
	p.mu.Lock()
	defer p.mu.Unlock()
	var s signed
	gone := entry.Operation() != jetstream.KeyValuePut
	if !gone && json.Unmarshal(entry.Value(), &s) != nil {
		return // not signed by anyone
	}
	if p.end != nil && (gone && p.waiting[campaign].ID == p.current || s.Campaign == campaign && s.ID != p.current && p.waiting[campaign].ID == p.current) {
		p.end(errEnded)
	}
	if gone {
		delete(p.waiting, campaign)
		return
	}
	if s.Campaign != campaign {
		return
	}
	if p.waiting[campaign].ID != s.ID {
		p.order = append(p.order, campaign)
	}
	p.waiting[campaign] = s
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// next waits for a plan that was not served yet; false when ctx ends.
func (p *planned) next(ctx context.Context) (signed, bool) {
	for {
		p.mu.Lock()
		for len(p.order) > 0 {
			s, there := p.waiting[p.order[0]]
			p.order = p.order[1:]
			if there {
				p.mu.Unlock()
				return s, true
			}
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return signed{}, false
		case <-p.changed:
		}
	}
}

// again puts a plan back among those that wait.
func (p *planned) again(s signed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[s.Campaign].ID == s.ID {
		p.order = append(p.order, s.Campaign)
	}
}

func (p *planned) serve(s signed, end context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.end = s.ID, end
	if p.waiting[s.Campaign].ID != s.ID { // it has ended meanwhile
		end(errEnded)
	}
}

func (p *planned) served(signed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.end = "", nil
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
	dir, err := os.MkdirTemp(w.Dir, "batches-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w.say("working for campaign %s, study %s, %s", s.Campaign, plan.Study, w.manner(places))
	sv := &service{Worker: w, plan: plan, executor: executor, dir: dir, done: map[int]bool{}}
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

// service carries out batches of one campaign.
type service struct {
	*Worker
	plan     *Plan
	executor Executor
	dir      string

	mu       sync.Mutex
	done     map[int]bool // batches by their first load
	batches  int
	attempts int
	underWay int
	clock    *Comparison // the last one
}

// maxFailures is how many batches may fail in a row before a worker stops. So many failures are the machine's fault.
const maxFailures = 3

// work carries out one batch of a queue after the other. What a batch has left is sent while the next one is carried out.
func (s *service) work(ctx context.Context, queue jetstream.Consumer, core int) error {
	var sending sync.WaitGroup
	defer sending.Wait()
	slot, failures := make(chan struct{}, 1), 0
	for ctx.Err() == nil {
		m, err := next(ctx, queue)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
			return errEnded
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages):
			continue // there is nothing to do
		case err != nil: // NATS is away for a while
			if !pause(ctx, s.terms.pause) {
				return nil
			}
			continue
		}
		done, err := s.carryOut(ctx, core, m)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.say("%v", err)
			if failures++; failures == maxFailures {
				return fmt.Errorf("%d batches in a row failed; the last one: %w", failures, err)
			}
			continue
		case done == nil:
			continue
		}
		failures = 0
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			done.abandon()
			return nil
		}
		sending.Go(func() {
			defer func() { <-slot }()
			if err := done.send(ctx); err != nil && ctx.Err() == nil {
				s.say("%v", err)
			}
		})
	}
	return nil
}

// watchQuarantine fails when the coordinator quarantines this worker. It ends with ctx.
func (s *service) watchQuarantine(ctx context.Context) error {
	watcher, err := s.campaigns.Watch(ctx, broker.QuarantineKey(s.plan.Campaign, s.Name), jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("watch the quarantine: %w", err)
	}
	defer func() { _ = watcher.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil
			}
			if entry != nil {
				return fmt.Errorf("%w: %.500s", errQuarantined, entry.Value())
			}
		}
	}
}

// next waits for a batch. The error wraps context.DeadlineExceeded if there is none for some time.
func next(ctx context.Context, queue jetstream.Consumer) (jetstream.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	return queue.Next(jetstream.FetchContext(limited), jetstream.FetchHeartbeat(idleBeat))
}

// pause waits; false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// carriedOut is a batch that was carried out and is to be sent.
type carriedOut struct {
	*service
	message jetstream.Msg
	order   order
	records []store.LoadRecord
	dir     string
	failed  string // why there are no records
	clock   *Comparison
	stop    func() // ends the heartbeats
}

// carryOut carries out the batch of a message. It returns nil if the batch was given back.
func (s *service) carryOut(ctx context.Context, core int, m jetstream.Msg) (*carriedOut, error) {
	var o order
	err := json.Unmarshal(m.Data(), &o)
	if err == nil && len(o.Batch.Loads) == 0 {
		err = errors.New("it has no load")
	}
	if err != nil {
		_ = m.Term() // it will not become readable
		return nil, fmt.Errorf("read the batch %s: %w", m.Subject(), err)
	}
	first := o.Batch.Loads[0].Index
	s.mu.Lock()
	own := s.done[first]
	s.mu.Unlock()
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	if o.Copy > 0 && own && (o.Copy > 1 || meta.NumDelivered <= checkTries) {
		_ = m.NakWithDelay(s.terms.pause) // another worker should check this one's work, and must if two disagree
		return nil, nil
	}
	c := &carriedOut{service: s, message: m, order: o}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = sync.OnceFunc(stop)
	go beat(beating, s.terms.ack, m)
	if c.dir, err = os.MkdirTemp(s.dir, "batch-"); err != nil {
		c.giveBack(s.terms.pause)
		return nil, err
	}
	if o.Copy <= 1 && meta.NumDelivered > uint64(mostTries+o.Copy*checkTries) {
		c.failed = fmt.Sprintf("%d workers gave it up or died of it", meta.NumDelivered-1)
		return c, nil
	}
	if o.Batch.At != "" {
		c.clock = s.compareClock(ctx)
	}
	s.count(func() { s.underWay++ })
	c.records, err = s.executor.Do(ctx, core, o.Batch, c.dir, func() { s.count(func() { s.attempts++ }) })
	s.count(func() { s.underWay-- })
	switch {
	case ctx.Err() != nil:
		c.giveBack(0)
		return nil, context.Cause(ctx)
	case err != nil:
		c.giveBack(s.terms.pause)
		return nil, fmt.Errorf("carry out batch %s of campaign %s: %w", o.name(), s.plan.Campaign, err)
	}
	return c, nil
}

func (s *service) count(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// beat extends the lease of a message until that is acknowledged or ctx ends.
func beat(ctx context.Context, term time.Duration, m jetstream.Msg) {
	ticks := time.NewTicker(heartbeat(term))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			// While NATS is away, the lease may run out: then somebody else does the batch as well.
			if errors.Is(m.InProgress(), jetstream.ErrMsgAlreadyAckd) {
				return
			}
		}
	}
}

// giveBack lets another worker have the batch after a while.
func (c *carriedOut) giveBack(after time.Duration) {
	c.abandon()
	_ = c.message.NakWithDelay(after)
}

// abandon removes what the batch has left here.
func (c *carriedOut) abandon() {
	c.stop()
	_ = os.RemoveAll(c.dir)
}

// send sends what a batch has left and acknowledges the batch.
func (c *carriedOut) send(ctx context.Context) error {
	defer c.abandon()
	r := result{ID: c.plan.ID, Failed: c.failed, Clock: c.clock}
	if c.failed == "" {
		parcel, err := c.pack(&r)
		if err != nil {
			_ = c.message.NakWithDelay(c.terms.pause)
			return fmt.Errorf("send batch %s: %w", c.order.name(), err)
		}
		r.Parcel, err = c.put(ctx, parcel, r.Octets)
		err = errors.Join(err, parcel.Close())
		if errors.Is(err, errTooLarge) {
			r, err = result{ID: c.plan.ID, Failed: err.Error()}, nil
		}
		if err != nil {
			_ = c.message.Nak()
			return fmt.Errorf("send batch %s: %w", c.order.name(), err)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	subject, id := broker.ResultSubject(c.plan.Campaign, c.Name, c.order.name()), cryptorand.Text() // another worker must not guess the ID and use it first
	if err := persist(ctx, c.terms.pause, func() error {
		_, err := c.js.Publish(ctx, subject, text, jetstream.WithMsgID(id))
		return err
	}); err != nil {
		_ = c.message.Nak()
		return fmt.Errorf("send the result of batch %s: %w", c.order.name(), err)
	}
	c.count(func() { c.batches++; c.done[c.order.Batch.Loads[0].Index] = true })
	return c.message.DoubleAck(ctx)
}

// errTooLarge says that an object store has less room than a parcel needs.
var errTooLarge = errors.New("what the batch has left is too large for the campaign's object store")

// put puts a parcel into the object store once there is room for it.
func (c *carriedOut) put(ctx context.Context, parcel *os.File, octets int64) (name string, err error) {
	need := broker.OctetsInRoom(octets)
	err = persist(ctx, c.terms.pause, func() error {
		left, all, err := broker.ArtefactRoom(ctx, c.js)
		switch {
		case err != nil:
			return err
		case all >= 0 && need > all:
			return fmt.Errorf("%w: it needs %d octets, and there are %d in all; run the campaign with a larger --room", errTooLarge, need, all)
		case all >= 0 && need > left:
			return errNoRoom
		}
		if _, err := parcel.Seek(0, io.SeekStart); err != nil {
			return err
		}
		name, err = broker.PutArtefact(ctx, c.js, parcel)
		if broker.IsFull(err) {
			// Others were faster, and what this upload has left takes room until the coordinator sweeps it away. Who all try
			// again at the same time never come to an end.
			pause(ctx, rand.N(c.terms.upload))
		}
		return err
	})
	return name, err
}

// errNoRoom says that a parcel has to wait.
var errNoRoom = errors.New("the object store is full")

// persist does what may fail because NATS is away or a bucket is full, until it is done or ctx ends.
func persist(ctx context.Context, between time.Duration, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !passes(err) {
			return err
		}
		if !pause(ctx, between) {
			return context.Cause(ctx)
		}
	}
}

// passes reports whether an error may pass: NATS is away, busy or full.
func passes(err error) bool {
	return errors.Is(err, errNoRoom) || broker.IsFull(err) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// pack packs what a batch has left into a file, and describes it in the result. The file is deleted when it is closed.
func (c *carriedOut) pack(r *result) (*os.File, error) {
	file, err := os.CreateTemp(c.service.dir, "parcel-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	ids := make([]string, len(c.records))
	for i, record := range c.records {
		ids[i] = record.ID()
	}
	bare := c.plan.Bare || c.order.Copy > 0
	if err = pack(file, attemptsOf(c.records), ids, c.dir, bare); err == nil {
		r.Octets, err = file.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
