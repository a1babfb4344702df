package chromium

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A page is more than one target: frames of other sites that Chromium keeps in processes
// of their own (the headless shell keeps all in one, but for what asks to be alone),
// workers, worklets and their own workers in turn. Each is attached to before it has
// done anything, and goes on when its session listens.

func yes() *bool { b := true; return &b }

// family is what a target is asked for, so that its frames and workers are attached to.
var family = target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: yes()}

// sharedWorkers is what the browser is asked for: they belong to no page.
var sharedWorkers = target.SetAutoAttachParams{
	AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: yes(),
	Filter: target.Filter{{Type: sharedWorker}, {Exclude: true}},
}

// Types of targets.
const (
	frame         = "iframe"
	sharedWorker  = "shared_worker"  // outlives the page that it was first needed for,
	serviceWorker = "service_worker" // and so does this
)

// observe is told of what concerns the browser as a whole.
func (b *Browser) observe(whole session, event any) {
	e, ok := event.(*target.EventAttachedToTarget)
	if !ok || e.TargetInfo.Type != sharedWorker {
		return
	}
	b.watching.Lock()
	v := b.visits[e.TargetInfo.BrowserContextID]
	b.watching.Unlock()
	if v != nil {
		v.observe(whole, e)
		return
	}
	post(session{whole.connection, e.SessionID}, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
}

// openTab makes a BrowserContext with a tab.
func (v *Visit) openTab(ctx context.Context) error {
	b := v.browser
	whole := session{connection: b.pipe}
	made, err := call(ctx, whole, target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: yes()})
	if err != nil {
		return err
	}
	v.context = made.BrowserContextID
	b.watching.Lock()
	b.visits[v.context] = v
	b.watching.Unlock()
	tab, err := call(ctx, whole, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: v.context, NewWindow: yes()})
	if err != nil {
		return err
	}
	attached, err := call(ctx, whole, target.AttachToTarget, target.AttachToTargetParams{TargetID: tab.TargetID, Flatten: yes()})
	if err != nil {
		return err
	}
	v.page = session{b.pipe, attached.SessionID}
	b.pipe.hear(v.page.id, v.observe)
	if _, err := call(ctx, v.page, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := call(ctx, v.page, page.Enable, page.EnableParams{}); err != nil {
		return err
	}
	if _, err := call(ctx, v.page, inspector.Enable, cdp.Empty{}); err != nil {
		return err
	}
	if b.options.Stacks {
		watchScripts(v.page)
	}
	if v.frozen != "" {
		if _, err := call(ctx, v.page, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: v.frozen}); err != nil {
			return err
		}
	}
	_, err = call(ctx, v.page, target.SetAutoAttach, family)
	return err
}

// asyncDepth is how many times a script may have been waited for before what it began is
// no longer seen as its own. The source of an image that a script sets is asked for later.
const asyncDepth = 32

// watchScripts has a target say which script a request comes from. Scripts that ask for a
// debugger go on without.
func watchScripts(s session) {
	post(s, debugger.Enable, debugger.EnableParams{})
	post(s, debugger.SetAsyncCallStackDepth, debugger.SetAsyncCallStackDepthParams{MaxDepth: asyncDepth})
	post(s, debugger.SetSkipAllPauses, debugger.SetSkipAllPausesParams{Skip: true})
}

// adopt listens to a target that has become one of the page's, and lets it go on.
func (v *Visit) adopt(e *target.EventAttachedToTarget) {
	child := session{v.page.connection, e.SessionID}
	v.targets[child.id] = e.TargetInfo
	v.browser.pipe.hear(child.id, v.observe)
	post(child, network.Enable, network.EnableParams{})
	post(child, page.Enable, page.EnableParams{})
	post(child, inspector.Enable, cdp.Empty{})
	post(child, target.SetAutoAttach, family)
	if v.browser.options.Stacks {
		watchScripts(child)
	}
	if v.frozen != "" {
		// The first is for a frame's documents, the other for a worker's script. One that is
		// heard in two sessions may have begun.
		post(child, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: v.frozen})
		if e.TargetInfo.Type != frame && e.WaitingForDebugger {
			post(child, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: v.frozen})
		}
	}
	post(child, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
}

// disown is what follows when a target has gone, or is no longer the page's.
func (v *Visit) disown(id target.SessionID) {
	delete(v.targets, id)
	v.browser.pipe.hear(id, nil)
}

// closeTab closes the tab and disposes of its BrowserContext. A browser that cannot is
// ended.
func (v *Visit) closeTab() {
	b := v.browser
	b.watching.Lock()
	delete(b.visits, v.context)
	b.watching.Unlock()
	v.mu.Lock()
	for id := range v.targets {
		v.disown(id)
	}
	v.mu.Unlock()
	b.pipe.hear(v.page.id, nil)
	if v.context == "" || !b.Alive() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	whole := session{connection: b.pipe}
	if _, err := call(ctx, whole, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: v.context}); err != nil {
		b.kill()
	}
}
