package recording

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// jsStub makes a script that requests its children.
func (m *maker) jsStub(n *node) *skeleton {
	return &skeleton{pieces: []string{scriptText(n.children), ""}, open: "/*", close: "*/", pad: "\n"}
}

// helpers holds the functions of stubs by name; the first ones request a URL. fetch reads
// the body, since browsers wait with the end of a body until somebody reads it. A last
// argument is the callback for the response.
var helpers = []struct{ name, text string }{
	{"i", `function i(u){new Image().src=u}`},
	{"s", `function s(u){var e=d.createElement("script");e.src=u;d.head.appendChild(e)}`},
	{"c", `function c(u,g){var e=d.createElement("link");e.rel="stylesheet";e.href=u;e.onload=g;d.head.appendChild(e)}`},
	{"f", `function f(u){var e=d.createElement("iframe");e.style.cssText="` + frameStyle + `";e.src=u;d.documentElement.appendChild(e)}`},
	{"t", `function t(u,g){new FontFace("w","url("+u+")").load().then(g,g).catch(z)}`},
	{"q", `function q(u,m,n,o,g){fetch(u,{method:m,mode:o,body:n?"x".repeat(n):void 0}).then(function(r){return r.blob()}).then(g).catch(z)}`},
	{"x", `function x(u,m,n,g){var r=new XMLHttpRequest;r.open(m,u);r.onload=g;r.send(n?"x".repeat(n):null)}`},
	{"b", `function b(u,n){navigator.sendBeacon(u,"x".repeat(n))}`},
	{"z", `function z(){}`},
	// h runs g after a time and delays the load event until then: a document that is being
	// written delays the load event of its parent
	// (https://html.spec.whatwg.org/#delay-the-load-event).
	{"h", `function h(t,g){var e=d.createElement("iframe"),p;e.style.display="none";d.documentElement.appendChild(e);p=e.contentDocument;p.open();setTimeout(function(){try{g()}finally{p.close();e.remove()}},t)}`},
	// l runs g after a time, but no later than the load event.
	{"l", `function l(t,g){var o;function k(){o||g();o=1}d.readyState=="complete"?k():(addEventListener("load",k),setTimeout(k,t))}`},
	// a runs g after a time that counts from the load event.
	{"a", `function a(t,g){function k(){setTimeout(g,t)}d.readyState=="complete"?k():addEventListener("load",k)}`},
}

// scriptText returns JavaScript that requests nodes.
func scriptText(nodes []*node) string {
	if len(nodes) == 0 {
		return ""
	}
	used := map[string]bool{}
	calls := callsFor(nodes, used)
	used["z"] = used["t"] || used["q"]
	var b strings.Builder
	b.WriteString("!function(d){")
	for _, h := range helpers {
		if used[h.name] {
			b.WriteString(h.text)
		}
	}
	return b.String() + calls + "}(document);"
}

// callsFor returns the helper calls that request nodes and marks the helpers as used.
func callsFor(nodes []*node, used map[string]bool) string {
	var calls strings.Builder
	for _, n := range nodes {
		name, call := n.call(used)
		used[name] = true
		switch {
		case n.afterLoad:
			name = "a"
		case n.delay < 1:
			calls.WriteString(call + ";")
			continue
		case n.late:
			name = "l"
		default:
			name = "h"
		}
		used[name] = true
		fmt.Fprintf(&calls, "%s(%.0f,function(){%s});", name, n.delay, call)
	}
	return calls.String()
}

// then returns, as the last argument of a call, what to do after a node arrives that runs
// no script itself.
// argument of a call.
func (n *node) then(used map[string]bool) string {
	var next []*node
	for _, c := range n.children {
		if !c.visible {
			next = append(next, c)
		}
	}
	if len(next) == 0 {
		return ""
	}
	return ",function(){" + callsFor(next, used) + "}"
}

// call returns the helper call that requests a node.
func (n *node) call(used map[string]bool) (helper, call string) {
	url := quoteJS(n.url)
	if n.method == http.MethodGet {
		switch n.kind {
		case image:
			return "i", "i(" + url + ")"
		case script:
			return "s", "s(" + url + ")"
		case stylesheet:
			return "c", "c(" + url + n.then(used) + ")"
		case document:
			return "f", "f(" + url + ")"
		case font:
			return "t", "t(" + quoteJS(quoteCSS(n.url)) + n.then(used) + ")"
		}
	}
	sent := max(0, n.Sent)
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, n.method) {
		sent = 0 // https://fetch.spec.whatwg.org/#dom-request
	}
	switch {
	case n.beacon():
		return "b", fmt.Sprintf("b(%s,%d)", url, sent)
	case n.kind == xhr && n.open():
		return "x", fmt.Sprintf("x(%s,%q,%d%s)", url, n.method, sent, n.then(used))
	}
	mode := "cors"
	if !n.open() {
		mode = "no-cors"
	}
	return "q", fmt.Sprintf("q(%s,%q,%d,%q%s)", url, n.method, sent, mode, n.then(used))
}

// open reports whether all responses to a request allow other origins to read them. Made
// responses do; recorded ones may not.
func (n *node) open() bool {
	for n.redirects && n.made {
		n = n.to
	}
	return n.made
}

// beacon reports whether a request outlives its page.
func (n *node) beacon() bool {
	return n.kind == ping && n.method == http.MethodPost && n.Sent <= maxBeacon
}

// maxBeacon limits such a request's body in octets, so that four can be pending: browsers
// reject beyond 64 KiB per page
// (https://fetch.spec.whatwg.org/#http-network-or-cache-fetch).
const maxBeacon = 16_000
