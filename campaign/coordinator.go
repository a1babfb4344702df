package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"wiretime/campaign/broker"
	"wiretime/kernel"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// Config configures a coordinator.
type Config struct {
	Conn     *nats.Conn
	Campaign string // its name
	Store    *store.Store
	Run      store.Run
	Keep     string // which valid loads keep their artefacts (study.Keeps)
	Plan     Plan   // without the campaign's name, and what follows from the run
	Batches  []runner.Batch
	Cells    []study.Cell      // of the run
	Sites    map[string]string // folders of the plan's sites that are not built in, by name
	Program  string            // the file of this program, for workers that have another one; empty: they cannot fetch it
	Kernel   kernel.Kernel     // of the virtual clock; the zero value if no load is on it
	Key      nkeys.KeyPair     // that signs the plan
	Until    time.Time         // to which the plan holds
	// End is when the campaign gives up what is not done, as at the end of a schedule's slot; zero: never. It ends before if
	// nothing is left but work of places at which nobody works.
	End time.Time
	// Octets is how much room all artefacts together may take that are not in the store yet.
	Octets int64
	// Checks is the share of batches that are carried out twice, 0 to 1, and compared.
	Checks float64
	// Sole says that no other coordinator can be there, because this process has the NATS server.
	Sole bool
	// Revoke takes the rights of a quarantined worker away; nil where somebody else gives them.
	Revoke func(worker string) error
	// Report is called with the state of the campaign when it has changed, never concurrently.
	Report func(Progress)
	// Said is called with what the user wants to know, never concurrently.
	Said func(line string)

	terms terms // usual() if it has none
}

// Progress is how a campaign stands.
type Progress struct {
	Done, Planned int // loads
	Workers       []Working
	Checked       int // batches that were carried out twice, with the same outcome
	Quarantined   []string
	Remaining     time.Duration // estimate; 0: not known yet
}

// Working is a worker that has given a sign of life lately.
type Working struct {
	Name string
	State
}

// Coordinator runs one campaign.
type Coordinator struct {
	Config
	js        jetstream.JetStream
	campaigns jetstream.KeyValue
	workers   jetstream.KeyValue
	inputs    jetstream.ObjectStore

	mu          sync.Mutex
	batches     map[int]*tracked // by their first load
	left        int              // batches that are not done
	checks      int              // that are not decided
	changed     chan struct{}
	pace        pace
	show        Progress
	known       map[string]string    // the descriptions of workers that the store has, by name
	absent      map[string]time.Time // places with work at which nobody works, and since when
	strikes     map[string]int       // results of a worker that could not be right
	unpublished error                // why a batch is not in the stream of work
	heard       time.Time            // when a result was kept last
	states      map[string]seen
	waits       map[string]wait // of the queues of work, by their names; used by the audit alone
}

// tracked is a batch and what is known of it.
type tracked struct {
	batch   runner.Batch // its loads are never changed in place
	round   int          // how often its loads were retracted
	done    bool
	reading bool              // a result is on its way into the store
	alone   bool              // it is kept in a transaction of its own
	failed  string            // why it cannot be done
	votes   map[string]string // the digests of what other workers left, by their names, for a batch that is checked
	check   bool              // it is to be carried out twice, and that is not decided
	copies  int               // highest copy that was asked for
}

// vote is one carrying out of a batch.
type vote struct {
	worker string
	copy   int
}

// Conduct runs the campaign until all its batches are done or ctx ends. Then another coordinator with the same store may go on.
func (c *Coordinator) Conduct(ctx context.Context) (err error) {
	if err := c.find(ctx); err != nil {
		return err
	}
	c.track()
	l, err := c.lead(ctx)
	if err != nil {
		return err
	}
	err = c.during(ctx, l.hold, func(ctx context.Context) error {
		silent, err := tellTime(c.Conn, c.Campaign, time.Now)
		if err != nil {
			return err
		}
		defer silent()
		if err := c.recall(ctx); err != nil {
			return err
		}
		if err := c.announce(ctx); err != nil {
			return err
		}
		return c.during(ctx, c.watchConnection, func(ctx context.Context) error {
			return c.during(ctx, c.watchWorkers, func(ctx context.Context) error {
				err := c.during(ctx, c.take, c.deal)
				if err != nil && !errors.Is(err, ErrOver) {
					return err
				}
				return errors.Join(err, c.finish(ctx))
			})
		})
	})
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.terms.lease)
	defer cancel()
	return errors.Join(err, l.release(ending))
}

