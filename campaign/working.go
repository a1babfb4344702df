package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go/jetstream"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// State is what a worker says of itself.
type State struct {
	Host     string
	Version  string // of wiretime
	Jobs     int    // batches that it carries out at once, at most
	UnderWay int    // batches that are carried out or sent
	Batches  int    // carried out for the campaign
	Attempts int    // at loads

	At          []string        `json:",omitzero"` // the places that it is at
	Environment json.RawMessage `json:",omitzero"` // of a worker that is at a place: as runner.Environment describes it
	Clock       *Comparison     `json:",omitzero"` // the last one
}

// A worker says how it stands every telling; without a word for silence it counts as gone.
const (
	telling = 2 * time.Second
	silence = 15 * time.Second
)

// tell tells the coordinator how the worker stands until ctx ends, and then that it has left.
func (s *service) tell(ctx context.Context) {
	key := broker.StateKey(s.plan.Campaign, s.Name)
	defer func() {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), telling)
		defer cancel()
		_ = s.states.Delete(leaving, key) // a coordinator that does not hear of it notices the silence
	}()
	host, _ := os.Hostname() // only for people to read
	ticks := time.NewTicker(telling)
	defer ticks.Stop()
	for {
		s.mu.Lock()
		state := State{Host: host, Version: runner.Version(), Jobs: s.Jobs, UnderWay: s.underWay, Batches: s.batches, Attempts: s.attempts,
			At: s.At, Environment: s.Environment, Clock: s.clock}
		s.mu.Unlock()
		if text, err := json.Marshal(state); err == nil {
			limited, cancel := context.WithTimeout(ctx, telling)
			_, _ = s.states.Put(limited, key, text) // the next one comes soon
			cancel()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// seen is a worker's state and when it came, by this machine's monotonic clock.
type seen struct {
	State
	at time.Time
}

// watchWorkers follows what workers say of themselves until ctx ends.
func (c *Coordinator) watchWorkers(ctx context.Context) error {
	watcher, err := watch(ctx, c.Conn, c.terms, c.workers, broker.StateKey(c.Campaign, "*"), jetstream.UpdatesOnly())
	if err != nil {
		return fmt.Errorf("watch the workers of campaign %s: %w", c.Campaign, err)
	}
	defer func() { _ = watcher.Stop() }()
	ticks := time.NewTicker(telling)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil
			}
			if entry != nil {
				c.note(entry)
			}
		case <-ticks.C:
			c.noteAbsent(time.Now())
			c.report()
		}
	}
}

// note notes what a worker says of itself.
func (c *Coordinator) note(entry jetstream.KeyValueEntry) {
	name := entry.Key()[lastToken(entry.Key()):]
	if entry.Operation() != jetstream.KeyValuePut {
		c.change(func() { delete(c.states, name) })
		return
	}
	var s State
	if json.Unmarshal(entry.Value(), &s) == nil {
		s.Host, s.Version = plainText(s.Host), plainText(s.Version)
		s.At = slices.DeleteFunc(s.At, func(at string) bool { return study.CheckPlace(at) != nil })
		c.change(func() { c.states[name] = seen{s, time.Now()} })
	}
}

// leaving is how long the end of a campaign waits for workers to hear of it.
const leaving = 3 * time.Second

// dismiss waits until the workers have left, which they do when the plan is gone.
func (c *Coordinator) dismiss(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	for {
		c.mu.Lock()
		left := len(c.states) == 0
		c.mu.Unlock()
		if left {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
	}
}

// plainText keeps what a worker says of itself from moving a terminal's cursor.
func plainText(s string) string {
	s = s[:min(len(s), 100)]
	return string(slices.DeleteFunc([]rune(s), unicode.IsControl))
}

// report reports how the campaign stands.
func (c *Coordinator) report() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.show.Workers = nil
	for name, s := range c.states {
		if now.Sub(s.at) < silence {
			c.show.Workers = append(c.show.Workers, Working{name, s.State})
		}
	}
	slices.SortFunc(c.show.Workers, func(a, b Working) int { return cmp.Compare(a.Name, b.Name) })
	c.show.Remaining = c.pace.remaining(now, c.show.Done, c.show.Planned)
	c.Report(c.show)
}

// pace estimates how long a campaign will take from how fast it has gone lately.
type pace struct {
	began time.Time
	done  int // when it began
}

func (p *pace) start(now time.Time, done int) { p.began, p.done = now, done }

func (p *pace) remaining(now time.Time, done, planned int) time.Duration {
	if done <= p.done {
		return 0
	}
	return time.Duration(float64(now.Sub(p.began)) / float64(done-p.done) * float64(planned-done))
}

// description is what the store has of a worker.
type description struct {
	Host        string          `json:"host"`
	Wiretime    string          `json:"wiretime"`
	At          []string        `json:"at,omitzero"`
	Offset      *time.Duration  `json:"offset_ns,omitzero"` // of its clock, when it was last compared
	Bound       *time.Duration  `json:"bound_ns,omitzero"`
	Compared    time.Time       `json:"compared,omitzero"` // by the coordinator's clock
	Environment json.RawMessage `json:"environment,omitzero"`
}

// recallWorkers recalls the workers that the store describes.
func (c *Coordinator) recallWorkers() error {
	workers, err := c.Store.Workers(c.Run.ID)
	if err != nil {
		return err
	}
	c.change(func() {
		for _, w := range workers {
			c.known[w.Name] = string(w.Described)
		}
	})
	return nil
}

// describe puts a worker's description into the store before its first load, and again when it has changed. A worker that has not
// said anything yet keeps the description that the store has.
func (c *Coordinator) describe(worker string) error {
	c.mu.Lock()
	known, described := c.known[worker]
	s, said := c.states[worker]
	c.mu.Unlock()
	d := description{Host: s.Host, Wiretime: s.Version, At: s.At, Environment: s.Environment}
	if s.Clock != nil {
		d.Offset, d.Bound, d.Compared = &s.Clock.Offset, &s.Clock.Bound, s.Clock.Made
	}
	text, err := json.Marshal(d)
	if err != nil || described && (!said || known == string(text)) {
		return err
	}
	if err := c.Store.PutWorker(c.Run.ID, worker, text); err != nil {
		return err
	}
	c.change(func() { c.known[worker] = string(text) })
	return nil
}

// describeAll describes the workers that the store has as they are now.
func (c *Coordinator) describeAll() error {
	c.mu.Lock()
	workers := slices.Sorted(maps.Keys(c.known))
	c.mu.Unlock()
	for _, worker := range workers {
		if err := c.describe(worker); err != nil {
			return err
		}
	}
	return nil
}

// plannedOf returns the loads of a batch as the store plans them.
func (c *Coordinator) plannedOf(b runner.Batch) []store.Planned {
	all := make([]store.Planned, len(b.Loads))
	for i, l := range b.Loads {
		all[i] = store.Planned{ID: l.ID, Run: c.Run.ID, Index: l.Index, Cell: c.Cells[l.Cell], Repeat: l.Repeat, Seed: l.Seed, Done: l.Done, Attempts: l.Attempts}
	}
	return all
}

// lastToken returns where the last token of a subject or a key begins.
func lastToken(subject string) int { return strings.LastIndexByte(subject, '.') + 1 }
