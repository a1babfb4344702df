// Package reader reads pages in Chromium as a person does: it opens addresses, presses what has a name, waits until something is
// there, saves files and takes pictures. The tests of wiretime ui and the pictures of its documentation are made with it.
package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/chromium"
)

// patience is how long a page may take to show what is waited for: longer than any machine needs.
const patience = 90 * time.Second

// Reader is a browser with one tab.
type Reader struct {
	browser *chromium.Browser
	tab     *chromium.Tab
	saved   chan string // the path of each file that was saved

	mu     sync.Mutex
	faults []string
}

// Open starts the browser binary with its profile in folder. What pages save is written to folder/saved.
func Open(ctx context.Context, binary, folder string) (*Reader, error) {
	b, err := chromium.Launch(ctx, chromium.Options{Binary: binary, Folder: filepath.Join(folder, "profile"), Enter: func(*exec.Cmd) {}})
	if err != nil {
		return nil, err
	}
	r := &Reader{browser: b, saved: make(chan string, 16)}
	if err := r.open(ctx, filepath.Join(folder, "saved")); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context, saved string) (err error) {
	if r.tab, err = r.browser.OpenTab(ctx, r.hear); err != nil {
		return err
	}
	on := true
	if _, err := chromium.Call(ctx, r.tab, "", cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: saved, EventsEnabled: &on,
	}); err != nil {
		return fmt.Errorf("let pages save files: %w", err)
	}
	if _, err := call(ctx, r, page.Enable, page.EnableParams{}); err != nil {
		return err
	}
	if _, err := call(ctx, r, cdpruntime.Enable, cdp.Empty{}); err != nil {
		return err
	}
	_, err = call(ctx, r, log.Enable, cdp.Empty{})
	return err
}

// Close ends the browser.
func (r *Reader) Close() error { return r.browser.Close() }

func call[P, R any](ctx context.Context, r *Reader, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	return chromium.Call(ctx, r.tab, r.tab.Page(), command, params)
}

// hear notes what goes wrong in pages, and what they save.
func (r *Reader) hear(_ *chromium.Tab, _ target.SessionID, event any, _ int) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			r.fault(e.Entry.Text + " " + e.Entry.URL)
		}
	case *cdpruntime.EventExceptionThrown:
		r.fault(words(e.ExceptionDetails))
	case *cdpbrowser.EventDownloadProgress:
		if e.State == cdpbrowser.DownloadProgressStateCompleted {
			r.saved <- e.FilePath
		}
	}
}

func (r *Reader) fault(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, text)
}

// Faults returns what went wrong in pages since it was called last: exceptions of scripts, failed requests, and what the
// pages' policy forbade.
func (r *Reader) Faults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.faults
	r.faults = nil
	return all
}

func words(e *cdpruntime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

// Open shows an address. If it differs from the one that is shown only behind its #, the page is not loaded again.
func (r *Reader) Open(ctx context.Context, address string) error {
	answer, err := call(ctx, r, page.Navigate, page.NavigateParams{URL: address})
	if err == nil && answer.ErrorText != "" {
		err = errors.New(answer.ErrorText)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", address, err)
	}
	return nil
}

// Eval evaluates an expression of JavaScript in the page. If it is a promise, Eval waits for it. The value goes to result as by
// json.Unmarshal, unless that is nil.
func (r *Reader) Eval(ctx context.Context, expression string, result any) error {
	on := true
	answer, err := call(ctx, r, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: expression, AwaitPromise: &on, ReturnByValue: &on, UserGesture: &on})
	if err == nil && answer.ExceptionDetails != nil {
		err = errors.New(words(answer.ExceptionDetails))
	}
	if err == nil && result != nil {
		err = json.Unmarshal(answer.Result.Value, result)
	}
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", expression, err)
	}
	return nil
}

// Until waits until an expression is true in the page, which is looked at whenever the browser draws a frame.
func (r *Reader) Until(ctx context.Context, expression string) error {
	if err := r.Eval(ctx, `new Promise((done) => { const look = () => { if (document.body !== null && (`+expression+`)) done(true); else requestAnimationFrame(look); }; look(); })`, nil); err != nil {
		var shown string
		_ = r.Eval(ctx, `location.hash + "\n" + document.body.innerText.slice(0, 2000)`, &shown) // the first error counts
		return fmt.Errorf("wait until %s: %w; the page shows %s", expression, err, shown)
	}
	return nil
}

// Press clicks the first visible link or button that has this name, once it is there.
func (r *Reader) Press(ctx context.Context, name string) error {
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	find := `[...document.querySelectorAll("a, button, summary")].find((e) => (e.getAttribute("aria-label") ?? e.textContent).trim() === ` + string(quoted) + ` && !e.disabled && e.checkVisibility())`
	if err := r.Until(ctx, find+" !== undefined"); err != nil {
		return fmt.Errorf("press %q: %w", name, err)
	}
	return r.Eval(ctx, find+".click()", nil)
}

// Saved waits for the next file that a page saves, and returns its path.
func (r *Reader) Saved(ctx context.Context) (string, error) {
	select {
	case path := <-r.saved:
		return path, nil
	case <-r.tab.Ended():
		return "", r.tab.Cause()
	case <-time.After(patience):
		return "", fmt.Errorf("save a file: none was saved within %v", patience)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
