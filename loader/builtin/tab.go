package builtin

import (
	"context"
	"errors"
	"net/url"
	"time"

	"wiretime/loader/page"
	"wiretime/panics"
)

// tab is a page being loaded. All of it belongs to the visit's main thread: it is
// accessed only under Visit.mu.
type tab struct {
	visit     *Visit
	address   string          // as requested
	url       *url.URL        // of the document, after redirects
	ctx       context.Context // ends with the load
	cancel    context.CancelCauseFunc
	began     time.Time // navigationStart
	page      *page.Page
	step      string // what a user does on a page that is there; empty: the page is loaded
	scheduler scheduler
	fetches   []*fetch    // by the page's number
	exchanges []*exchange // in the order in which they were requested
	local     []*fetch    // answered by the cache, or failed before they began
	open      int         // fetches that have not ended
	content   int64       // octets of all bodies so far, decoded
	timer     *time.Timer // to the page's next moment; nil until there is one
	err       error       // why the document failed
	done      chan struct{}
	ended     bool          // done is closed
	over      time.Duration // when it ended
}

func (v *Visit) newTab(ctx context.Context, address string, began time.Time) (*tab, error) {
	address, err := v.config.Protocol.URL(address)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	recorded, err := v.spoken(v.config.Recorded)
	if err != nil {
		return nil, err
	}
	t := &tab{visit: v, address: address, url: u, began: began, done: make(chan struct{}), scheduler: scheduler{obeys: v.obeys}}
	// Requests end with the load, not before it: otherwise a page would appear to
	// have loaded without the abandoned ones.
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.page = page.New(page.Config{URL: address, Recorded: recorded, CPU: v.config.CPU})
	return t, nil
}

func (t *tab) now() time.Duration { return time.Since(t.began) }

// begin requests the document.
func (t *tab) begin() {
	t.page.Begin(t.now())
	t.turn()
}

// wait returns when the page has loaded or failed, or ctx has ended.
func (t *tab) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		panics.From(ctx).Call(func() {
			t.visit.mu.Lock()
			defer t.visit.mu.Unlock()
			t.end(context.Cause(ctx))
		})
	})
	defer stop()
	<-t.done
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	return t.err
}

// turn carries out what the page wants after an event.
func (t *tab) turn() {
	for busy := true; busy && !t.ended; {
		busy = false
		t.scheduler.inBody = t.page.HeadDone()
		for _, r := range t.page.Requests() {
			t.ask(r)
			busy = true
			if t.ended {
				return
			}
		}
		for _, c := range t.page.Changes() {
			t.scheduler.change(t.fetches[c.ID], c.Priority)
		}
		for _, f := range t.scheduler.begin() {
			f.send()
			busy = true
		}
		for len(t.local) > 0 {
			f := t.local[0]
			t.local = t.local[1:]
			f.deliver()
			busy = true
		}
	}
	t.settle()
}

// ask handles a request of the page.
func (t *tab) ask(r page.Request) {
	if limits := t.visit.config.Limits; len(t.fetches) >= limits.Requests {
		t.end(limits.requestError())
		return
	}
	f := &fetch{tab: t, request: r, initial: r.Priority, asked: t.now()}
	t.fetches = append(t.fetches, f)
	t.open++
	if err := f.aim(r.URL); err != nil {
		f.failure = err
		t.local = append(t.local, f)
		return
	}
	t.scheduler.add(f)
}

// settle ends a load that is complete, and otherwise sets the timer for the page's
// next moment.
func (t *tab) settle() {
	if t.ended {
		return
	}
	at, waits := t.page.Next()
	_, loaded := t.page.Load()
	if t.err != nil || loaded && t.open == 0 && !waits {
		t.end(t.err)
		return
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if waits {
		t.timer = time.AfterFunc(at-t.now(), func() { panics.From(t.ctx).Call(t.advance) })
	}
}

func (t *tab) advance() {
	t.visit.mu.Lock()
	defer t.visit.mu.Unlock()
	t.advanceLocked()
}

// advanceLocked is advance under the visit's lock.
func (t *tab) advanceLocked() {
	if !t.ended {
		t.page.Advance(t.now())
		t.turn()
	}
}

// errEnded is the cause with which requests end that are in flight when their
// load ends.
var errEnded = errors.New("the load has ended")

// end ends the load, with a reason or because it is complete.
func (t *tab) end(err error) {
	if t.ended {
		return
	}
	t.ended, t.err, t.over = true, err, t.now()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.page.Close()
	t.cancel(errEnded)
	close(t.done)
}
