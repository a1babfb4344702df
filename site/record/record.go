// Package record makes recordings of pages as Chromium loads them over this machine's own
// network: every response of the page, its frames and its workers, with initiators,
// handshake times and server waits. [Diff] compares two recorded sites.
//
// The browser uses a fresh profile, so its caches are cold. It delivers bodies only after
// undoing content codings, and never delivers the body of a redirect. The recording's
// repairs say what differs from what crossed the wire.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/tracing"

	"wiretime/loader/browser"
	"wiretime/loader/chromium"
	"wiretime/site/recording"
)

// Options says what to record and how.
type Options struct {
	// URL is the page's URL, http or https.
	URL string
	// Chromium is the path of the browser's program, as chromium.Find returns it.
	Chromium string
	// Folder receives the browser's profile. Record removes it at the end.
	Folder string
	// Script runs after the page has loaded; nil means none.
	Script *Script
	// Journey keeps the script's clicks and scrolls as the site's journey. The recorder then waits after each of them until the
	// page has been quiet.
	Journey bool
	// Limit bounds loading the page and running the script; 0 means two minutes.
	Limit time.Duration
	// Quiet is how long the page must have no pending requests before the recording ends; 0
	// means one second.
	Quiet time.Duration
	// MaxRequests is how many requests are recorded, WebSockets included, before the recording ends; 0 means
	// [browser.MaxRequests].
	MaxRequests int
	// MaxSize is how many octets of bodies are recorded before the recording ends; 0 means
	// [DefaultMaxSize].
	MaxSize int64
	// Progress receives progress messages, one line each; it may be nil.
	Progress func(line string)
	// HostRules maps hosts to other addresses, in the syntax of Chromium's
	// --host-resolver-rules.
	HostRules string
	// SPKIHash is the base64 SHA-256 of a public key; Chromium trusts certificate chains that
	// contain it.
	SPKIHash string
}

// DefaultMaxSize is the default of Options.MaxSize: several times the total of the largest pages.
const DefaultMaxSize = 1 << 30

// These are the defaults of Options and further limits.
const (
	defaultLimit = 2 * time.Minute
	defaultQuiet = time.Second
	// bodiesLimit is how long the browser may take to deliver bodies that are pending when the
	// recording ends.
	bodiesLimit = 30 * time.Second
	// settling bounds, in multiples of Quiet, how long the script waits for a page that never
	// becomes quiet.
	settling = 5
)

// errLimit is the cause of a context that Limit cancelled.
var errLimit = errors.New("timed out")

// recorder records a page.
type recorder struct {
	Options
	steps []recording.Step // with the moments of the browser's clock, in ms
	tab   *chromium.Tab
	log   *log
	busy  *busy
}

// Record loads a page, runs the script, and waits until the page has been quiet for a
// while. If a limit is reached first, the recording holds what was there by then, and a
// repair says so. It is an error if the page cannot be loaded or a step of the script
// fails.
func Record(ctx context.Context, o Options) (r *recording.Recording, err error) {
	o.Limit, o.Quiet = cmp.Or(o.Limit, defaultLimit), cmp.Or(o.Quiet, defaultQuiet)
	o.MaxRequests, o.MaxSize = cmp.Or(o.MaxRequests, browser.MaxRequests), cmp.Or(o.MaxSize, DefaultMaxSize)
	if o.MaxRequests < 0 || o.MaxSize < 0 {
		return nil, fmt.Errorf("record %s: the limits of requests (%d) and of bodies (%d) must be positive", o.URL, o.MaxRequests, o.MaxSize)
	}
	b, err := chromium.Launch(ctx, chromium.Options{Binary: o.Chromium, Folder: o.Folder, SPKIHash: o.SPKIHash, HostRules: o.HostRules, Enter: func(*exec.Cmd) {}, Contained: true, MaxMessage: largestMessage})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", o.URL, err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	rec := &recorder{Options: o}
	if r, err = rec.record(ctx, b); err != nil {
		return nil, fmt.Errorf("record %s: %w", o.URL, err)
	}
	return r, nil
}

func (r *recorder) progress(format string, values ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, values...))
	}
}

