package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign"
	"wiretime/campaign/broker"
	"wiretime/process"
	"wiretime/store"
)

// usualRate is how many loads a minute the workers make unless they are told otherwise: somewhat more than the coordinator is to take.
const usualRate = 120_000

// artefactRoom is how many octets artefacts may take in NATS until they are in the store.
const artefactRoom = 2e9

// outcome is what a campaign has cost the process of the coordinator, NATS and the store.
type outcome struct {
	Point    point
	Batches  int
	Attempts int
	Planning phase         // the run's rows and the batches
	Taking   phase         // from the first message to the last load
	Rate     float64       // loads a minute, between the first tenth and the last
	Minute   int           // loads taken in the minute in which most were
	Memory   int64         // the most octets that the process had in memory
	Planned  int64         // of these, when planning was over
	Store    int64         // octets of the store's database
	Files    int64         // octets of artefacts in the store
	Messages uint64        // that the workers' connections carried
	Octets   uint64        // of these
	Workers  time.Duration // processor time of the workers' process
	Version  string
	On       string // when and where
}

// phase is a part of a campaign.
type phase struct {
	Took time.Duration
	Used time.Duration // processor time of the process
}

// simulate runs a campaign. reported is called with the number of loads that are done.
func simulate(ctx context.Context, p point, dir, profile string, said func(string), reported func(done int)) (_ outcome, err error) {
	out := outcome{Point: p}
	st, err := store.Open(filepath.Join(dir, "store"), store.Create)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	watch := newWatch()
	all, err := plan(ctx, p, st, dir)
	if err != nil {
		return out, err
	}
	out.Planning, out.Batches = watch.lap(), len(all.batches)
	if out.Planned, err = mostMemory(); err != nil {
		return out, err
	}
	server, err := broker.Start(ctx, broker.Config{Dir: filepath.Join(dir, "nats")})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := setUp(ctx, server); err != nil {
		return out, err
	}
	crew := crew{Workers: p.Workers, Artefacts: p.Artefacts, Seed: p.Seed}
	if p.Rate > 0 {
		crew.Pause = time.Duration(float64(p.Loads) / float64(len(all.batches)) * float64(p.Workers) / float64(p.Rate) * float64(time.Minute))
	}
	workers, err := hire(ctx, crew, server, filepath.Join(dir, "workers"))
	if err != nil {
		return out, err
	}
	dismissed := false
	defer func() {
		if !dismissed {
			_, failed := workers.dismiss()
			err = errors.Join(err, failed)
		}
	}()
	end, err := profileTo(profile)
	if err != nil {
		return out, err
	}
	watch.lap()
	pace, err := conduct(ctx, all, st, server, workers, said, reported)
	if err = errors.Join(err, end()); err != nil {
		return out, err
	}
	out.Taking, out.Rate, out.Minute = watch.lap(), pace.rate(), pace.minute()
	if out.Memory, err = mostMemory(); err != nil {
		return out, err
	}
	dismissed = true
	carried, err := workers.dismiss()
	if err != nil {
		return out, err
	}
	out.Messages, out.Octets, out.Workers = carried.Messages, carried.Octets, carried.Used
	if out.Attempts, err = check(st, all); err != nil {
		return out, err
	}
	return out, out.describe(st.Dir())
}

// setUp makes the streams and buckets, which workers look for when they begin.
func setUp(ctx context.Context, server *broker.Server) error {
	conn, err := server.Coordinator(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return broker.Setup(ctx, js, artefactRoom)
}

// conduct runs the coordinator.
func conduct(ctx context.Context, all *planned, st *store.Store, server *broker.Server, workers *hired, said func(string), reported func(int)) (*pace, error) {
	conn, err := server.Coordinator(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-workers.gone:
			stop(errors.New("the process of the workers has ended"))
		case <-ctx.Done():
		}
	}()
	pace := &pace{}
	return pace, campaign.NewCoordinator(campaign.Config{
		Conn: conn, Campaign: "simulation", Store: st, Run: all.run, Keep: all.study.Keep, Batches: all.batches, Cells: all.cells,
		Plan: campaign.Plan{Study: all.study.Name, Seed: all.study.Seed, Options: all.study.Options, Programs: all.programs},
		Key:  server.PlanKey(), Octets: artefactRoom, Checks: 0.01, Sole: true, Revoke: server.Revoke,
		Report: func(now campaign.Progress) {
			pace.note(now.Done, now.Planned)
			reported(now.Done)
		},
		Said: said,
	}).Conduct(ctx)
}

