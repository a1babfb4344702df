package firefox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/loader/browser"
)

// maxDocuments is how many documents may replace a page in turn. More count as endless.
const maxDocuments = 20

// The viewport, in CSS pixels.
const (
	width  = 1280
	height = 800
)

// Visit is a fresh user context with one empty tab.
type Visit struct {
	browser     *Browser
	userContext string
	tab         string
	awaited     []browser.Awaited
	freezer     string // the preload script that freezes the pages; empty: none

	mu          sync.Mutex
	log         requestLog
	loaded      map[string]time.Time // by navigation
	failed      map[string]string    // by navigation, with the browser's reason
	navigations []navigation         // of the tab, in order
	octets      int64                // that the browser has reported about the page
	excess      error                // the page is over a limit, and nothing more is recorded
	reload      bool                 // the next load reloads the page that the tab shows
	changed     chan struct{}        // holds one value after the state above has changed
}

// navigation leads from one document to the next.
type navigation struct{ id, url string }

// Open prepares a cold visit, so that no set-up falls into the load. Its pages are frozen,
// with all their frames, unless freeze is nil. Workers are not: WebDriver BiDi does not
// support it.
func (b *Browser) Open(ctx context.Context, freeze *browser.Freeze) (*Visit, error) {
	v := &Visit{browser: b, changed: make(chan struct{}, 1)}
	v.reset()
	defer b.process.Guard(ctx)()
	if err := v.prepare(ctx, freeze); err != nil {
		_ = v.Close()
		return nil, fmt.Errorf("open a tab: %w%s", err, b.output.Hint())
	}
	b.mu.Lock()
	b.current = v
	b.mu.Unlock()
	return v, nil
}

// reset forgets what was seen of the previous page.
func (v *Visit) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log, v.loaded, v.failed, v.navigations = newRequestLog(), map[string]time.Time{}, map[string]string{}, nil
	v.octets, v.excess = 0, nil
}

func (v *Visit) prepare(ctx context.Context, freeze *browser.Freeze) error {
	s := v.browser.session
	var made struct {
		UserContext string `json:"userContext"`
	}
	if err := s.call(ctx, "browser.createUserContext", object{}, &made); err != nil {
		return err
	}
	v.userContext = made.UserContext
	if freeze != nil {
		var added struct {
			Script string `json:"script"`
		}
		if err := s.call(ctx, "script.addPreloadScript", object{
			"functionDeclaration": "() => {" + freeze.Script() + "}", "userContexts": []string{v.userContext},
		}, &added); err != nil {
			return fmt.Errorf("freeze the pages: %w", err)
		}
		v.freezer = added.Script
	}
	var tab struct {
		Context string `json:"context"`
	}
	if err := s.call(ctx, "browsingContext.create", object{"type": "tab", "userContext": v.userContext}, &tab); err != nil {
		return err
	}
	v.tab = tab.Context
	return s.call(ctx, "browsingContext.setViewport", object{
		"context": v.tab, "viewport": object{"width": width, "height": height}, "devicePixelRatio": 1.0,
	}, nil)
}

// observe runs in the loop that reads the browser's messages: it only records
// events.
func (v *Visit) observe(method string, params json.RawMessage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.excess != nil {
		return
	}
	v.octets += int64(len(params))
	switch method {
	case "browsingContext.navigationStarted", "browsingContext.load", "browsingContext.navigationFailed":
		var e struct {
			Context    string `json:"context"`
			Navigation string `json:"navigation"`
			Message    string `json:"message"`
			URL        string `json:"url"`
		}
		if json.Unmarshal(params, &e) != nil || e.Context != v.tab {
			return
		}
		switch method {
		case "browsingContext.navigationStarted":
			v.navigations = append(v.navigations, navigation{e.Navigation, e.URL})
		case "browsingContext.load":
			v.loaded[e.Navigation] = time.Now()
		default:
			if e.Message != "" { // else another navigation took its place, which may not be announced yet
				v.failed[e.Navigation] = e.Message
			}
			// A page that failed to navigate, or started a download, stays.
			if n := len(v.navigations); n > 1 && v.navigations[n-1].id == e.Navigation {
				v.navigations = v.navigations[:n-1]
			}
		}
	case "browsingContext.userPromptOpened":
		var e struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		v.log.notes.Dialog(e.Type, e.Message, browser.AcceptDialog(e.Type))
	default:
		v.log.note(method, params)
	}
	v.excess = browser.Tally{Requests: len(v.log.requests), Octets: v.octets}.Excess()
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// Load navigates to url and returns when the page counts as loaded, by [browser.Await]. The
// HAR says which requests were not waited for; it contains what has been seen even if there
// is an error. Dialogs are answered at once, which the HAR says too, and other windows are
// not opened. After a Forget with keep.Reload, Load reloads the page that the tab shows, which
// must be the page at url.
func (v *Visit) Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error) {
	defer v.browser.process.Guard(ctx)()
	v.reset()
	gaveUp, err := v.navigate(ctx, url)
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
	timing.NavigationStart = v.log.navigationStart(fetchStart)
	har := v.log.har(v.browser.version, timing)
	if err != nil {
		err = fmt.Errorf("load %s: %w", url, v.explain(ctx, err))
	}
	return har, timing, err
}

