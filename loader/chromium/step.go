package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"

	"wiretime/capture"
)

// Click clicks with the mouse on the first element that a CSS selector finds in the page that was loaded last, and returns
// when all that the click causes has arrived, as Load does for a page. If the click leads to another page, the figures are
// that page's, counted from the click. Otherwise the HAR's page has no events and is named by the step, and the timing's
// are 0, so that they add nothing to a journey's. Without any request the HAR has no page.
func (v *Visit) Click(ctx context.Context, _ int, selector string) (*capture.HAR, capture.Timing, error) {
	return v.act(ctx, "click "+selector, func() error {
		quoted, err := json.Marshal(selector)
		if err != nil {
			return err
		}
		text, err := v.evaluate(ctx, "("+placeScript+")("+string(quoted)+")")
		if err != nil {
			return err
		}
		var at struct{ X, Y float64 }
		if text == "" {
			return fmt.Errorf("no element matches %s", selector)
		}
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			return fmt.Errorf("find %s: %w", selector, err)
		}
		for _, event := range []input.DispatchMouseEventParams{
			{Type: input.DispatchMouseEventTypeMouseMoved, X: at.X, Y: at.Y},
			{Type: input.DispatchMouseEventTypeMousePressed, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1},
			{Type: input.DispatchMouseEventTypeMouseReleased, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1},
		} {
			if _, err := call(ctx, v.page, input.DispatchMouseEvent, event); err != nil {
				return err
			}
		}
		return nil
	})
}

// mostScreens is how many screens a step scrolls at most: some pages grow without end.
const mostScreens = 200

// Scroll does the same as Click, but turns the mouse's wheel: by so many CSS pixels downwards or, if they are 0, to the
// page's end, a screen at a time.
func (v *Visit) Scroll(ctx context.Context, _, pixels int) (*capture.HAR, capture.Timing, error) {
	words := "scroll bottom"
	if pixels > 0 {
		words = "scroll " + strconv.Itoa(pixels)
	}
	return v.act(ctx, words, func() error {
		left := float64(pixels)
		before := -1.0
		for range mostScreens {
			text, err := v.evaluate(ctx, stillScript)
			if err != nil {
				return err
			}
			var at struct{ Y, Width, Height float64 }
			if err := json.Unmarshal([]byte(text), &at); err != nil {
				return fmt.Errorf("read the scroll position: %w", err)
			}
			if at.Y == before || pixels > 0 && left <= 0 {
				return nil
			}
			before = at.Y
			turn := at.Height
			if pixels > 0 {
				turn = min(turn, left)
				left -= turn
			}
			wheel := wheelTurn{Type: input.DispatchMouseEventTypeMouseWheel, X: at.Width / 2, Y: at.Height / 2, DeltaY: turn}
			if _, err := call(ctx, v.page, turnWheel, wheel); err != nil {
				return err
			}
		}
		return nil
	})
}

// wheelTurn are the parameters of Input.dispatchMouseEvent for the wheel. The library's leave out a DeltaX of 0, which the
// browser then misses.
type wheelTurn struct {
	Type   input.DispatchMouseEventType `json:"type"`
	X      float64                      `json:"x"`
	Y      float64                      `json:"y"`
	DeltaX float64                      `json:"deltaX"`
	DeltaY float64                      `json:"deltaY"`
}

var turnWheel = cdp.Command[wheelTurn, cdp.Empty]{Method: input.CommandDispatchMouseEvent}

// act does something on the page and waits for what it causes.
func (v *Visit) act(ctx context.Context, words string, do func() error) (*capture.HAR, capture.Timing, error) {
	defer v.browser.process.Guard(ctx)()
	v.stay()
	offset, began := capture.UnixOffset(), time.Now().UnixNano()
	err := do()
	if err == nil {
		// Two frames let the page's handlers run, and lazy images be seen. A click that has led to another page by then ends
		// the script with its document.
		if _, unseen := v.evaluate(ctx, framesScript); unseen != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	gaveUp := false
	if err == nil {
		gaveUp, err = v.await(ctx)
	}
	timing := capture.Timing{NavigationStart: began}
	events := capture.Timing{NavigationStart: began, DCL: -1, OnLoad: -1, FCP: -1, LCP: -1}
	turned := v.turned()
	if err == nil && turned {
		var fetchStart float64
		if timing, fetchStart, err = v.timing(ctx); err == nil {
			v.mu.Lock()
			timing = since(timing, v.log.navigationStart(fetchStart, offset), began)
			v.mu.Unlock()
			events = timing
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.log.close(gaveUp)
	}
	har := v.log.har(v.browser.version, events, offset)
	if len(har.Log.Pages) > 0 && !turned {
		har.Log.Pages[0].Title = words
		timing.LastResource = v.log.lastEnd(began - offset)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", words, v.explain(ctx, err))
	}
	return har, timing, err
}

// stay starts a log for what a step causes on the page that the tab shows.
func (v *Visit) stay() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log, v.turns, v.octets, v.excess = v.log.same(), 0, 0, nil
	if v.loaded == 0 {
		v.excess = errors.New("no page has been loaded")
	}
}

// turned reports whether the tab shows another page since the log began.
func (v *Visit) turned() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.turns > 0
}

// since returns a page's figures as they count from another moment than its navigation's start, both in ns since the Unix
// epoch.
func since(t capture.Timing, navigation, moment int64) capture.Timing {
	later := float64(navigation-moment) / 1e6
	for _, figure := range []*float64{&t.DCL, &t.OnLoad, &t.TTFB, &t.FCP, &t.LCP, &t.LastResource} {
		if *figure >= 0 {
			*figure += later
		}
	}
	t.NavigationStart = moment
	return t
}

// lastEnd returns when the last awaited request ended, in ms since a moment in ns of CLOCK_MONOTONIC.
func (l *requestLog) lastEnd(moment int64) float64 {
	last := moment
	for _, r := range l.requests {
		if r.unawaited == "" {
			last = max(last, nanoseconds(r.ended))
		}
	}
	return float64(last-moment) / 1e6
}

// placeScript scrolls an element into view and returns where its middle is in the window, or nothing if no element matches.
const placeScript = `(selector) => {
	const element = document.querySelector(selector);
	if (!element) return "";
	element.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
	const box = element.getBoundingClientRect();
	return JSON.stringify({X: box.x + box.width / 2, Y: box.y + box.height / 2});
}`

// framesScript waits until two frames have been shown.
const framesScript = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done("")))))`

// stillScript waits until the page has not moved for four frames, and returns how far it is scrolled and its window's size.
const stillScript = `new Promise((done) => {
	let at = scrollY, still = 0;
	const look = () => {
		still = scrollY === at ? still + 1 : 0;
		at = scrollY;
		if (still < 4) requestAnimationFrame(look);
		else done(JSON.stringify({Y: at, Width: innerWidth, Height: innerHeight}));
	};
	requestAnimationFrame(look);
})`
