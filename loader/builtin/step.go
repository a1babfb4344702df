package builtin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"wiretime/capture"
	"wiretime/loader/page"
)

// Caused is what a step on a page causes, by the site's archive.
type Caused struct {
	Page      string          // the URL that it navigates to; empty: it stays on the page
	Resources []page.Recorded // what else it requests
}

// Click carries out a step of the site's journey on the page that was loaded last, and returns once everything that it
// causes is there. No page is rendered and no script runs: what the step causes is what Config.Steps has under its number, and
// the selector only names it. The HAR has one page, which began with the step. If the step stays on its page, that page has
// no DCL and no onLoad, and these are 0 in the timing, so that they add nothing to a journey's.
func (v *Visit) Click(ctx context.Context, number int, selector string) (*capture.HAR, capture.Timing, error) {
	return v.act(ctx, number, "click "+selector)
}

// Scroll does the same for a step that scrolls, by pixels or, if these are 0, to the page's end.
func (v *Visit) Scroll(ctx context.Context, number, pixels int) (*capture.HAR, capture.Timing, error) {
	if pixels == 0 {
		return v.act(ctx, number, "scroll bottom")
	}
	return v.act(ctx, number, "scroll "+strconv.Itoa(pixels))
}

func (v *Visit) act(ctx context.Context, number int, text string) (*capture.HAR, capture.Timing, error) {
	caused := v.config.Steps[number]
	if caused.Page != "" {
		return v.Load(ctx, caused.Page)
	}
	began := time.Now()
	t, err := v.newStep(ctx, caused, text, began)
	if err != nil {
		return nil, unknownTiming, fmt.Errorf("%s: %w", text, err)
	}
	v.mu.Lock()
	t.advanceLocked()
	v.mu.Unlock()
	err = t.wait(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%s: %w", text, err)
	}
	timing := capture.Timing{NavigationStart: began.UnixNano(), LastResource: milliseconds(t.lastEnd())}
	return newHAR([]*tab{t}), timing, err
}

// newStep prepares a step on the page that was loaded last.
func (v *Visit) newStep(ctx context.Context, caused Caused, text string, began time.Time) (*tab, error) {
	v.mu.Lock()
	at := v.at
	v.mu.Unlock()
	if at == "" {
		return nil, errors.New("no page has been loaded")
	}
	t, err := v.newTab(ctx, at, began)
	if err != nil {
		return nil, err
	}
	recorded, err := v.spoken(caused.Resources)
	if err != nil {
		return nil, err
	}
	t.page.Close()
	t.step, t.page = text, page.NewStep(page.Config{URL: t.address, Recorded: recorded, CPU: v.config.CPU})
	return t, nil
}

// spoken returns the resources with the URLs that they have over the visit's protocol.
func (v *Visit) spoken(all []page.Recorded) (spoken []page.Recorded, err error) {
	spoken = make([]page.Recorded, len(all))
	for i, r := range all {
		if r.URL, err = v.config.Protocol.URL(r.URL); err != nil {
			return nil, err
		}
		if r.Initiator != "" {
			if r.Initiator, err = v.config.Protocol.URL(r.Initiator); err != nil {
				return nil, err
			}
		}
		spoken[i] = r
	}
	return spoken, nil
}
