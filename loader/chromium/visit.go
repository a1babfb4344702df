package chromium

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// maxDocuments is how many documents may replace a page in turn. More count as endless.
const maxDocuments = 20

// Visit is a fresh BrowserContext with one empty tab. It is cold until its first
// page, whose caches, connections, names and TLS sessions are available to the
// next ones.
type Visit struct {
	browser *Browser
	context cdp.BrowserContextID
	page    session
	frozen  string // the script that freezes the page; empty: not frozen

	awaited []browser.Awaited

	mu      sync.Mutex
	targets map[target.SessionID]*target.Info // the page's other targets
	log     requestLog                        // of the page requested last
	loaded  float64                           // when its load event fired, in seconds of CLOCK_MONOTONIC; 0: not yet
	crashed error
	octets  int64         // that the browser has reported about the page
	excess  error         // the page is over a limit, and nothing more is recorded
	reload  bool          // the next load reloads the page that the tab shows
	turns   int           // how many documents the page has shown
	address string        // of the last one
	changed chan struct{} // holds one value after the state above has changed
}

// Open prepares a cold visit, so that no set-up falls into the load. Its pages are frozen,
// with all their frames and workers, unless freeze is nil.
func (b *Browser) Open(ctx context.Context, freeze *browser.Freeze) (*Visit, error) {
	v := &Visit{browser: b, targets: map[target.SessionID]*target.Info{}, log: newRequestLog(), changed: make(chan struct{}, 1)}
	if freeze != nil {
		v.frozen = freeze.Script()
	}
	defer b.process.Guard(ctx)()
	if err := v.openTab(ctx); err != nil {
		_ = v.Close()
		return nil, fmt.Errorf("open a tab: %w%s", err, b.output.Hint())
	}
	return v, nil
}

// observe runs in the loop that reads the browser's messages: it only records events,
// and lets targets continue.
func (v *Visit) observe(s session, event any, octets int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.excess != nil {
		return
	}
	switch e := event.(type) {
	case *page.EventFrameNavigated:
		if s.id == v.page.id && e.Frame.ParentID == "" {
			v.loaded = 0 // earlier events belong to the previous page
			v.turns++
			v.address = e.Frame.URL
		}
		v.log.frameNavigated(e.Frame.ID, e.Frame.LoaderID)
	case *page.EventLoadEventFired:
		if s.id == v.page.id {
			v.loaded = e.Timestamp.Float64()
		}
	case *page.EventJavascriptDialogOpening:
		accept := browser.AcceptDialog(string(e.Type))
		post(s, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
		v.log.notes.Dialog(string(e.Type), e.Message, accept)
	case *page.EventWindowOpen:
		v.log.notes.Add("the page was refused another window, for %s", e.URL)
	case *inspector.EventTargetCrashed:
		v.crashed = errors.New("the page's process crashed")
	case *target.EventAttachedToTarget:
		v.adopt(e)
	case *target.EventDetachedFromTarget:
		if t := v.targets[e.SessionID]; t != nil {
			v.disown(e.SessionID)
			v.log.gone(e.SessionID, t.TargetID)
		}
	case *page.EventFrameDetached:
		if e.Reason == page.FrameDetachedReasonRemove {
			v.log.frameGone(e.FrameID)
		}
	default:
		v.log.note(s.id, event)
	}
	v.octets += int64(octets)
	v.excess = browser.Tally{Requests: len(v.log.requests) + len(v.log.sockets), Targets: len(v.targets), Octets: v.octets}.Excess()
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// Load navigates to url and returns when the page counts as loaded, by [browser.Await]. The
// HAR says which requests were not waited for; it contains what has been seen even if there
// is an error. Dialogs are answered at once, and other windows are refused; the HAR says
// so, too.
//
// Each call loads a new page in the same tab. What the previous page has in
// flight is cut off and not part of the HAR. After a Forget with keep.Reload, Load
// reloads the page that the tab shows, which must be the page at url.
func (v *Visit) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	defer v.browser.process.Guard(ctx)()
	v.turnPage()
	offset := capture.UnixOffset()
	gaveUp, err := v.show(ctx, url)
	timing := capture.Timing{DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}
	fetchStart := 0.0
	if err == nil {
		timing, fetchStart, err = v.timing(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.log.close(gaveUp)
	}
	timing.NavigationStart = v.log.navigationStart(fetchStart, offset)
	har := v.log.har(v.browser.version, timing, offset)
	if host := v.log.upgraded(); host != "" {
		return har, timing, fmt.Errorf("load %s: %w", url, &TLSOnlyError{host})
	}
	if err != nil {
		err = fmt.Errorf("load %s: %w", url, v.explain(ctx, err))
	}
	return har, timing, err
}

// TLSOnlyError says that a page without TLS is of a host that Chromium reaches over TLS
// only, because it is on its HSTS preload list (RFC 6797).
type TLSOnlyError struct{ Host string }

func (e *TLSOnlyError) Error() string {
	return fmt.Sprintf("%s is HSTS-preloaded: Chromium loads it over TLS only", e.Host)
}

// turnPage starts a log for the next page. It excludes later requests of this page's
// frames and workers.
func (v *Visit) turnPage() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log, v.loaded, v.turns, v.octets, v.excess = v.log.next(), 0, 0, 0, nil
	for id, t := range v.targets {
		if t.Type != sharedWorker && t.Type != serviceWorker {
			v.disown(id)
		}
	}
}

// Forget replaces the page by an empty one and clears the browser's cache unless
// it is to be kept. It also clears the memory cache of the page's process, which
// would end with the tab. Names and TLS sessions are always kept, and so are
// connections until their server closes them. If cache and connections are kept,
// the tab stays as it is, as for a user who returns to the page or reloads it.
func (v *Visit) Forget(ctx context.Context, keep capture.Warm) error {
	defer v.browser.process.Guard(ctx)()
	if err := v.forget(ctx, keep); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		return fmt.Errorf("leave the page: %w", v.explain(ctx, err))
	}
	return nil
}

