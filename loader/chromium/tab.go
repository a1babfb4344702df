package chromium

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// Tab is a tab that is driven and observed from outside this package, to record what is
// in it rather than to measure it. Its browser serves no visits.
type Tab struct {
	browser *Browser
	page    target.SessionID
	hear    func(t *Tab, from target.SessionID, event any)
}

// OpenTab opens an empty tab. The events of the browser itself, whose session has no ID,
// and of the tab's page are told to hear, one after the other; it must not wait for an
// answer of [Call].
func (b *Browser) OpenTab(ctx context.Context, hear func(t *Tab, from target.SessionID, event any)) (*Tab, error) {
	t := &Tab{browser: b, hear: hear}
	t.Listen("")
	tab, err := Call(ctx, t, "", target.CreateTarget, target.CreateTargetParams{URL: "about:blank", NewWindow: yes()})
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w%s", err, b.output.Hint())
	}
	attached, err := Call(ctx, t, "", target.AttachToTarget, target.AttachToTargetParams{TargetID: tab.TargetID, Flatten: yes()})
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w%s", err, b.output.Hint())
	}
	t.page = attached.SessionID
	t.Listen(t.page)
	return t, nil
}

// Page is the session with the tab's page.
func (t *Tab) Page() target.SessionID { return t.page }

// Listen has the events of another session told as well, as of a frame or worker that was
// attached to.
func (t *Tab) Listen(id target.SessionID) {
	t.browser.pipe.hear(id, func(s session, event any) { t.hear(t, s.id, event) })
}

// Ended is closed when the browser has hung up.
func (t *Tab) Ended() <-chan struct{} { return t.browser.pipe.done }

// Cause says why the browser has hung up, with its last words. It is called after Ended.
func (t *Tab) Cause() error {
	return fmt.Errorf("the browser died: %w%s", t.browser.pipe.ended(), t.browser.output.Hint())
}

// Call sends a command to a session of a tab and waits for what it returns.
func Call[P, R any](ctx context.Context, t *Tab, id target.SessionID, command cdp.Command[P, R], params P) (R, error) {
	return call(ctx, session{t.browser.pipe, id}, command, params)
}

// Post sends a command to a session of a tab and does not wait. That it may fail, since its
// target may be gone or may have no use for it, is all right. Commands of one session are
// carried out in the order they were sent.
func Post[P, R any](t *Tab, id target.SessionID, command cdp.Command[P, R], params P) {
	post(session{t.browser.pipe, id}, command, params)
}
