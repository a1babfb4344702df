package panics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wiretime/panics"
)

var errOther = errors.New("another error")

// TestRun has a load panic in each of the places that are guarded. Each time the load must end with the panic, whose stack
// names the function that panicked.
func TestRun(t *testing.T) {
	await := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	for name, load := range map[string]func(context.Context) error{
		"in the load itself": func(context.Context) error { explode(); return nil },
		"in a goroutine": func(ctx context.Context) error {
			g := panics.Group{Guard: panics.From(ctx)}
			g.Go(explode)
			defer g.Wait()
			return await(ctx)
		},
		"in a goroutine of a load that ends with another error": func(ctx context.Context) error {
			g := panics.Group{Guard: panics.From(ctx)}
			g.Go(explode)
			g.Wait()
			return errOther
		},
		"in a goroutine of a load that ends well": func(ctx context.Context) error {
			g := panics.Group{Guard: panics.From(ctx)}
			g.Go(explode)
			g.Wait()
			return nil
		},
		"in a callback": func(ctx context.Context) error {
			inner, cancel := context.WithCancel(ctx)
			context.AfterFunc(inner, func() { panics.From(ctx).Call(explode) })
			cancel()
			return await(ctx)
		},
		"in what a goroutine does for another": func(ctx context.Context) error {
			result := make(chan error, 1)
			go func() { result <- panics.Do(func() error { explode(); return nil }) }()
			return <-result
		},
		"in a handler": func(ctx context.Context) error {
			handler := panics.From(ctx).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { explode() }))
			s := httptest.NewServer(handler)
			defer s.Close()
			response, err := http.Get(s.URL)
			if err == nil {
				return errors.Join(errors.New("the handler answered"), response.Body.Close())
			}
			return err
		},
		"in a goroutine of a handler": func(ctx context.Context) error {
			handler := panics.From(ctx).Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var g sync.WaitGroup
				g.Go(func() { panics.From(r.Context()).Call(explode) })
				g.Wait()
			}))
			s := httptest.NewServer(handler)
			defer s.Close()
			response, err := http.Get(s.URL)
			if err != nil {
				return err
			}
			return response.Body.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := panics.In(panics.Run(t.Context(), load, nil))
			if p == nil {
				t.Fatal("the load did not end with the panic")
			}
			if p.Value != "boom" || !strings.Contains(p.Stack, "panics_test.explode") {
				t.Errorf("want the panic %q and the function in its stack, got %q: %s", "boom", p.Value, p.Stack)
			}
			if text := p.Report(); !strings.Contains(text, "this is a bug of Wiretime: panic: boom") || !strings.Contains(text, p.Stack) {
				t.Errorf("the report lacks the panic or the stack: %s", text)
			}
		})
	}
}

func explode() { panic("boom") }

// TestRunWithoutPanic checks that loads which do not panic return what they did before, and that a cancelled context does not
// look like a panic.
func TestRunWithoutPanic(t *testing.T) {
	for _, want := range []error{nil, errOther, http.ErrAbortHandler} {
		if err := panics.Run(t.Context(), func(context.Context) error { return want }, nil); !errors.Is(err, want) || panics.In(err) != nil {
			t.Errorf("want %v, got %v", want, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOther)
	err := panics.Run(ctx, func(ctx context.Context) error { return context.Cause(ctx) }, nil)
	if !errors.Is(err, errOther) || panics.In(err) != nil {
		t.Errorf("want %v, got %v", errOther, err)
	}
}
