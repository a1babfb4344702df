package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/needtest"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// TestCampaign: three workers make all loads once, half of them checked, and nothing is left in NATS, nor of workers that were killed
// before.
func TestCampaign(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	dead := ""
	for _, name := range []string{"a", "b", "c"} {
		w := f.worker(name, maker{})
		dead = filepath.Join(w.Dir, "batches-dead")
		if err := os.Mkdir(dead, 0o700); err != nil {
			t.Fatal(err)
		}
		f.work(w)
	}
	if err := f.conduct(f.ctx, func(c *Config) { c.Checks = 0.5 }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed worker has left is still there: %v", err)
	}
	f.whole(0)
	f.left(f.setup())
}

// TestCoordinatorEnds: a coordinator that is interrupted, or vanishes with its lease, at a drawn moment is followed by another
// one, again and again, until the campaign is done.
func TestCoordinatorEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"interrupted", "killed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := plannedCampaign(t)
			slow := maker{before: func(ctx context.Context, _ runner.Batch) error { pause(ctx, 10*time.Millisecond); return nil }}
			f.work(f.worker("a", slow))
			f.work(f.worker("b", slow))
			random, ends := rand.New(rand.NewPCG(1, 2)), 0
			for {
				ctx, cancel := context.WithCancel(f.ctx)
				left := 1 + random.IntN(8) // reports until the end
				err := f.conduct(ctx, func(c *Config) {
					c.Checks = 0.3
					c.Report = func(p Progress) {
						if left--; left > 0 || ends >= 8 {
							return
						}
						if how == "killed" {
							c.Conn.Close()
						} else {
							cancel()
						}
					}
				})
				cancel()
				if err == nil {
					break
				}
				if f.ctx.Err() != nil {
					t.Fatalf("after %d ends: %v; said was\n%s", ends, err, strings.Join(f.said, "\n"))
				}
				ends++
			}
			if ends == 0 {
				t.Error("the coordinator was never ended")
			}
			f.whole(0)
			f.left(f.setup())
		})
	}
}

// TestTwoCoordinators: of one run only one conducts; of another run under the same name, none.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	js := f.setup()
	bucket, err := js.KeyValue(f.ctx, broker.CampaignBucket)
	if err != nil {
		t.Fatal(err)
	}
	const term = 4 * time.Second // renewed five times, on the busiest machine
	first, err := takeLease(f.ctx, bucket, "c", "run", term, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	held := make(chan error, 1)
	go func() { held <- first.hold(ctx) }()
	waited := ""
	if _, err := takeLease(f.ctx, bucket, "c", "run", term, func(holder string) { waited = holder }); !errors.Is(err, ErrCoordinated) || waited == "" {
		t.Errorf("a second coordinator: %v, after waiting for %q", err, waited)
	}
	if _, err := takeLease(f.ctx, bucket, "c", "other", term, func(string) {}); !errors.Is(err, ErrCoordinated) || !strings.Contains(err.Error(), "--name") {
		t.Errorf("a coordinator of another run: %v", err)
	}
	cancel() // it falls silent
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	second, err := takeLease(f.ctx, bucket, "c", "run", quick().lease, func(string) {})
	if err != nil {
		t.Fatal("take over from one that is silent: ", err)
	}
	if err := first.hold(f.ctx); !errors.Is(err, ErrCoordinated) {
		t.Errorf("the first one goes on: %v", err)
	}
	if err := first.release(f.ctx); err != nil {
		t.Error(err)
	}
	if entry, err := bucket.Get(f.ctx, broker.CoordinatorKey("c")); err != nil || string(entry.Value()) != string(second.value) {
		t.Errorf("the first one has given the lease of the second back: %v", err)
	}
}