func (r *recorder) record(ctx context.Context, b *chromium.Browser) (*recording.Recording, error) {
	reading, stop := context.WithCancel(ctx)
	limited, cancel := context.WithTimeoutCause(ctx, r.Limit, errLimit)
	defer cancel()
	limited, full := context.WithCancelCause(limited)
	defer full(nil)
	r.log, r.busy = newLog(r.MaxRequests, r.MaxSize, full), newBusy()
	r.log.fetch = func(of *request, from target.SessionID) { r.readBody(reading, of, from) }
	defer r.log.close()
	defer stop()
	if err := r.open(ctx, b); err != nil {
		return nil, err
	}
	whole, end := context.WithTimeout(ctx, r.Limit+traceLimit+bodiesLimit)
	defer end()
	defer r.tab.Guard(whole)()
	stage, err := r.visit(limited)
	_, overfull := errors.AsType[*FullError](err)
	if err != nil && (!errors.Is(err, errLimit) && !overfull || ctx.Err() != nil || !r.log.answered()) {
		return nil, r.explain(err)
	}
	r.busy.stop(ctx, r.tab)
	// Bodies that the browser has received may still be on their way.
	late := time.AfterFunc(bodiesLimit, stop)
	r.log.close()
	late.Stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.progress("Recorded %d requests", len(r.log.requests))
	made := r.log.recording(r.URL, b.Version())
	made.Busy = r.busy.since(milliseconds(r.log.origin()))
	for _, step := range r.steps {
		step.Began -= milliseconds(r.log.origin())
		made.Steps = append(made.Steps, step)
	}
	if r.busy.left > 0 {
		made.Repairs = append(made.Repairs, recording.Repair{What: fmt.Sprintf("the browser's trace has %d tasks more than the %d that are kept: they count as idle time", r.busy.left, maxTasks)})
	}
	if err != nil {
		ended := fmt.Sprintf("the recording timed out after %v %s", r.Limit, stage)
		if overfull {
			ended = fmt.Sprintf("the recording ended %s, since %v", stage, context.Cause(limited))
		}
		made.Repairs = append([]recording.Repair{{What: ended + ": kept what was there"}}, made.Repairs...)
	}
	return made, nil
}

// visit loads the page, runs the script and waits. If the context ends early, visit returns
// the stage it had reached.
func (r *recorder) visit(ctx context.Context) (stage string, err error) {
	r.progress("Loading %s", r.URL)
	if err := r.navigate(ctx); err != nil {
		return "before the page arrived", err
	}
	if err := r.await(ctx, 0, r.log.pageLoaded); err != nil {
		return "before the page's load event", err
	}
	if r.Script != nil {
		settled, cancel := context.WithTimeoutCause(ctx, settling*r.Quiet, errLimit)
		defer cancel()
		if err := r.await(settled, r.Quiet, r.log.idle); err != nil && (!errors.Is(err, errLimit) || ctx.Err() != nil) {
			return "before the script", err
		}
	}
	if err := r.run(ctx, r.Script); err != nil {
		return "in the script (" + strings.TrimSuffix(err.Error(), fmt.Sprint(": ", context.Cause(ctx))) + ")", err
	}
	r.progress("Waiting until no request has been pending for %v", r.Quiet)
	if err := r.await(ctx, r.Quiet, r.log.idle); err != nil {
		return "while requests were still pending", err
	}
	return "", nil
}

// explain returns the cause rather than its symptom.
func (r *recorder) explain(err error) error {
	if errors.Is(err, errLimit) {
		return fmt.Errorf("timed out after %v without an answer from the server", r.Limit)
	}
	return err
}

// open opens and configures a tab.
func (r *recorder) open(ctx context.Context, b *chromium.Browser) (err error) {
	if r.tab, err = b.OpenTab(ctx, r.observe); err != nil {
		return err
	}
	enable(r.tab, r.tab.Page())
	// The browser answers in order, so all commands before this one have taken effect.
	if _, err = chromium.Call(ctx, r.tab, r.tab.Page(), page.Enable, page.EnableParams{}); err != nil {
		return fmt.Errorf("open a tab: %w", err)
	}
	return r.busy.start(ctx, r.tab)
}

// observe runs in the loop that reads the browser's messages, so it only notes events and
// lets targets and the page continue.
func (r *recorder) observe(t *chromium.Tab, from target.SessionID, event any, octets int) {
	switch event.(type) {
	case *tracing.EventDataCollected, *tracing.EventTracingComplete:
		r.busy.note(event)
		return
	}
	if !r.log.count(event, octets) {
		return
	}
	switch e := event.(type) {
	case *target.EventAttachedToTarget:
		t.Listen(e.SessionID)
		enable(t, e.SessionID)
		chromium.Post(t, e.SessionID, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
	case *page.EventJavascriptDialogOpening: // such as alert(), which would block the page
		chromium.Post(t, from, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	case *target.EventDetachedFromTarget:
		t.Unlisten(e.SessionID)
		r.log.note(from, from == t.Page(), event)
	default:
		r.log.note(from, from == t.Page(), event)
	}
}

// navigate navigates to the page and returns when its response has begun.
func (r *recorder) navigate(ctx context.Context) error {
	answer, err := chromium.Call(ctx, r.tab, r.tab.Page(), page.Navigate, page.NavigateParams{URL: r.URL})
	if err != nil {
		return err
	}
	if answer.ErrorText != "" {
		return errors.New(describe(answer.ErrorText))
	}
	return nil
}

// await returns when a condition has held for a while.
func (r *recorder) await(ctx context.Context, quiet time.Duration, reached func() bool) error {
	for {
		var passed <-chan time.Time
		if reached() {
			passed = time.After(quiet)
		}
		if err := r.log.crash(); err != nil {
			return err
		}
		select {
		case <-r.log.changed:
		case <-passed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.tab.Ended():
			return r.tab.Cause()
		}
	}
}

// readBody requests a response's body at once, because the browser keeps bodies only while
// its buffer has room and the page exists.
func (r *recorder) readBody(ctx context.Context, of *request, from target.SessionID) {
	answer, err := chromium.Call(ctx, r.tab, from, network.GetResponseBody, network.GetResponseBodyParams{RequestID: of.id})
	r.log.take(of, answer, err)
}
