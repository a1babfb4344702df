package chromium

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// Tab is a tab driven and observed from outside this package, to record its page rather
// than to measure it. Its browser serves no visits.
type Tab struct {
	browser *Browser
	page    target.SessionID
	hear    func(t *Tab, from target.SessionID, event any, octets int)
}

// OpenTab opens an empty tab. hear receives the events of the browser, whose session has
// no ID, and of the tab's page, one after the other, with the octets that each came in; it
// must not wait for the result of [Call].
func (b *Browser) OpenTab(ctx context.Context, hear func(t *Tab, from target.SessionID, event any, octets int)) (*Tab, error) {
	t := &Tab{browser: b, hear: hear}
	t.Listen("")
	denyDownloads(session{connection: b.pipe}, "")
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

// Guard kills the browser if a use of the tab does not end soon after its context has, as [browser.Process.Guard].
func (t *Tab) Guard(ctx context.Context) (done func()) { return t.browser.process.Guard(ctx) }

// Page returns the session of the tab's page.
func (t *Tab) Page() target.SessionID { return t.page }

// Listen adds the events of another session, such as that of an attached frame or worker.
func (t *Tab) Listen(id target.SessionID) {
	t.browser.pipe.hear(id, func(s session, event any, octets int) { t.hear(t, s.id, event, octets) })
}

// Unlisten ends what [Tab.Listen] began.
func (t *Tab) Unlisten(id target.SessionID) { t.browser.pipe.hear(id, nil) }

// Ended is closed when the browser has hung up.
func (t *Tab) Ended() <-chan struct{} { return t.browser.pipe.done }

// Cause returns why the browser has hung up, with its last output. Call it after Ended.
func (t *Tab) Cause() error {
	return fmt.Errorf("the browser died: %w%s", t.browser.pipe.ended(), t.browser.output.Hint())
}

// Call sends a command to a session of a tab and waits for its result.
func Call[P, R any](ctx context.Context, t *Tab, id target.SessionID, command cdp.Command[P, R], params P) (R, error) {
	return call(ctx, session{t.browser.pipe, id}, command, params)
}

// Post sends a command to a session of a tab without waiting. It may fail, because its
// target may be gone or may not support it. Commands of one session are carried out in the
// order in which they were sent.
func Post[P, R any](t *Tab, id target.SessionID, command cdp.Command[P, R], params P) {
	post(session{t.browser.pipe, id}, command, params)
}
