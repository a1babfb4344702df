// Package record makes recordings of pages, as Chromium loads them over this machine's own
// network: every response of the page, of its frames and of its workers, with what asked for
// it and how long connecting and waiting took. [Diff] compares what became of two recordings.
//
// The browser knows nothing of the page before: it has a profile of its own. It undoes
// content codings before anybody can have a body; that of a redirect is not to be had at all.
// What is not as it came over the wire is in the repairs of the recording.
package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/tracing"

	"wiretime/loader/chromium"
	"wiretime/site/recording"
)

// Options say what to record, and how.
type Options struct {
	// URL is that of the page, http or https.
	URL string
	// Chromium is the browser's program, as chromium.Find returns it.
	Chromium string
	// Folder receives the browser's profile and is removed in the end.
	Folder string
	// Script is done once the page has loaded; nil: nothing.
	Script *Script
	// Limit is how long loading the page and doing the script may take; 0: two minutes.
	Limit time.Duration
	// Quiet is how long nothing may be under way before the recording ends; 0: a second.
	Quiet time.Duration
	// Progress is told what is done, in lines; nil: nobody is.
	Progress func(line string)
	// HostRules say where hosts are, other than the DNS does, as Chromium's
	// --host-resolver-rules.
	HostRules string
	// SPKIHash is the base64 SHA-256 of a public key; certificate chains that contain it are
	// trusted.
	SPKIHash string
}

// Defaults of Options, and limits beside them.
const (
	defaultLimit = 2 * time.Minute
	defaultQuiet = time.Second
	// bodiesLimit is how long the browser may take to hand over the bodies that are under way
	// when the recording ends.
	bodiesLimit = 30 * time.Second
	// settling is how long the script waits for a page that never becomes quiet, in times of
	// Quiet.
	settling = 5
)

// errLimit ends what takes too long.
var errLimit = errors.New("the time is over")

// recorder records a page.
type recorder struct {
	Options
	tab  *chromium.Tab
	log  *log
	busy *busy
}

// Record loads a page, does the script, and waits until nothing has been under way for a
// while. If the limit comes first, what is there by then is the recording, and a repair says
// so. That there is no page at that URL is an error, and so is a step that cannot be done.
func Record(ctx context.Context, o Options) (r *recording.Recording, err error) {
	o.Limit, o.Quiet = cmp.Or(o.Limit, defaultLimit), cmp.Or(o.Quiet, defaultQuiet)
	b, err := chromium.Launch(ctx, chromium.Options{Binary: o.Chromium, Folder: o.Folder, SPKIHash: o.SPKIHash, Enter: o.enter})
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

// enter gives the browser its further switches. Pages that are recorded are of strangers, so
// the browser locks them in, unless root runs it: for root it does not.
func (o Options) enter(c *exec.Cmd) {
	if os.Geteuid() != 0 {
		c.Args = slices.DeleteFunc(c.Args, func(argument string) bool { return argument == "--no-sandbox" })
	}
	if o.HostRules != "" {
		c.Args = append(c.Args, "--host-resolver-rules="+o.HostRules)
	}
}

func (r *recorder) progress(format string, values ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, values...))
	}
}

func (r *recorder) record(ctx context.Context, b *chromium.Browser) (*recording.Recording, error) {
	reading, stop := context.WithCancel(ctx)
	r.log, r.busy = newLog(), newBusy()
	r.log.fetch = func(of *request, from target.SessionID) { r.readBody(reading, of, from) }
	defer r.log.close()
	defer stop()
	if err := r.open(ctx, b); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.Limit, errLimit)
	defer cancel()
	stage, err := r.visit(limited)
	if err != nil && (!errors.Is(err, errLimit) || ctx.Err() != nil || !r.log.answered()) {
		return nil, r.explain(err)
	}
	r.busy.stop(ctx, r.tab)
	// Bodies that the browser has by now may still be on their way.
	late := time.AfterFunc(bodiesLimit, stop)
	r.log.close()
	late.Stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.progress("Recorded %d requests", len(r.log.requests))
	made := r.log.recording(r.URL, b.Version())
	made.Busy = r.busy.since(milliseconds(r.log.origin()))
	if err != nil {
		made.Repairs = append([]recording.Repair{{What: fmt.Sprintf("the recording was ended after %v %s: what was there by then is kept", r.Limit, stage)}}, made.Repairs...)
	}
	return made, nil
}

// visit loads the page, does the script and waits. If the context ends before, it says what
// was under way.
func (r *recorder) visit(ctx context.Context) (stage string, err error) {
	r.progress("Loading %s", r.URL)
	if err := r.navigate(ctx); err != nil {
		return "before the page was there", err
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
		return "in the script (" + strings.TrimSuffix(err.Error(), ": "+errLimit.Error()) + ")", err
	}
	r.progress("Waiting until nothing has been under way for %v", r.Quiet)
	if err := r.await(ctx, r.Quiet, r.log.idle); err != nil {
		return "while something was still under way", err
	}
	return "", nil
}

// explain prefers the cause over its symptoms.
func (r *recorder) explain(err error) error {
	if errors.Is(err, errLimit) {
		return fmt.Errorf("the server has not answered within the limit of %v", r.Limit)
	}
	return err
}

// open makes a tab ready.
func (r *recorder) open(ctx context.Context, b *chromium.Browser) (err error) {
	if r.tab, err = b.OpenTab(ctx, r.observe); err != nil {
		return err
	}
	enable(r.tab, r.tab.Page())
	// Once this has been answered, so has all before it.
	if _, err = chromium.Call(ctx, r.tab, r.tab.Page(), page.Enable, page.EnableParams{}); err != nil {
		return fmt.Errorf("open a tab: %w", err)
	}
	return r.busy.start(ctx, r.tab)
}

// observe runs in the loop that reads the browser's messages: it only notes, and lets
// targets and the page go on.
func (r *recorder) observe(t *chromium.Tab, from target.SessionID, event any) {
	switch e := event.(type) {
	case *target.EventAttachedToTarget:
		t.Listen(e.SessionID)
		enable(t, e.SessionID)
		chromium.Post(t, e.SessionID, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
	case *page.EventJavascriptDialogOpening: // as alert(), which nobody is there to answer
		chromium.Post(t, from, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	case *tracing.EventDataCollected, *tracing.EventTracingComplete:
		r.busy.note(event)
	default:
		r.log.note(from, from == t.Page(), event)
	}
}

// navigate goes to the page, and returns when the answer to that has begun.
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

// await returns when something has been true for a while.
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

// readBody asks for a response's body, at once: the browser keeps it only as long as there is
// room, and as long as its page is there.
func (r *recorder) readBody(ctx context.Context, of *request, from target.SessionID) {
	answer, err := chromium.Call(ctx, r.tab, from, network.GetResponseBody, network.GetResponseBodyParams{RequestID: of.id})
	r.log.take(of, answer, err)
}
