package record

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/chromium"
)

// Buffers of a target for the bodies of responses, in octets: of all, and of one.
const (
	bodiesBuffer = 512 << 20
	bodyBuffer   = 256 << 20
)

// stackDepth is how many calls back an initiator is looked for, where one has had another
// called later.
const stackDepth = 16

// enable has a target tell of its requests and attach its frames and workers, before they
// have done anything. Targets that know nothing of one of these do without.
func enable(t *chromium.Tab, id target.SessionID) {
	on, all, one := true, int64(bodiesBuffer), int64(bodyBuffer)
	chromium.Post(t, id, network.Enable, network.EnableParams{MaxTotalBufferSize: &all, MaxResourceBufferSize: &one})
	// Outside the page's process bodies outlive the page, and images that it cannot decode are
	// kept.
	chromium.Post(t, id, network.ConfigureDurableMessages, network.ConfigureDurableMessagesParams{MaxTotalBufferSize: &all, MaxResourceBufferSize: &one})
	chromium.Post(t, id, inspector.Enable, cdp.Empty{})
	// Images that a script makes are asked for after it has run: who did it, debuggers know.
	chromium.Post(t, id, debugger.Enable, debugger.EnableParams{})
	chromium.Post(t, id, debugger.SetSkipAllPauses, debugger.SetSkipAllPausesParams{Skip: true})
	chromium.Post(t, id, debugger.SetAsyncCallStackDepth, debugger.SetAsyncCallStackDepthParams{MaxDepth: stackDepth})
	chromium.Post(t, id, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &on})
}
