// Package interrupt ends a program when its user asks for it: in good order at the first Ctrl-C, at
// once at the second.
package interrupt

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"wiretime/process"
	"wiretime/terminal"
)

// Limit is how long a program may take to stop in good order. Then it is ended as by a second
// signal.
const Limit = 20 * time.Second

// ExitCode is the exit code of a program that was interrupted: 128 + SIGINT, as a shell reports it.
const ExitCode = 130

// echo is how long after the first signal another one does not count: timeout(1) sends its signal
// to the program and to the program's process group.
const echo = 250 * time.Millisecond

// Received is the cause of a context that a signal has ended. [errors.Is] takes it for
// [context.Canceled].
type Received struct{ Signal os.Signal }

func (r Received) Error() string { return r.Signal.String() + " signal received" }

// Is reports whether target is context.Canceled.
func (r Received) Is(target error) bool { return target == context.Canceled }

// Context returns a context that ends at the first of [process.EndingSignals], with a [Received] as
// its cause. The program, whose name begins the messages on standard error, should then stop in good
// order. At a second signal, or after Limit, it exits at once with ExitCode, and its children are
// killed. The caller must call stop, after which signals have their default effect.
func Context(parent context.Context, program string) (ctx context.Context, stop context.CancelFunc) {
	return watch(parent, func(signals <-chan os.Signal, stopped <-chan struct{}) {
		begin := ""
		if terminal.Is(os.Stderr) { // which shows ^C in the line where it stands
			begin = "\n"
		}
		fmt.Fprintf(os.Stderr, "%s%s: stopping; press Ctrl-C again to leave at once\n", begin, program)
		began, late := time.Now(), time.NewTimer(Limit)
		defer late.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-signals:
				if time.Since(began) < echo {
					continue
				}
				fmt.Fprintf(os.Stderr, "%s%s: interrupted again: leaving at once\n", begin, program)
			case <-late.C:
				fmt.Fprintf(os.Stderr, "%s%s: could not stop in good order within %v: leaving\n", begin, program, Limit)
			}
			process.KillChildren()
			os.Exit(ExitCode)
		}
	})
}

// First returns a context that ends at the first signal, as [Context] does. Further signals have no
// effect: they are another program's to heed, which ends this one.
func First(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	return watch(parent, func(_ <-chan os.Signal, stopped <-chan struct{}) { <-stopped })
}

// watch returns a context that ends at the first signal. Then it calls after on a goroutine of its
// own. stop closes stopped and waits for it.
func watch(parent context.Context, after func(signals <-chan os.Signal, stopped <-chan struct{})) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, stopped := make(chan os.Signal, 8), make(chan struct{})
	if wanted := process.EndingSignals(); len(wanted) > 0 { // none would mean all
		signal.Notify(signals, wanted...)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case s := <-signals:
			cancel(Received{s})
			after(signals, stopped)
		case <-stopped:
		}
	})
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(stopped)
		watching.Wait()
		cancel(nil)
	})
}
