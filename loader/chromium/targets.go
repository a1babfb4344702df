package chromium

import (
	"context"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A page is more than one target: frames of other sites, which Chromium keeps in
// separate processes (the headless shell keeps all in one, except those that request
// isolation), workers, worklets and their own workers in turn. Each is attached to
// before it has done anything, and continues when its session is set up.

func yes() *bool { b := true; return &b }

// family makes a target attach its frames and workers.
var family = target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: yes()}

// sharedWorkers makes the browser attach shared workers, which belong to no
// page.
var sharedWorkers = target.SetAutoAttachParams{
	AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: yes(),
	Filter: target.Filter{{Type: sharedWorker}, {Exclude: true}},
}

// Types of targets.
const (
	frame         = "iframe"
	sharedWorker  = "shared_worker"  // outlives the page that first needed it,
	serviceWorker = "service_worker" // likewise
)

// observe handles events that concern the browser as a whole.
func (b *Browser) observe(whole session, event any, octets int) {
	e, ok := event.(*target.EventAttachedToTarget)
	if !ok || e.TargetInfo.Type != sharedWorker {
		return
	}
	b.watching.Lock()
	v := b.visits[e.TargetInfo.BrowserContextID]
	b.watching.Unlock()
	if v != nil {
		v.observe(whole, e, octets)
		return
	}
	post(session{whole.connection, e.SessionID}, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
}

// openTab creates a BrowserContext with a tab.
func (v *Visit) openTab(ctx context.Context) error {
	b := v.browser
	whole := session{connection: b.pipe}
	made, err := call(ctx, whole, target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: yes()})
	if err != nil {
		return err
	}
	v.context = made.BrowserContextID
	if b.options.Contained { // guests have the headless shell, which downloads nothing by itself
		denyDownloads(whole, v.context)
	}
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

// denyDownloads keeps the pages of a context from downloading files.
func denyDownloads(whole session, id cdp.BrowserContextID) {
	post(whole, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id})
}

// asyncDepth is how many asynchronous steps a script is still recognised after. For
// example, the source of an image that a script sets is requested later.
const asyncDepth = 32

// watchScripts makes a target report which script made a request. Debugger statements do
// not stop the scripts.
func watchScripts(s session) {
	post(s, debugger.Enable, debugger.EnableParams{})
	post(s, debugger.SetAsyncCallStackDepth, debugger.SetAsyncCallStackDepthParams{MaxDepth: asyncDepth})
	post(s, debugger.SetSkipAllPauses, debugger.SetSkipAllPausesParams{Skip: true})
}

// adopt listens to a target that has joined the page, and lets it continue.
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
		// The first is for a frame's documents, the other for a worker's script. A target
		// that is heard in two sessions may already be running.
		post(child, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: v.frozen})
		if e.TargetInfo.Type != frame && e.WaitingForDebugger {
			post(child, cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: v.frozen})
		}
	}
	post(child, cdpruntime.RunIfWaitingForDebugger, cdp.Empty{})
}

// disown cleans up after a target that has gone, or no longer belongs to the
// page.
func (v *Visit) disown(id target.SessionID) {
	delete(v.targets, id)
	v.browser.pipe.hear(id, nil)
}

// closeTab closes the tab and disposes of its BrowserContext. A browser that fails to
// do so is killed.
func (v *Visit) closeTab() {
	b := v.browser
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	defer b.process.Guard(ctx)()
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
	whole := session{connection: b.pipe}
	if _, err := call(ctx, whole, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: v.context}); err != nil {
		b.process.Kill()
	}
}
