package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"wiretime/guest"
	"wiretime/store"
	"wiretime/study"
)

// Executor carries out batches of a run whose store another process has. It is safe for concurrent use.
type Executor struct {
	config Config
	cells  []study.Cell
	shared *run        // what the stations of all batches have in common
	host   *guest.Host // nil: no load is on the virtual clock

	ballast []byte
}

// NewExecutor prepares to carry out batches of a run with these cells (Divide). The configuration needs no store, and
// reports to nobody. The caller closes the executor.
func NewExecutor(ctx context.Context, c Config, cells []study.Cell) (*Executor, error) {
	c.Report, c.UnderWay, c.Keep = func(Attempt) {}, nil, ""
	shared := &run{Config: c}
	if err := shared.shareAmong(cells); err != nil {
		return nil, err
	}
	queue := make([]*job, len(cells))
	for i, cell := range cells {
		j, err := shared.job(store.Planned{Run: c.Run, Cell: cell})
		if err != nil {
			return nil, err
		}
		queue[i] = j
	}
	if err := shared.memory.check(shared.supported(queue)); err != nil {
		return nil, err
	}
	if err := shared.prepare(ctx, queue); err != nil {
		return nil, err
	}
	e := &Executor{config: c, cells: cells, shared: shared}
	if len(onClock(queue, study.ClockVirtual)) > 0 {
		var err error
		if e.host, err = guest.NewHost(c.Kernel, shared.served); err != nil {
			return nil, err
		}
		e.ballast = make([]byte, ballast)
	}
	return e, nil
}

// Close frees what the executor holds. No batch may be under way.
func (e *Executor) Close() error {
	runtime.KeepAlive(e.ballast)
	if e.host == nil {
		return nil
	}
	return e.host.Close()
}

// Do carries out a batch and returns what became of its pending loads, all attempts
// included, in the order in which they were made. The artefacts of each attempt are in a folder of dir that has its ID, and
// its record names them with their checksums. attempted is called after each attempt. Loads on the virtual clock use one core of
// this machine, by its number from 0; those on the real one need a program that has called lab.Enter, and the machine for
// themselves.
func (e *Executor) Do(ctx context.Context, core int, b Batch, dir string, attempted func()) ([]store.LoadRecord, error) {
	k := &folderKeeper{dir: dir, attempted: attempted}
	r := &run{Config: e.config, keeper: k, station: e.shared.station, congestion: e.shared.congestion, served: e.shared.served, memory: e.shared.memory}
	var queue []*job
	for _, l := range b.Loads {
		if l.Cell < 0 || l.Cell >= len(e.cells) {
			return nil, fmt.Errorf("carry out batch %d: the run has %d cells, and no cell %d", b.Number, len(e.cells), l.Cell)
		}
		j, err := r.job(store.Planned{Run: r.Run, Index: l.Index, Cell: e.cells[l.Cell], Repeat: l.Repeat, Seed: l.Seed, Done: l.Done, Attempts: l.Attempts})
		if err != nil {
			return nil, err
		}
		queue = append(queue, j)
	}
	gatherSeries(queue)
	r.pace = newPace(pending(queue), len(queue))
	err := r.attemptAll(ctx, onClock(queue, study.ClockVirtual), func(supported []*job) (pool, error) {
		g := &guests{run: r, host: e.host, batches: []*batch{{number: b.Number, jobs: supported}}}
		g.workers = []*worker{{guests: g, core: core}}
		return lentGuests{g}, nil
	})
	if err == nil {
		err = r.attemptAll(ctx, onClock(queue, study.ClockReal), r.openStations)
	}
	if err == nil {
		err = r.attemptAll(ctx, onClock(queue, study.ClockLive), r.openLive)
	}
	return k.records, err
}

// lentGuests are guests whose host the executor keeps.
type lentGuests struct{ *guests }

func (lentGuests) close() error { return nil }

// folderKeeper keeps the artefacts of attempts in folders, and their records in memory.
type folderKeeper struct {
	dir       string
	attempted func()

	mu      sync.Mutex
	records []store.LoadRecord
}

func (k *folderKeeper) StageDir(load string) (string, error) {
	dir := filepath.Join(k.dir, load)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}

func (k *folderKeeper) ScratchDir() (string, error) {
	dir, err := os.MkdirTemp(k.dir, "scratch-")
	return dir, err
}

func (k *folderKeeper) Commit(records ...store.LoadRecord) error {
	for i, r := range records {
		files, err := store.Checksums(filepath.Join(k.dir, r.ID()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep load %s: %w", r.ID(), err)
		}
		records[i].Files = files
	}
	k.mu.Lock()
	k.records = append(k.records, records...)
	k.mu.Unlock()
	k.attempted()
	return nil
}