// TestTwoCampaignsOfOneName: the plan that is there is not replaced by that of another run.
func TestTwoCampaignsOfOneName(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	if err := f.conduct(ctx, func(c *Config) { c.Report = func(Progress) { cancel() } }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	err := f.conduct(f.ctx, func(c *Config) { c.Run.Started = c.Run.Started.Add(1) })
	if err == nil || !strings.Contains(err.Error(), "another campaign of the name c") {
		t.Errorf("another run under the same name: %v", err)
	}
	f.work(f.worker("a", maker{}))
	if err := f.conduct(f.ctx, nil); err != nil {
		t.Error(err)
	}
	f.whole(0)
}

// byHand is a worker that does what it is told to, and nothing by itself.
type byHand struct {
	*service
	queue jetstream.Consumer
}

// raw is a worker by hand that takes batches of a place.
func (f *fixture) raw(name, place string) byHand {
	f.t.Helper()
	w, err := NewWorker(f.ctx, f.worker(name, maker{}))
	if err != nil {
		f.t.Fatal(err)
	}
	var queue jetstream.Consumer
	f.await("the campaign does not begin", func() bool {
		queue, err = w.js.Consumer(f.ctx, broker.WorkStream, broker.WorkQueue("c", place))
		return err == nil
	})
	st, err := store.Open(f.dir, store.Read)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	run, err := st.Run(1)
	if err != nil {
		f.t.Fatal(err)
	}
	return byHand{&service{Worker: w, plan: &Plan{Campaign: "c", ID: RunID(run)}, executor: maker{}, dir: w.Dir, done: map[int]bool{}}, queue}
}

// take takes a batch and carries it out, but does not send it.
func (f *fixture) take(s byHand) *carriedOut {
	f.t.Helper()
	var m jetstream.Msg
	var err error
	f.await("the queue does not answer", func() bool { // NATS shows a queue before it listens for it
		m, err = s.queue.Next(jetstream.FetchContext(f.ctx))
		return !errors.Is(err, nats.ErrNoResponders)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	done, err := s.carryOut(f.ctx, 0, m)
	if err != nil || done == nil {
		f.t.Fatal(done, err)
	}
	return done
}

// conducting runs the campaign beside the test.
func (f *fixture) conducting(change func(*Config)) (ended <-chan error) {
	done := make(chan error, 1)
	f.workers.Go(func() { done <- f.conduct(f.ctx, change) })
	return done
}

// TestLateWorker: a worker falls silent with a batch, another one carries that out, and then the first one sends its result all
// the same, and sends it twice.
func TestLateWorker(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.setup()
	ended := f.conducting(nil)
	late := f.raw("late", study.PlaceAny)
	taken := f.take(late)
	taken.stop() // no heartbeat any more
	var others atomic.Int32
	proceed := make(chan struct{})
	f.work(f.worker("b", maker{before: func(ctx context.Context, b runner.Batch) error {
		if others.Add(1) == loads/inBatch { // all, that of the late one among them; this one is the last
			close(proceed)
			pause(ctx, 100*time.Millisecond)
		}
		return nil
	}}))
	select {
	case <-proceed:
	case err := <-ended:
		t.Fatalf("the campaign ended early: %v", err)
	}
	if err := taken.send(f.ctx); err != nil {
		t.Log("its acknowledgement of the batch: ", err) // the batch is another's
	}
	text := fmt.Sprintf(`{"ID":%q,"Parcel":%q,"Octets":1000}`, late.plan.ID, strings.Repeat("0", 64))
	if _, err := late.js.Publish(f.ctx, broker.ResultSubject("c", "late", taken.order.name()), []byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// TestResultsTwice: a worker that publishes each of its results twice makes no load twice.
func TestResultsTwice(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	js := f.setup()
	ended := f.conducting(nil)
	// Whatever comes into the stream of results goes there once more, before the coordinator removes it.
	listener, err := js.Conn().Subscribe(broker.ResultSubject("c", "*", "*"), func(m *nats.Msg) {
		if m.Header.Get("Again") == "" {
			again := nats.NewMsg(m.Subject)
			again.Data = m.Data
			again.Header.Set("Again", "yes")
			_, _ = js.PublishMsg(f.ctx, again) // when the campaign has ended there is nothing to be doubled
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Unsubscribe() }()
	f.work(f.worker("a", maker{}))
	f.work(f.worker("b", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// TestLeaseThatDoesNotEnd: a worker vanishes with a batch whose lease NATS takes to last on, as it does when the clock is set back. The
// campaign deals the batch anew once all other workers have nothing left to do.
func TestLeaseThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.setup()
	ended := f.conducting(func(c *Config) { c.Checks = 0 })
	f.take(f.raw("gone", study.PlaceAny)) // which goes on beating, but tells nobody of itself
	f.work(f.worker("b", maker{}))
	f.heard("1 batch in c_any had been handed out, and no worker has any; they are dealt anew")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// TestResultInADeadHand: a coordinator vanishes with results whose leases last on. The next one has them at once.
func TestResultInADeadHand(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.config.terms.ack = 10 * patience
	f.work(f.worker("a", maker{}))
	f.work(f.worker("b", maker{}))
	for range 3 {
		left := 2
		if err := f.conduct(f.ctx, func(c *Config) {
			c.Checks = 0
			c.Report = func(Progress) {
				if left--; left == 0 {
					c.Conn.Close()
				}
			}
		}); err == nil {
			break
		}
	}
	var last Progress
	if err := f.conduct(f.ctx, func(c *Config) { c.Checks = 0; c.Report = func(p Progress) { last = p } }); err != nil {
		t.Fatal(err)
	}
	if len(last.Quarantined) > 0 {
		t.Errorf("%q are quarantined because their coordinator died", last.Quarantined)
	}
	f.whole(0)
}

// TestInterruptedWorkerGivesBack: the batch of a worker that is interrupted goes to another one at once, not when its lease ends.
func TestInterruptedWorkerGivesBack(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.config.terms.ack = 10 * patience
	has := make(chan struct{}, 1)
	c := f.worker("a", maker{before: func(ctx context.Context, _ runner.Batch) error {
		select {
		case has <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}})
	interrupt := f.work(c)
	ended := f.conducting(nil)
	<-has
	if err := interrupt(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	f.work(f.worker("b", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// TestFullObjectStore: where there is room for two parcels only, and for less as long as broken uploads lie there, workers
// wait, and all loads are made all the same.
func TestFullObjectStore(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	const octets = 60_000
	f.config.Octets = 2*broker.OctetsInRoom(8*octets) + 50_000
	js := f.setup()
	for i := range 4 { // uploads that broke off
		if _, err := js.Publish(f.ctx, fmt.Sprintf("$O.%s.C.broken%d", broker.ArtefactBucket, i), content(i, 0, 128<<10)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		f.work(f.worker(name, maker{octets: octets}))
	}
	if err := f.conduct(f.ctx, nil); err != nil {
		t.Fatal(err)
	}
	f.whole(octets)
	f.left(js)
}

// TestParcelLargerThanTheObjectStore: it is said so, instead of waiting for ever.
func TestParcelLargerThanTheObjectStore(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.config.Octets = 300_000
	f.work(f.worker("a", maker{octets: 100_000}))
	if err := f.conduct(f.ctx, nil); err == nil || !strings.Contains(err.Error(), "larger --room") {
		t.Errorf("the campaign ends with %v", err)
	}
}

// TestWorkersThatMustNot: workers that trust another key, or whose machine is not fit, leave the campaign to others.
func TestWorkersThatMustNot(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	never := maker{before: func(context.Context, runner.Batch) error { t.Error("it carries a batch out"); return nil }}
	distrusts := f.worker("distrusts", never)
	other, err := broker.Start(f.ctx, broker.Config{Dir: t.TempDir(), Octets: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if distrusts.Trust, err = other.PlanKey().PublicKey(); err != nil {
		t.Fatal(err)
	}
	unfit := f.worker("unfit", never)
	unfit.Prepare = func(context.Context, *Plan, Inputs) (Executor, error) {
		return nil, fmt.Errorf("%w: another kernel", ErrUnfit)
	}
	f.work(distrusts)
	f.work(unfit)
	ended := f.conducting(nil)
	f.heard("not signed by a key that this worker trusts")
	f.heard("another kernel")
	f.work(f.worker("fit", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// TestRevokedWorkerEnds: a worker whose rights are taken away ends, with the reason.
func TestRevokedWorkerEnds(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	c := f.worker("a", maker{})
	f.setup()
	w, err := NewWorker(f.ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	f.workers.Go(func() { ended <- w.Run(f.ctx) })
	if err := f.server.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "NATS has closed the connection") {
		t.Errorf("it ends with %v", err)
	}
}

// TestNATSStartsAgain: a NATS server that ends and starts again, again and again, ends neither coordinator nor workers.
func TestNATSStartsAgain(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	f := plannedCampaign(t)
	options := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
	start := func() *server.Server {
		s, err := server.NewServer(options)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(patience) {
			t.Fatal("NATS does not start")
		}
		return s
	}
	running := start()
	options.Port = running.Addr().(*net.TCPAddr).Port
	connect := func() *nats.Conn {
		conn, err := nats.Connect(running.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	conn := connect()
	js, err := jetstream.New(conn)
	if err == nil {
		err = broker.Setup(f.ctx, js, f.config.Octets)
	}
	if err != nil {
		t.Fatal(err)
	}
	trust, err := f.config.Key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	slow := maker{before: func(ctx context.Context, _ runner.Batch) error { pause(ctx, 50*time.Millisecond); return nil }}
	for _, name := range []string{"a", "b"} {
		w, err := NewWorker(f.ctx, WorkerConfig{Conn: connect(), Name: name, Jobs: 1, Dir: t.TempDir(), Trust: trust, Said: f.say, terms: quick(),
			Prepare: func(context.Context, *Plan, Inputs) (Executor, error) { return slow, nil }})
		if err != nil {
			t.Fatal(err)
		}
		f.workers.Go(func() {
			if err := w.Run(f.ctx); f.ctx.Err() == nil {
				t.Errorf("worker %s ends: %v", name, err)
			}
		})
	}
	var done atomic.Int64
	ended := f.conducting(func(c *Config) {
		c.Conn, c.Checks = conn, 0.3
		c.Report = func(p Progress) { done.Store(int64(p.Done)) }
	})
	for n := range int64(5) {
		f.await(fmt.Sprint("the campaign does not go on after restart ", n), func() bool { return done.Load() > n*loads/8 })
		running.Shutdown()
		running.WaitForShutdown()
		running = start()
	}
	defer running.Shutdown()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}
