package record

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/chromium"
)

// These are a target's buffers for response bodies in octets: in total, and for one body.
const (
	bodiesBuffer = 512 << 20
	bodyBuffer   = 256 << 20
)

// largestMessage is the largest body, in base64, and what is around it.
const largestMessage = bodyBuffer/3*4 + 1<<20

// stackDepth is how many asynchronous calls back the browser looks for an initiator.
const stackDepth = 16

// enable makes a target report its requests and attach its frames and workers before they
// run. A target ignores commands that it does not support.
func enable(t *chromium.Tab, id target.SessionID) {
	on, all, one := true, int64(bodiesBuffer), int64(bodyBuffer)
	chromium.Post(t, id, network.Enable, network.EnableParams{MaxTotalBufferSize: &all, MaxResourceBufferSize: &one})
	// Durable messages live outside the page's process: bodies outlive the page, and images
	// that the page cannot decode are kept.
	chromium.Post(t, id, network.ConfigureDurableMessages, network.ConfigureDurableMessagesParams{MaxTotalBufferSize: &all, MaxResourceBufferSize: &one})
	chromium.Post(t, id, inspector.Enable, cdp.Empty{})
	// Images that a script creates are requested after the script has run. Only the debugger
	// knows which script it was.
	chromium.Post(t, id, debugger.Enable, debugger.EnableParams{})
	chromium.Post(t, id, debugger.SetSkipAllPauses, debugger.SetSkipAllPausesParams{Skip: true})
	chromium.Post(t, id, debugger.SetAsyncCallStackDepth, debugger.SetAsyncCallStackDepthParams{MaxDepth: stackDepth})
	chromium.Post(t, id, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &on})
}