func (v *Visit) forget(ctx context.Context, keep capture.Warm) error {
	v.turnPage()
	v.mu.Lock()
	v.reload = keep.Reload
	v.mu.Unlock()
	if keep.Connections && keep.Cache {
		return nil
	}
	if err := v.navigate(ctx, "about:blank"); err != nil {
		return err
	}
	// A process clears its cache when it is told to use none.
	for _, disabled := range []bool{true, false} {
		if _, err := call(ctx, v.page, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: disabled}); err != nil {
			return err
		}
	}
	if keep.Cache {
		return nil
	}
	_, err := call(ctx, v.page, network.ClearBrowserCache, cdp.Empty{})
	return err
}

// explain returns the cause in preference to its symptoms, such as a closed
// pipe. The caller holds the lock.
func (v *Visit) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return browser.Timeout(context.Cause(ctx), v.loaded > 0, v.log.unfinished())
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case v.crashed != nil:
		return v.crashed
	case v.excess != nil:
		return v.excess
	case !v.browser.Alive():
		return fmt.Errorf("the browser died: %w%s", err, v.browser.output.Hint())
	}
	return err
}

// show navigates to url, or reloads the page that the tab shows. It returns when the page
// counts as loaded, and whether it gave up waiting for requests in flight.
func (v *Visit) show(ctx context.Context, url string) (gaveUp bool, err error) {
	v.mu.Lock()
	reload := v.reload
	v.reload = false
	v.mu.Unlock()
	if !reload {
		if err := v.navigate(ctx, url); err != nil {
			return false, err
		}
		return v.await(ctx)
	}
	if _, err := call(ctx, v.page, page.Reload, page.ReloadParams{}); err != nil {
		return false, err
	}
	gaveUp, err = v.await(ctx)
	if err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		err = v.log.reloaded() // Page.reload does not report it, unlike Page.navigate
	}
	return gaveUp, err
}

func (v *Visit) navigate(ctx context.Context, url string) error {
	answer, err := call(ctx, v.page, page.Navigate, page.NavigateParams{URL: url})
	if err != nil {
		return err
	}
	if answer.ErrorText != "" {
		return errors.New(answer.ErrorText)
	}
	return ctx.Err()
}

// Await sets the requests that the pages are known to make after their load events: a page
// counts as loaded only after their due times.
func (v *Visit) Await(requests []browser.Awaited) { v.awaited = requests }

// await returns when the page counts as loaded, and whether it gave up waiting for requests
// in flight.
func (v *Visit) await(ctx context.Context) (gaveUp bool, err error) {
	gaveUp, err = browser.Await(ctx, v.changed, v.page.done, v.look)
	if errors.Is(err, browser.ErrGone) {
		err = v.page.ended()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log.loaded = len(v.log.requests)
	return gaveUp, err
}

// look returns how far the page has loaded.
func (v *Visit) look() (browser.State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := cmp.Or(v.crashed, v.excess); err != nil {
		return browser.State{}, err
	}
	if v.turns > maxDocuments {
		return browser.State{}, fmt.Errorf("the page goes from one document to the next without end: %d so far, the last of them %s", v.turns, v.address)
	}
	s := browser.State{Loaded: v.loaded > 0, News: v.log.news.Count()}
	s.UnderWay, s.Whole = v.log.underWay()
	if s.Loaded {
		now := time.Duration(time.Now().UnixNano() - capture.UnixOffset())
		s.Next = v.log.due(v.awaited, v.loaded) - now
	}
	return s, nil
}

func (v *Visit) timing(ctx context.Context) (t capture.Timing, fetchStart float64, err error) {
	clock, err := v.evaluate(ctx, browser.ClockScript)
	if err != nil {
		return t, 0, fmt.Errorf("read the page's timing: %w", err)
	}
	if t, fetchStart, err = browser.ReadClock(clock); err != nil {
		return t, 0, err
	}
	return t, fetchStart, ctx.Err()
}

// evaluate runs a script in the page and waits for the promise that it returns, which
// must yield a string.
func (v *Visit) evaluate(ctx context.Context, script string) (string, error) {
	answer, err := call(ctx, v.page, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: script, AwaitPromise: yes(), ReturnByValue: yes()})
	if err != nil {
		return "", err
	}
	if answer.ExceptionDetails != nil {
		return "", fmt.Errorf("run a script: %s", thrown(answer.ExceptionDetails))
	}
	var text string
	if err := json.Unmarshal(answer.Result.Value, &text); err != nil {
		return "", fmt.Errorf("parse a script's result: %w", err)
	}
	return text, nil
}

// thrown returns the text of an exception.
func thrown(e *cdpruntime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

// closeLimit is how long closing a tab may take.
const closeLimit = 5 * time.Second

// Close closes the tab and forgets its caches, names and connections.
func (v *Visit) Close() error {
	v.closeTab()
	return nil
}

// Process returns the PID of the browser's first process. Its others descend from
// it.
func (v *Visit) Process() int { return v.browser.process.PID() }
