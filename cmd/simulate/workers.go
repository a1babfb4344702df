package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"wiretime/campaign"
	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/study"
)

// crew is what the workers' process is told on its standard input.
type crew struct {
	Workers   int
	Artefacts int
	Pause     time.Duration // that a batch takes, on average
	Seed      uint64
}

// traffic is what the workers' connections have carried. The workers' process tells it when it ends.
type traffic struct {
	Messages uint64
	Octets   uint64
	Used     time.Duration // processor time of the process
}

// workerName names a worker.
func workerName(n int) string { return fmt.Sprintf("w%06d", n) }

// workersGC lets the workers' process grow rather than collect its garbage: it shares the processors with the coordinator, and its memory
// does not matter.
const workersGC = 800

// connecting is how many workers connect at once.
const connecting = 8

// work runs all workers, whose invitations are in a folder, until its input ends.
func work(dir string, in io.Reader, out io.Writer) (err error) {
	debug.SetGCPercent(workersGC)
	var c crew
	input := json.NewDecoder(in)
	if err := input.Decode(&c); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	workers, err := c.connect(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop(errDismissed)
	}()
	var group errgroup.Group
	for _, w := range workers {
		group.Go(func() error {
			err := w.Run(ctx)
			stop(err)
			return err
		})
	}
	if err := group.Wait(); !errors.Is(err, errDismissed) {
		return err
	}
	var t traffic
	for _, w := range workers {
		s := w.Conn.Stats()
		t.Messages += s.InMsgs + s.OutMsgs
		t.Octets += s.InBytes + s.OutBytes
		w.Conn.Close()
	}
	t.Used, err = processorTime()
	return errors.Join(err, json.NewEncoder(out).Encode(t))
}

var errDismissed = errors.New("the campaign is over")

// connect connects all workers.
func (c crew) connect(ctx context.Context, dir string) ([]*campaign.Worker, error) {
	workers := make([]*campaign.Worker, c.Workers)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(connecting)
	for n := range workers {
		group.Go(func() (err error) {
			workers[n], err = c.worker(ctx, n, dir)
			return err
		})
	}
	return workers, group.Wait()
}

func (c crew) worker(ctx context.Context, n int, dir string) (*campaign.Worker, error) {
	name := workerName(n)
	i, err := broker.ReadInvitation(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, name+".folder")
	if err := os.Mkdir(own, 0o700); err != nil {
		return nil, err
	}
	access, err := i.Access(own)
	if err != nil {
		return nil, err
	}
	conn, err := access.Connect(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(c.Seed, uint64(n)))
	return campaign.NewWorker(ctx, campaign.WorkerConfig{
		Conn: conn, Name: name, Jobs: 1, Dir: own, Trust: i.Trust,
		Prepare: func(_ context.Context, p *campaign.Plan, _ campaign.Inputs) (campaign.Executor, error) {
			cells, err := p.StudyCells()
			if err != nil {
				return nil, err
			}
			return executor{plan: p, cells: cells, metrics: runner.Metrics(study.Pages()), artefacts: c.Artefacts, pause: func() time.Duration {
				return time.Duration((0.5 + random.Float64()) * float64(c.Pause))
			}}, nil
		},
		Said: func(string) {}, // what a thousand workers say tells nobody anything
	})
}
