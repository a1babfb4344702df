package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	cdpruntime "github.com/chromedp/cdproto/runtime"

	"wiretime/loader/chromium"
)

// run performs the steps in order. If the context ends, the error names the step that was
// running and the cause.
func (r *recorder) run(ctx context.Context, s *Script) error {
	if s == nil {
		return nil
	}
	for _, at := range s.steps {
		r.progress("line %d: %s %s", at.line, at.do, at.argument)
		if err := r.do(ctx, at); err != nil {
			return s.fault(at, "%s: %w", at.do, err)
		}
	}
	return nil
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
		return r.click(ctx, at.argument, at.do == click)
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

func (r *recorder) click(ctx context.Context, selector string, needed bool) error {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	found, err := r.evaluate(ctx, "("+clickScript+")("+string(quoted)+")")
	if err != nil {
		return fmt.Errorf("%s: %w", selector, err)
	}
	if needed && string(found) != "true" {
		return fmt.Errorf("no element matches %s: correct the selector, wait for the element first, or write click? if it may be missing", selector)
	}
	return nil
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
