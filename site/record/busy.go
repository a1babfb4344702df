package record

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"

	"wiretime/loader/chromium"
	"wiretime/site/recording"
)

// busy collects from the browser's trace when the pages' processes were at work, on their
// main threads or on threads that parse scripts. If a script requested something late
// because the processor was slow, that is not the script's own wait.
type busy struct {
	mu       sync.Mutex
	renders  map[int]bool             // processes that have pages
	tasks    map[int][]recording.Span // per process, in ms of the browser's clock
	kept     int                      // tasks, and processes that have pages
	left     int                      // tasks that are over maxTasks
	ended    bool
	complete chan struct{} // closed when the trace is complete
}

func newBusy() *busy {
	return &busy{renders: map[int]bool{}, tasks: map[int][]recording.Span{}, complete: make(chan struct{})}
}

// taskCategory makes the browser trace when a thread runs a task.
const taskCategory = "toplevel"

// start starts the browser's trace. The session without an ID is the browser itself.
func (b *busy) start(ctx context.Context, t *chromium.Tab) error {
	if _, err := chromium.Call(ctx, t, "", tracing.Start, tracing.StartParams{
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{taskCategory}, ExcludedCategories: []string{"*"}},
	}); err != nil {
		return fmt.Errorf("start the browser's trace: %w", err)
	}
	return nil
}

// traceLimit is how long the browser may take to deliver its trace.
const traceLimit = 30 * time.Second

// stop ends the trace and returns when the trace is complete or traceLimit has passed. In
// the latter case some work remains unknown.
func (b *busy) stop(ctx context.Context, t *chromium.Tab) {
	ctx, cancel := context.WithTimeout(ctx, traceLimit)
	defer cancel()
	if _, err := chromium.Call(ctx, t, "", tracing.End, cdp.Empty{}); err != nil {
		return
	}
	select {
	case <-b.complete:
	case <-ctx.Done():
	case <-t.Ended():
	}
}

// note handles an event about the trace.
func (b *busy) note(event any) {
	switch e := event.(type) {
	case *tracing.EventDataCollected:
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, value := range e.Value {
			b.take(value)
		}
	case *tracing.EventTracingComplete:
		if !b.ended {
			close(b.complete)
		}
		b.ended = true
	}
}

// maxTasks is how many tasks of the trace are kept. A page's load has some ten thousand.
const maxTasks = 2_000_000

// take records an event of the trace (Trace Event Format). It ignores events other than
// tasks and thread names.
func (b *busy) take(value []byte) {
	var e struct {
		Name    string  `json:"name"`
		Process int     `json:"pid"`
		At      float64 `json:"ts"`  // µs
		Took    float64 `json:"dur"` // µs
		Args    struct {
			Name string `json:"name"`
		} `json:"args"`
	}
	if json.Unmarshal(value, &e) != nil {
		return
	}
	if b.kept == maxTasks {
		b.left++
		return
	}
	b.kept++
	switch e.Name {
	case "ThreadControllerImpl::RunTask", "ThreadPool_RunTask":
		b.tasks[e.Process] = append(b.tasks[e.Process], recording.Span{From: e.At / 1000, To: (e.At + e.Took) / 1000})
	case "thread_name":
		b.renders[e.Process] = b.renders[e.Process] || e.Args.Name == "CrRendererMain"
	}
}

// since returns when the pages' processes worked, in ms since a moment of the browser's
// clock.
func (b *busy) since(origin float64) []recording.Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []recording.Span
	for process, spans := range b.tasks {
		if b.renders[process] {
			all = append(all, spans...)
		}
	}
	for i := range all {
		all[i].From, all[i].To = all[i].From-origin, all[i].To-origin
	}
	return recording.Unite(slices.DeleteFunc(all, func(s recording.Span) bool { return s.To <= 0 }))
}