// Forget prepares the tab for another visit. It returns an error unless keep has both connections
// and cache: WebDriver BiDi cannot drop either.
func (v *Visit) Forget(_ context.Context, keep capture.Warm) error {
	if !keep.Connections || !keep.Cache {
		return errors.New("WebDriver BiDi cannot drop connections or the cache; use the visit again or reload")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reload = keep.Reload
	return nil
}

// explain returns the cause in preference to its symptoms, such as a closed
// connection. The caller holds the lock.
func (v *Visit) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return browser.Timeout(context.Cause(ctx), !v.loaded[v.navigation("").id].IsZero(), v.log.unfinished())
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case v.excess != nil:
		return v.excess
	case !v.browser.Alive():
		return fmt.Errorf("the browser died: %w%s", err, v.browser.output.Hint())
	}
	return err
}

// Await sets the requests that the pages are known to make after their load events: a page
// counts as loaded only after their due times.
func (v *Visit) Await(requests []browser.Awaited) { v.awaited = requests }

// navigate navigates to url, or reloads the page that the tab shows. It returns when the page
// counts as loaded, and whether it gave up waiting for requests in flight.
func (v *Visit) navigate(ctx context.Context, url string) (gaveUp bool, err error) {
	var answer struct {
		Navigation string `json:"navigation"`
	}
	session := v.browser.session
	v.mu.Lock()
	reload := v.reload
	v.reload = false
	v.mu.Unlock()
	command, params := "browsingContext.navigate", object{"context": v.tab, "url": url, "wait": "none"}
	if reload {
		command, params = "browsingContext.reload", object{"context": v.tab, "wait": "none"}
	}
	if err := session.call(ctx, command, params, &answer); err != nil {
		return false, err
	}
	gaveUp, err = browser.Await(ctx, v.changed, session.done, func() (browser.State, error) { return v.look(answer.Navigation) })
	if errors.Is(err, browser.ErrGone) {
		err = session.ended()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log.loaded = len(v.log.requests)
	return gaveUp, err
}

// look returns how far the page has loaded; first is its first navigation.
func (v *Visit) look(first string) (browser.State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.excess != nil {
		return browser.State{}, v.excess
	}
	now := v.navigation(first)
	if why, failed := v.failed[now.id]; failed {
		return browser.State{}, errors.New(why)
	}
	if n := len(v.navigations); n > maxDocuments {
		return browser.State{}, fmt.Errorf("the page goes from one document to the next without end: %d so far, the last of them %s", n, now.url)
	}
	loaded := v.loaded[now.id]
	s := browser.State{Loaded: !loaded.IsZero(), UnderWay: v.log.underWay(), News: v.log.news.Count()}
	if s.Loaded {
		s.Next = v.log.due(v.awaited, loaded) - time.Duration(time.Now().UnixNano())
	}
	return s, nil
}

// navigation returns the tab's latest navigation, or first if no other has begun. The
// caller holds the lock.
func (v *Visit) navigation(first string) navigation {
	if n := len(v.navigations); n > 0 {
		return v.navigations[n-1]
	}
	return navigation{id: first}
}

func (v *Visit) timing(ctx context.Context) (t capture.Timing, fetchStart float64, err error) {
	clock, err := v.browser.session.evaluate(ctx, v.tab, browser.ClockScript)
	if err != nil {
		return t, 0, fmt.Errorf("read the page's timing: %w", err)
	}
	if t, fetchStart, err = browser.ReadClock(clock); err != nil {
		return t, 0, err
	}
	return t, fetchStart, ctx.Err()
}

// closeLimit is how long closing a tab may take.
const closeLimit = 5 * time.Second

// Close closes the tab and forgets its caches, names and connections. If the tab
// cannot be closed because its page never yields, Close kills the browser.
func (v *Visit) Close() error {
	b := v.browser
	b.mu.Lock()
	if b.current == v {
		b.current = nil
	}
	b.mu.Unlock()
	if v.userContext == "" || !b.Alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	defer b.process.Guard(ctx)()
	err := b.session.call(ctx, "browser.removeUserContext", object{"userContext": v.userContext}, nil)
	if err == nil && v.freezer != "" {
		err = b.session.call(ctx, "script.removePreloadScript", object{"script": v.freezer}, nil)
	}
	if err != nil {
		b.process.Kill()
	}
	return nil
}

// Process returns the PID of the browser's first process. Its others descend from
// it.
func (v *Visit) Process() int { return v.browser.process.PID() }