// during does something while something else goes on, which ends with it. If that fails, both end.
func (c *Coordinator) during(ctx context.Context, goesOn, do func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var going sync.WaitGroup
	going.Go(func() {
		if err := goesOn(ctx); err != nil {
			stop(err)
		}
	})
	err := do(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stop(nil)
	going.Wait()
	return err
}

// NewCoordinator returns a coordinator.
func NewCoordinator(c Config) *Coordinator {
	if c.terms == (terms{}) {
		c.terms = usual()
	}
	return &Coordinator{Config: c, changed: make(chan struct{}, 1), known: map[string]string{}, absent: map[string]time.Time{}, strikes: map[string]int{}, states: map[string]seen{}, waits: map[string]wait{}}
}

// find makes the campaign's place in JetStream.
func (c *Coordinator) find(ctx context.Context) error {
	if err := broker.CheckName(c.Campaign); err != nil {
		return err
	}
	var err error
	refused := jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
		if passes(err) {
			return // the audit finds that it is missing
		}
		c.change(func() {
			c.unpublished = errors.Join(c.unpublished, fmt.Errorf("put %s into the stream of work: %w", m.Subject, err))
		})
	})
	if c.js, err = jetstream.New(c.Conn, jetstream.WithPublishAsyncMaxPending(256), refused); err != nil {
		return err
	}
	if err = broker.Setup(ctx, c.js, c.Octets); err != nil {
		return err
	}
	if c.campaigns, err = c.js.KeyValue(ctx, broker.CampaignBucket); err == nil {
		c.workers, err = c.js.KeyValue(ctx, broker.WorkerBucket)
	}
	if err == nil {
		c.inputs, err = c.js.ObjectStore(ctx, broker.InputBucket)
	}
	return err
}

func (c *Coordinator) lead(ctx context.Context) (*lease, error) {
	id := RunID(c.Run)
	if c.Sole {
		if err := c.campaigns.Purge(ctx, broker.CoordinatorKey(c.Campaign)); err != nil {
			return nil, fmt.Errorf("take the lease of campaign %s: %w", c.Campaign, err)
		}
	}
	return takeLease(ctx, c.campaigns, c.Campaign, id, c.terms.lease, func(holder string) {
		c.Said(fmt.Sprintf("campaign %s was coordinated by %s; waiting up to %v to see whether it still is", c.Campaign, holder, c.terms.lease))
	})
}

// track notes what the store holds of the batches, and which batches are to be checked.
func (c *Coordinator) track() {
	c.Plan.Cells = CellsOf(c.Cells)
	c.batches = make(map[int]*tracked, len(c.Batches))
	for _, b := range c.Batches {
		t := &tracked{batch: b, done: !b.Pending()}
		if t.check = c.sampled(b); t.check {
			c.checks++
		}
		c.batches[b.Loads[0].Index] = t
		if !t.done {
			c.left++
		}
		c.show.Planned += pendingLoads(b)
	}
	c.show.Done = c.Run.Done
	c.show.Planned += c.Run.Done
	c.pace.start(time.Now(), c.show.Done)
}

// planTerm is how long a plan's signature is valid. A coordinator that goes on signs anew.
const planTerm = 30 * 24 * time.Hour

// announce publishes the plan and makes the campaign's queues.
func (c *Coordinator) announce(ctx context.Context) error {
	p := c.Plan
	p.Campaign, p.ID, p.Run = c.Campaign, RunID(c.Run), c.Run.ID
	for name, folder := range c.Sites {
		sent, err := c.sendFolder(ctx, name, folder)
		if err != nil {
			return err
		}
		p.Sites = append(p.Sites, sent)
	}
	if err := c.sendPrograms(ctx, &p); err != nil {
		return err
	}
	slices.SortFunc(p.Sites, func(a, b Folder) int { return cmp.Compare(a.Name, b.Name) })
	object, s, err := sign(p, time.Now().Add(planTerm), c.Key)
	if err != nil {
		return err
	}
	if err := c.sameCampaign(ctx, p.ID); err != nil {
		return err
	}
	// An earlier coordinator may have taken results and died. Of a new queue they come at once, not when their leases have run out.
	if err := c.js.DeleteConsumer(ctx, broker.ResultStream, c.Campaign); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("make the queue of results anew: %w", err)
	}
	for _, q := range c.queues() {
		_, err := c.js.CreateOrUpdateConsumer(ctx, q.stream, jetstream.ConsumerConfig{
			Durable: q.name, FilterSubject: q.subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.terms.ack, MaxAckPending: -1, MaxWaiting: 100_000,
		})
		if err != nil {
			return fmt.Errorf("make the queue %s in %s: %w", q.name, q.stream, err)
		}
	}
	if _, err := putInput(ctx, c.inputs, object); err != nil {
		return fmt.Errorf("send the plan of campaign %s: %w", c.Campaign, err)
	}
	text, err := json.Marshal(s)
	if err == nil {
		_, err = c.campaigns.Put(ctx, broker.PlanKey(c.Campaign), text)
	}
	if err != nil {
		return fmt.Errorf("publish the plan of campaign %s: %w", c.Campaign, err)
	}
	return nil
}

