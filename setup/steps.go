package setup

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Step is a part of the set-up.
type Step struct {
	Name  string
	After []string // names of steps that must be done first
	Again string   // the command that does this step alone, for when it fails
	// Do performs the step. It returns soon after ctx is done, after ending or undoing
	// whatever it has started.
	Do func(ctx context.Context, p Progress) error
}

// Progress receives a step's progress. Both functions may be called until the step has
// returned.
type Progress struct {
	Say  func(what string) // the current activity, in a few words
	Note func(text string) // what the user should know afterwards too
}

// state is the progress of a step.
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
	dropped // it was not started, or stopped midway, because another step failed or the set-up was interrupted
)

// event is a message from a step's goroutine to the display's.
type event struct {
	step   int
	detail string
	note   bool
	ended  bool
	err    error
}

// FailedError says that a step of the set-up failed. The display has shown why.
type FailedError struct {
	Step  string // its name
	Again string // the command that does this step alone, if there is one
	Err   error
}

func (e *FailedError) Error() string { return e.Step + ": " + e.Err.Error() }

func (e *FailedError) Unwrap() error { return e.Err }

// errStopped is the cause of the end of steps that are stopped because another one has failed.
var errStopped = errors.New("stopped, because another step failed")

// Run performs steps, each as soon as the steps it depends on are done, and shows their
// progress on the display. When a step fails, the display shows its cause at once, and all
// other steps are stopped, as they are when ctx is done. Run returns when no step is
// running, with a FailedError for each step that failed.
func Run(ctx context.Context, d *Display, steps []Step) error {
	outer := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := running{steps: steps, display: d, events: make(chan event), stop: func() { stop(errStopped) }}
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
	return errors.Join(append(r.failures, context.Cause(outer))...)
}

// running holds the state of Run. Only Run's goroutine uses it.
type running struct {
	steps    []Step
	states   []state
	display  *Display
	events   chan event
	active   int
	failures []error
	stop     func() // stops the other steps
}

// start starts every step whose dependencies are done.
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

// before returns a step that step i waits for, preferably a failed one, or nil if all are
// done. It ignores steps that are not part of this run.
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
		switch {
		case e.err == nil:
		case errors.Is(e.err, errStopped), errors.Is(e.err, context.Canceled):
			s.phase = dropped
		default:
			s.phase = failed
			failure := &FailedError{Step: s.name, Again: r.steps[e.step].Again, Err: e.err}
			r.failures = append(r.failures, failure)
			r.display.failed(failure)
			r.stop()
		}
		r.display.ended(r.states, e.step)
	}
}
