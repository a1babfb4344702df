package chromium

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// idle is how long a page that has fired its load event must have had no
// request under way before it counts as loaded.
const idle = 50 * time.Millisecond

// Visit is a fresh BrowserContext with one empty tab. It is cold until its first
// page; what that leaves in caches, and of connections, names and TLS sessions, is
// there for the next ones.
type Visit struct {
	browser *Browser
	tab     context.Context
	cancel  func()

	mu      sync.Mutex
	log     requestLog // of the page that was last asked for
	loaded  bool
	crashed error
	changed chan struct{} // holds one value after the state above has changed
}

// Open makes a cold visit ready, so that none of its set-up falls into the load.
func (b *Browser) Open(ctx context.Context) (*Visit, error) {
	v := &Visit{browser: b, log: newRequestLog(), changed: make(chan struct{}, 1)}
	v.tab, v.cancel = chromedp.NewContext(b.context, chromedp.WithNewBrowserContext())
	stop := context.AfterFunc(ctx, v.cancel)
	defer stop()
	if err := v.prepare(); err != nil {
		_ = v.Close()
		return nil, fmt.Errorf("open a tab: %w%s", err, b.output.Hint())
	}
	return v, nil
}

func (v *Visit) prepare() error {
	if err := chromedp.Listen(v.tab, v.observe); err != nil {
		return err
	}
	if _, err := chromedp.Call(v.tab, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(v.tab, page.Enable, page.EnableParams{}); err != nil {
		return err
	}
	_, err := chromedp.Call(v.tab, inspector.Enable, cdp.Empty{})
	return err
}

// observe runs in the loop that reads the browser's messages: it only notes.
func (v *Visit) observe(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			v.loaded = false // what was said until now was said of the page before
		}
	case *page.EventLoadEventFired:
		v.loaded = true
	case *inspector.EventTargetCrashed:
		v.crashed = errors.New("the page's process crashed")
	default:
		v.log.note(event)
	}
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// Load navigates to url and returns when the load event has fired and no
// request has been under way for a while. The HAR holds what has been seen,
// also when there is an error.
//
// Each call is a page of its own, in the same tab. What the page before it has
// under way is cut off and no part of the HAR.
func (v *Visit) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	stop := context.AfterFunc(ctx, v.cancel)
	defer stop()
	v.turnPage()
	offset := capture.UnixOffset()
	err := v.navigate(ctx, url)
	if err == nil {
		err = v.await(ctx)
	}
	timing := capture.Timing{DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}
	fetchStart := 0.0
	if err == nil {
		timing, fetchStart, err = v.timing(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	timing.NavigationStart = v.log.navigationStart(fetchStart, offset)
	har := v.log.har(v.browser.version, timing, offset)
	if err != nil {
		err = fmt.Errorf("load %s: %w", url, v.explain(ctx, err))
	}
	return har, timing, err
}

// turnPage begins a log for the next page.
func (v *Visit) turnPage() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log, v.loaded = v.log.next(), false
}

// Forget leaves the page for an empty one and empties the browser's cache, unless
// that is to be kept. The cache that the page's process had of its own, in memory,
// is emptied always: it would be gone with the tab. Names and TLS sessions are
// always kept, and connections as long as their server keeps them.
func (v *Visit) Forget(ctx context.Context, keep capture.Warm) error {
	stop := context.AfterFunc(ctx, v.cancel)
	defer stop()
	if err := v.forget(ctx, keep); err != nil {
		return fmt.Errorf("leave the page: %w", v.explain(ctx, err))
	}
	return nil
}

func (v *Visit) forget(ctx context.Context, keep capture.Warm) error {
	v.turnPage()
	if err := v.navigate(ctx, "about:blank"); err != nil {
		return err
	}
	// A process empties its cache when it is told to use none.
	for _, disabled := range []bool{true, false} {
		if _, err := chromedp.Call(v.tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: disabled}); err != nil {
			return err
		}
	}
	if keep.Cache {
		return nil
	}
	_, err := chromedp.Call(v.tab, network.ClearBrowserCache, cdp.Empty{})
	return err
}

// explain prefers the cause over its symptoms, which may be no more than a
// closed pipe.
func (v *Visit) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case v.crashed != nil:
		return v.crashed
	case !v.browser.Alive():
		return fmt.Errorf("the browser died: %w%s", err, v.browser.output.Hint())
	}
	return err
}

func (v *Visit) navigate(ctx context.Context, url string) error {
	answer, err := chromedp.Call(v.tab, page.Navigate, page.NavigateParams{URL: url})
	if err != nil {
		return err
	}
	if answer.ErrorText != "" {
		return errors.New(answer.ErrorText)
	}
	return ctx.Err()
}

// await returns when the page is loaded and idle.
func (v *Visit) await(ctx context.Context) error {
	for {
		v.mu.Lock()
		complete, crashed := v.loaded && v.log.underWay() == 0, v.crashed
		v.mu.Unlock()
		if crashed != nil {
			return crashed
		}
		var quiet <-chan time.Time
		if complete {
			quiet = time.After(idle)
		}
		select {
		case <-v.changed:
		case <-quiet:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-v.tab.Done():
			return context.Cause(v.tab)
		}
	}
}

func (v *Visit) timing(ctx context.Context) (t capture.Timing, fetchStart float64, err error) {
	clock, err := chromedp.Run(v.tab, chromedp.Evaluate[string](browser.ClockScript, chromedp.EvalAwaitPromise))
	if err != nil {
		return t, 0, fmt.Errorf("read the page's timing: %w", err)
	}
	if t, fetchStart, err = browser.ReadClock(clock); err != nil {
		return t, 0, err
	}
	return t, fetchStart, ctx.Err()
}

// Close closes the tab and forgets its caches, names and connections.
func (v *Visit) Close() error {
	v.cancel()
	return nil
}
