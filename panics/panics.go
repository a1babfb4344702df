// Package panics keeps a panic in one load from ending the program, and with it the loads beside it.
//
// [Run] guards a load. It recovers a panic of the function that it runs. Goroutines that are started by a [Group] or through
// a [Guard] report their panics to the guard, which cancels the load's context with the [*Panic] as the cause. Everything that
// the load has under way then ends as it does when a load is cancelled.
//
// Not contained are panics in goroutines that other modules start (quic-go's, for example; net/http and quic-go recover those
// of handlers), and the Go runtime's fatal errors, such as a stack overflow.
package panics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// Panic is the error of a load in which a goroutine has panicked.
type Panic struct {
	Value string // what the goroutine panicked with
	Stack string // of the goroutine, as the Go runtime prints it
}

// Error says that the program has a bug. It does not have the stack.
func (p *Panic) Error() string { return "this is a bug of Wiretime: panic: " + p.Value }

// Report returns a text for the file or the terminal that somebody is to report the bug with.
func (p *Panic) Report() string { return p.Error() + "\n\n" + p.Stack }

// In returns the panic that err wraps, nil if it wraps none.
func In(err error) *Panic {
	p, _ := errors.AsType[*Panic](err)
	return p
}

// recovered makes a Panic of what recover has returned, in the goroutine that panicked. A *Panic stays as it is, because it
// has the stack of where it began.
func recovered(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	return &Panic{Value: fmt.Sprint(value), Stack: string(debug.Stack())}
}

// Do calls f and returns its error, or a *Panic if f panics.
func Do(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	return f()
}

// Patience is how long a load may take to end after one of its goroutines has panicked. If it takes longer, it probably waits
// for a lock which that goroutine held.
const Patience = 10 * time.Second

// Guard contains the panics of one load. A nil Guard contains none.
type Guard struct {
	cancel context.CancelCauseFunc
	stuck  func(*Panic)

	mu    sync.Mutex
	first *Panic
	timer *time.Timer // to when the load is stuck
	over  bool
}

type key struct{}

// Run calls f with a context that has a Guard, and returns its error. After a panic in f, or in a goroutine that reports to
// the guard, it returns an error that wraps the first *Panic. f may leave goroutines behind only if it has returned an error.
//
// If f has not returned when Patience has passed since a goroutine panicked, stuck is called, once; it may be nil.
func Run(ctx context.Context, f func(context.Context) error, stuck func(*Panic)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &Guard{cancel: cancel, stuck: stuck}
	err := Do(func() error { return f(With(ctx, g)) })
	return g.end(err)
}

// end ends the guard's work and adds the first panic to what the load returned.
func (g *Guard) end(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.first == nil || In(err) != nil {
		return err
	}
	return g.first
}

// With returns a context that has the guard.
func With(ctx context.Context, g *Guard) context.Context { return context.WithValue(ctx, key{}, g) }

// From returns the guard of a context that Run has made, or of one derived from it, and nil for other contexts.
func From(ctx context.Context) *Guard {
	g, _ := ctx.Value(key{}).(*Guard)
	return g
}

// Call calls f. If f panics, Call reports it to the guard and returns.
func (g *Guard) Call(f func()) {
	if g != nil {
		defer func() {
			if value := recover(); value != nil {
				g.report(recovered(value))
			}
		}()
	}
	f()
}

// report ends the load.
func (g *Guard) report(p *Panic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first != nil || g.over {
		return
	}
	g.first = p
	if g.stuck != nil {
		g.timer = time.AfterFunc(Patience, func() { g.stuck(p) })
	}
	g.cancel(p)
}

// Handler returns a handler that calls h and reports its panics to the guard, apart from http.ErrAbortHandler. Requests have
// the guard in their context.
func (g *Guard) Handler(h http.Handler) http.Handler {
	if g == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if err, ok := value.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				g.report(recovered(value))
			}
			panic(http.ErrAbortHandler) // ends the response
		}()
		h.ServeHTTP(w, r.WithContext(With(r.Context(), g)))
	})
}

// Group is a sync.WaitGroup whose goroutines report their panics to a guard.
type Group struct {
	sync.WaitGroup
	// Guard is set before the first call of Go; nil: a panic ends the program.
	Guard *Guard
}

// Go is sync.WaitGroup's, for functions that may panic.
func (g *Group) Go(f func()) { g.WaitGroup.Go(func() { g.Guard.Call(f) }) }
