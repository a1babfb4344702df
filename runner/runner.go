// Package runner carries out a plan: it gives each planned load to a lab, has
// its figures taken and its validity checked, and keeps it in the store.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"wiretime/loader/chromium"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

// Config is what a run needs beside its plan.
type Config struct {
	Store    *store.Store
	Run      int64 // of the store; its pending loads are the plan
	Options  study.Options
	Sites    map[string]*site.Site // by the study's reference
	Chromium string                // the browser's binary
	// Report is told of each attempt that has been kept. It is never called
	// twice at the same time.
	Report func(Attempt)
}

// Attempt is one load that has been kept, and how the run stands after it.
type Attempt struct {
	ID        string
	Cell      store.Cell
	Validity  store.Validity
	Reason    string
	OnLoad    float64 // ms; -1: none
	Done      int     // planned loads that need no further attempt
	Planned   int
	Remaining time.Duration // until the run is done, at the pace so far
}

// Loaders names what can load pages.
func Loaders() []string { return []string{"chromium"} }

// Sites opens the sites that the study's cells refer to.
func Sites(ctx context.Context, library site.Library, references []string) (map[string]*site.Site, error) {
	sites := map[string]*site.Site{}
	for _, reference := range references {
		s, err := library.Open(ctx, reference)
		if err != nil {
			return nil, err
		}
		sites[reference] = s
	}
	return sites, nil
}

// run is a run under way.
type run struct {
	Config
	authority *protocol.Authority
	forceQUIC []string // every origin of every site
	// accessLinks is how many the client needs for the widest of the paths.
	accessLinks int
	congestion  []string // what this kernel has

	mu       sync.Mutex
	stations []*station // that no load is using
	pace     *pace
	failures int // of stations, in a row
}

// maxStationFailures is how many loads in a row may fail for the lab's sake
// before the run is given up: then it is the machine, not the load.
const maxStationFailures = 5

// Run carries out the pending loads of a run. It returns nil when none is left;
// when ctx ends it returns its cause, and the loads under way stay pending.
func Run(ctx context.Context, c Config) (err error) {
	pending, err := c.Store.Pending(c.Run)
	if err != nil {
		return err
	}
	r := &run{Config: c, congestion: congestionControls()}
	if r.authority, err = protocol.OpenAuthority(c.Store.AuthorityDir()); err != nil {
		return err
	}
	for _, s := range c.Sites {
		r.forceQUIC = append(r.forceQUIC, s.Origins()...)
	}
	slices.Sort(r.forceQUIC)
	total, err := c.Store.Run(c.Run)
	if err != nil {
		return err
	}
	queue := make([]*job, 0, len(pending))
	for _, p := range pending {
		j, err := r.job(p)
		if err != nil {
			return err
		}
		queue = append(queue, j)
		r.accessLinks = max(r.accessLinks, len(j.path.Access))
	}
	budget := newBudget(float64(runtime.NumCPU()) * loadShare)
	r.pace = newPace(queue, total.Planned, budget.whole)
	defer func() { err = errors.Join(err, r.closeStations()) }()
	if err := r.carryOut(ctx, queue, budget); err != nil {
		return err
	}
	return c.Store.FinishRun(c.Run, time.Now())
}

// job is a planned load with what is needed to run it.
type job struct {
	planned  store.Planned
	path     network.Path
	protocol protocol.Protocol
	site     *site.Site
	attempt  int // the next one, from 1
	estimate estimate
}

func (r *run) job(p store.Planned) (*job, error) {
	j := &job{planned: p, site: r.Sites[p.Cell.Site], attempt: p.Attempts + 1}
	if j.site == nil {
		return nil, fmt.Errorf("plan load %d: site %s was not opened", p.Index, p.Cell.Site)
	}
	if err := json.Unmarshal(p.Cell.NetworkJSON, &j.path); err != nil {
		return nil, fmt.Errorf("plan load %d: read network %s: %w", p.Index, p.Cell.Network, err)
	}
	var err error
	if j.protocol, err = protocol.Lookup(p.Cell.Protocol); err != nil {
		return nil, fmt.Errorf("plan load %d: %w", p.Index, err)
	}
	j.estimate = estimateLoad(j.path, j.site, j.protocol)
	return j, nil
}

// carryOut runs the jobs in order, side by side as far as the budget allows.
func (r *run) carryOut(ctx context.Context, queue []*job, budget *budget) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	defer running.Wait()
	for _, j := range queue {
		share := j.estimate.share()
		if err := budget.take(ctx, share); err != nil {
			return err
		}
		running.Go(func() {
			err := r.untilFinal(ctx, j, budget, share)
			if err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// untilFinal attempts a job until an attempt is valid or there is no further
// one. A load that was late beside others is repeated with the machine to
// itself. It gives back the share of the budget that it was started with.
func (r *run) untilFinal(ctx context.Context, j *job, budget *budget, share float64) error {
	for {
		final, err := r.attempt(ctx, j)
		budget.give(share)
		if final || err != nil {
			return err
		}
		j.attempt++
		share = budget.whole
		if err := budget.take(ctx, share); err != nil {
			return err
		}
	}
}

// station returns a lab that is free, or a new one.
func (r *run) station(ctx context.Context) (*station, error) {
	r.mu.Lock()
	if n := len(r.stations); n > 0 {
		s := r.stations[n-1]
		r.stations = r.stations[:n-1]
		r.mu.Unlock()
		return s, nil
	}
	r.mu.Unlock()
	return r.newStation(ctx)
}

// putBack makes a station free again, or takes it apart if it failed.
func (r *run) putBack(s *station, failed error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed == nil {
		r.failures = 0
		r.stations = append(r.stations, s)
		return nil
	}
	r.failures++
	if err := s.close(); err != nil {
		return fmt.Errorf("take a lab apart: %w", err)
	}
	if r.failures >= maxStationFailures {
		return fmt.Errorf("%d loads in a row failed for the lab's sake, so the run is given up; the last: %w", r.failures, failed)
	}
	return nil
}

func (r *run) closeStations() error {
	var errs []error
	for _, s := range r.stations {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// BrowserVersion asks the browser's binary for its version.
func BrowserVersion(ctx context.Context, binary string) (string, error) {
	return chromium.Version(ctx, binary)
}
