package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	cdpruntime "github.com/chromedp/cdproto/runtime"

	"wiretime/capture"
	"wiretime/loader/chromium"
	"wiretime/site/recording"
)

// run performs the steps in order. If the context ends, the error names the step that was
// running and the cause.
func (r *recorder) run(ctx context.Context, s *Script) error {
	if s == nil {
		return nil
	}
	for _, at := range s.steps {
		r.progress("line %d: %s %s", at.line, at.do, at.argument)
		err := error(nil)
		if r.Journey && at.travels() {
			err = r.travel(ctx, at)
		} else {
			err = r.do(ctx, at)
		}
		if err != nil {
			return s.fault(at, "%s: %w", at.do, err)
		}
	}
	return nil
}

// travels reports whether a step can be one of a site's journey.
func (at step) travels() bool { return at.do == click || at.do == clickIfAny || at.do == scroll }

// travel carries out a step of the journey, and waits until all that it causes is there.
func (r *recorder) travel(ctx context.Context, at step) error {
	before, err := r.location(ctx)
	if err != nil {
		return err
	}
	words := click + " " + at.argument
	if at.do == scroll {
		words = scroll + " " + at.argument
	}
	began, found := float64(time.Now().UnixNano()-capture.UnixOffset())/1e6, true
	if at.do == scroll {
		err = r.do(ctx, at)
	} else {
		found, err = r.click(ctx, at.argument, at.do == click)
	}
	if err != nil || !found {
		return err
	}
	if err := r.await(ctx, r.Quiet, r.log.idle); err != nil {
		return err
	}
	after, err := r.location(ctx)
	if err != nil {
		return err
	}
	step := recording.Step{Text: words, Began: began}
	if after != before {
		step.Page = after
	}
	r.steps = append(r.steps, step)
	return nil
}

// location returns the URL of the page that is shown, without its fragment.
func (r *recorder) location(ctx context.Context) (string, error) {
	answer, err := r.evaluate(ctx, "location.href")
	if err != nil {
		return "", err
	}
	var address string
	if err := json.Unmarshal(answer, &address); err != nil {
		return "", fmt.Errorf("read the page's URL: %w", err)
	}
	address, _, _ = strings.Cut(address, "#")
	return address, nil
}

func (r *recorder) do(ctx context.Context, at step) error {
	switch at.do {
	case wait:
		return r.sleep(ctx, at.time)
	case scroll:
		distance := "null"
		if at.pixels > 0 {
			distance = fmt.Sprint(at.pixels)
		}
		_, err := r.evaluate(ctx, "("+scrollScript+")("+distance+")")
		return err
	case click, clickIfAny:
		_, err := r.click(ctx, at.argument, at.do == click)
		return err
	}
	_, err := r.evaluate(ctx, at.argument)
	return err
}

// sleep waits for d or until the context ends.
func (r *recorder) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.tab.Ended():
		return r.tab.Cause()
	}
}

// click clicks on an element, and reports whether there was one.
func (r *recorder) click(ctx context.Context, selector string, needed bool) (found bool, err error) {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return false, err
	}
	answer, err := r.evaluate(ctx, "("+clickScript+")("+string(quoted)+")")
	if err != nil {
		return false, fmt.Errorf("%s: %w", selector, err)
	}
	found = string(answer) == "true"
	if needed && !found {
		return false, fmt.Errorf("no element matches %s: correct the selector, wait for the element first, or write click? if it may be missing", selector)
	}
	return found, nil
}

// evaluate runs a script in the page, waits for its promise, and returns the result as
// JSON.
func (r *recorder) evaluate(ctx context.Context, script string) ([]byte, error) {
	on := true
	answer, err := chromium.Call(ctx, r.tab, r.tab.Page(), cdpruntime.Evaluate, cdpruntime.EvaluateParams{
		Expression: script, AwaitPromise: &on, UserGesture: &on,
	})
	if err != nil {
		return nil, err
	}
	if e := answer.ExceptionDetails; e != nil {
		if e.Exception != nil && e.Exception.Description != "" {
			return nil, errors.New(e.Exception.Description)
		}
		return nil, errors.New(e.Text)
	}
	return answer.Result.Value, nil
}

// scrollScript scrolls one screen at a time and gives the page two frames for each, so that
// lazy content loads. It stops after two hundred screens if the page keeps growing.
const scrollScript = `async (distance) => {
	const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
	for (let screen = 0; screen < 200 && distance !== 0; screen++) {
		const before = scrollY;
		const step = Math.min(innerHeight, distance ?? innerHeight);
		scrollBy({top: step, behavior: "instant"});
		if (distance !== null) distance -= step;
		await frame();
		await frame();
		if (scrollY <= before) break;
	}
}`

// clickScript clicks on an element and returns whether there was one.
const clickScript = `(selector) => {
	const find = (root) => {
		const found = root.querySelector(selector);
		if (found) return found;
		for (const element of root.querySelectorAll("*")) {
			const inner = element.shadowRoot ?? element.contentDocument;
			const found = inner && find(inner);
			if (found) return found;
		}
		return null;
	};
	const element = find(document);
	if (!element) return false;
	element.scrollIntoView({block: "center", behavior: "instant"});
	element.click();
	return true;
}`