// sendFolder makes a folder ready for workers that lack it.
func (c *Coordinator) sendFolder(ctx context.Context, name, folder string) (Folder, error) {
	object, err := packFolder(folder)
	if err == nil {
		var digest string
		if digest, err = putInput(ctx, c.inputs, object); err == nil {
			return Folder{name, digest}, nil
		}
	}
	return Folder{}, fmt.Errorf("send folder %s: %w", folder, err)
}

// sendPrograms makes program and kernel ready for workers that have others.
func (c *Coordinator) sendPrograms(ctx context.Context, p *Plan) (err error) {
	if c.Program == "" {
		return nil
	}
	if c.Kernel.Path != "" {
		if p.Kernel, err = c.sendFolder(ctx, c.Kernel.Hash, filepath.Dir(c.Kernel.Path)); err != nil {
			return err
		}
	}
	if p.Program.SHA256, err = runner.SumFile(c.Program); err == nil {
		p.Program.Object, err = putProgram(ctx, c.inputs, c.Program)
	}
	if err != nil {
		return fmt.Errorf("send this program: %w", err)
	}
	return nil
}

// sameCampaign refuses to take over the name of a campaign of another run.
func (c *Coordinator) sameCampaign(ctx context.Context, id string) error {
	entry, err := c.campaigns.Get(ctx, broker.PlanKey(c.Campaign))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	var other signed
	if err == nil {
		err = json.Unmarshal(entry.Value(), &other)
	}
	if err != nil {
		return fmt.Errorf("look for another campaign of the name %s: %w", c.Campaign, err)
	}
	if other.ID != id {
		return fmt.Errorf("there is another campaign of the name %s, for another study or store: finish that, or give this one another name with --name", c.Campaign)
	}
	return nil
}

// finish removes the campaign from NATS, and finishes the run in the store.
func (c *Coordinator) finish(ctx context.Context) error {
	if err := c.describeAll(); err != nil {
		return err
	}
	err := c.campaigns.Purge(ctx, broker.PlanKey(c.Campaign))
	c.dismiss(ctx)
	if err = errors.Join(err, c.remove(ctx)); err != nil {
		c.say("campaign %s is done, but something of it is left in NATS: %v", c.Campaign, err)
	}
	var failed []string
	for _, b := range c.Batches {
		if t := c.batches[b.Loads[0].Index]; t.failed != "" {
			failed = append(failed, fmt.Sprintf("the batch of load %d: %s", b.Loads[0].Index, t.failed))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d batches could not be carried out; the first is %s", len(failed), len(c.Batches), failed[0])
	}
	run, err := c.Store.Run(c.Run.ID)
	if err != nil || run.Done < run.Planned { // another slot's, or given up
		return err
	}
	return c.Store.FinishRun(c.Run.ID, time.Now())
}

// remove removes all of the campaign from NATS but its plan.
func (c *Coordinator) remove(ctx context.Context) error {
	var errs []error
	for _, q := range c.queues() {
		errs = append(errs, c.purge(ctx, q.stream, q.subject), c.js.DeleteConsumer(ctx, q.stream, q.name))
	}
	for _, worker := range c.show.Quarantined {
		errs = append(errs, c.campaigns.Purge(ctx, broker.QuarantineKey(c.Campaign, worker)))
	}
	others, err := c.campaigns.ListKeysFiltered(ctx, broker.PlanKey("*"))
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for range others.Keys() {
		return errors.Join(append(errs, others.Stop())...) // what is left in the buckets may be theirs
	}
	for _, bucket := range []string{broker.InputBucket, broker.ArtefactBucket} {
		errs = append(errs, c.purge(ctx, "OBJ_"+bucket, ">"))
	}
	return errors.Join(errs...)
}

func (c *Coordinator) purge(ctx context.Context, stream, subject string) error {
	s, err := c.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	return err
}

func (c *Coordinator) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Said(fmt.Sprintf(format, args...))
}