// pace is when how many loads were done.
type pace struct {
	planned int
	done    []int
	at      []time.Time
}

func (p *pace) note(done, planned int) {
	p.planned = planned
	if n := len(p.done); n == 0 || done > p.done[n-1] {
		p.done, p.at = append(p.done, done), append(p.at, time.Now())
	}
}

// rate returns how many loads a minute were done between the first tenth of the loads and the last.
func (p *pace) rate() float64 {
	from, _ := slices.BinarySearch(p.done, p.planned/10)
	to, _ := slices.BinarySearch(p.done, p.planned-p.planned/10)
	if to = min(to, len(p.done)-1); from >= to {
		return 0
	}
	return float64(p.done[to]-p.done[from]) / p.at[to].Sub(p.at[from]).Minutes()
}

// minute returns how many loads were done in the minute in which most were; 0 if it took no minute.
func (p *pace) minute() (most int) {
	from := 0
	for to, at := range p.at {
		for at.Sub(p.at[from+1]) >= time.Minute {
			from++
		}
		if at.Sub(p.at[from]) >= time.Minute {
			most = max(most, int(float64(p.done[to]-p.done[from])/at.Sub(p.at[from]).Minutes()))
		}
	}
	return most
}

// hired is the process of the workers.
type hired struct {
	in     io.Closer
	out    *bufio.Reader
	gone   chan struct{} // closed when the process has ended
	failed error         // why, once it has
}

// hire invites all workers and starts their process. It returns when all are connected.
func hire(ctx context.Context, c crew, server *broker.Server, dir string) (*hired, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for n := range c.Workers {
		i, err := server.Invite(workerName(n), time.Now().Add(24*time.Hour))
		if err == nil {
			err = i.Write(filepath.Join(dir, workerName(n)))
		}
		if err != nil {
			return nil, err
		}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, workersRole, dir)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, written, err := os.Pipe() // Wait would close a pipe of the command's before it is read
	if err != nil {
		return nil, err
	}
	command.Stdout = written
	child, err := process.Start(command)
	if err = errors.Join(err, written.Close()); err != nil {
		return nil, err
	}
	h := &hired{in: in, out: bufio.NewReader(read), gone: make(chan struct{})}
	go func() {
		h.failed = child.Wait()
		close(h.gone)
	}()
	err = json.NewEncoder(in).Encode(c)
	if err == nil {
		_, err = h.out.ReadString('\n') // that they are ready
	}
	if err != nil {
		_, failed := h.dismiss()
		return nil, errors.Join(fmt.Errorf("start the workers: %w", err), failed)
	}
	return h, nil
}

// dismiss ends the process of the workers.
func (h *hired) dismiss() (t traffic, err error) {
	_ = h.in.Close()
	err = json.NewDecoder(h.out).Decode(&t)
	<-h.gone
	return t, errors.Join(h.failed, err)
}

// check makes sure that each load is done, by as many attempts as its seed says, and returns the number of attempts.
func check(st *store.Store, all *planned) (attempts int, err error) {
	loads := 0
	err = st.EachPlanned(all.run.ID, func(p store.Planned) error {
		loads++
		attempts += p.Attempts
		if want := attemptsOf(p.Seed, all.study.Options.Retries); !p.Done || p.Attempts != want {
			return fmt.Errorf("load %d has %d attempts, done: %t; want %d, done", p.Index, p.Attempts, p.Done, want)
		}
		return nil
	})
	if err == nil && loads != all.run.Planned {
		err = fmt.Errorf("the store has %d loads, want %d", loads, all.run.Planned)
	}
	return attempts, err
}

// profileTo profiles this process until end is called, unless the file's name is empty.
func profileTo(name string) (end func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	runtime.SetBlockProfileRate(0)
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
