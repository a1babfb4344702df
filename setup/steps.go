package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Step is a part of the set-up.
type Step struct {
	Name  string
	After []string // names of steps that must be done before
	// Do carries the step out. It returns soon after ctx is done, with whatever it has begun
	// ended or undone.
	Do func(ctx context.Context, p Progress) error
}

// Progress is how a step tells how it is getting on. Both may be called until the step has
// returned.
type Progress struct {
	Say  func(what string) // what is being done now, in a few words
	Note func(text string) // what the user should know afterwards too
}

// state is how far a step has come.
type state struct {
	name    string
	phase   phase
	detail  string // what it is doing, or why it failed
	waiting string // the step it waits for
	began   time.Time
	took    time.Duration
}

type phase int

const (
	waiting phase = iota
	underWay
	done
	failed
	dropped // a step before it failed, or everything was stopped
)

// event is what a step's goroutine tells the one that shows progress.
type event struct {
	step   int
	detail string
	note   bool
	ended  bool
	err    error
}

// Run carries out steps, each as soon as those before it are done, and shows on the display
// how they are getting on. When a step fails the others go on, but for those that come after
// it. When ctx is done all are stopped. Run returns when none is under way, with the errors
// of all that failed.
func Run(ctx context.Context, d *Display, steps []Step) error {
	r := running{steps: steps, display: d, events: make(chan event)}
	for _, s := range steps {
		r.states = append(r.states, state{name: s.Name})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for r.start(ctx); r.active > 0; {
		select {
		case e := <-r.events:
			r.take(e)
			r.start(ctx)
		case <-tick.C:
		}
		d.show(r.states, time.Now())
	}
	d.end()
	return errors.Join(append(r.failures, context.Cause(ctx))...)
}

// running are steps that are being carried out. Only Run's goroutine touches it.
type running struct {
	steps    []Step
	states   []state
	display  *Display
	events   chan event
	active   int
	failures []error
}

// start begins every step that nothing stands before any more.
func (r *running) start(ctx context.Context) {
	for changed := true; changed; { // a step that is dropped may drop others
		changed = false
		for i := range r.states {
			if r.states[i].phase != waiting {
				continue
			}
			switch before := r.before(i); {
			case ctx.Err() != nil || before != nil && (before.phase == failed || before.phase == dropped):
				r.states[i].phase, changed = dropped, true
			case before != nil:
				r.states[i].waiting = before.name
			default:
				r.begin(ctx, i)
			}
		}
	}
}

// before is a step that step i waits for, the one that failed if there is one; nil if all of
// them are done. Steps that are not among those to be carried out are not waited for.
func (r *running) before(i int) *state {
	var open *state
	for k := range r.states {
		s := &r.states[k]
		if !slices.Contains(r.steps[i].After, s.name) || s.phase == done {
			continue
		}
		if s.phase == failed || s.phase == dropped {
			return s
		}
		open = s
	}
	return open
}

func (r *running) begin(ctx context.Context, i int) {
	r.active++
	s := &r.states[i]
	s.phase, s.began = underWay, time.Now()
	r.display.began(r.states, i)
	go func() {
		err := r.steps[i].Do(ctx, Progress{
			Say:  func(what string) { r.events <- event{step: i, detail: what} },
			Note: func(text string) { r.events <- event{step: i, detail: text, note: true} },
		})
		r.events <- event{step: i, ended: true, err: err}
	}()
}

func (r *running) take(e event) {
	s := &r.states[e.step]
	switch {
	case e.note:
		r.display.note(e.detail)
	case !e.ended:
		s.detail = e.detail
	default:
		r.active--
		s.phase, s.took, s.detail = done, time.Since(s.began), ""
		if e.err != nil {
			s.phase = failed
			r.failures = append(r.failures, fmt.Errorf("%s: %w", s.name, e.err))
		}
		r.display.ended(r.states, e.step)
	}
}
