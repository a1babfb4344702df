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
	c := calls{used: map[string]bool{}}
	c.request(nodes)
	c.used["z"] = c.used["t"] || c.used["q"]
	var b strings.Builder
	b.WriteString("!function(d){")
	for _, h := range helpers {
		if c.used[h.name] {
			b.WriteString(h.text)
		}
	}
	return b.String() + c.String() + "}(document);"
}

// calls writes calls of helpers, and notes which ones are used. Calls that wait for others are
// inside them, so they are written in one pass.
type calls struct {
	strings.Builder
	used map[string]bool
}

// request writes the calls that request nodes.
func (c *calls) request(nodes []*node) {
	for _, n := range nodes {
		wait := ""
		switch {
		case n.afterLoad:
			wait = "a"
		case n.delay < 1:
		case n.late:
			wait = "l"
		default:
			wait = "h"
		}
		if wait == "" {
			c.call(n)
			c.WriteByte(';')
			continue
		}
		c.used[wait] = true
		fmt.Fprintf(c, "%s(%.0f,function(){", wait, n.delay)
		c.call(n)
		c.WriteString("});")
	}
}

// call writes the call that requests a node.
func (c *calls) call(n *node) {
	helper, arguments, waits := n.call()
	c.used[helper] = true
	c.WriteString(helper + "(" + arguments)
	if waits {
		c.then(n)
	}
	c.WriteByte(')')
}

// then writes, as the last argument of a call, what to do after a node arrives that runs no
// script itself.
func (c *calls) then(n *node) {
	var next []*node
	for _, child := range n.children {
		if !child.visible {
			next = append(next, child)
		}
	}
	if len(next) == 0 {
		return
	}
	c.WriteString(",function(){")
	c.request(next)
	c.WriteByte('}')
}

// call returns the helper that requests a node, its arguments, and whether it may also have a
// callback.
func (n *node) call() (helper, arguments string, waits bool) {
	url := quoteJS(n.url)
	if n.method == http.MethodGet {
		switch n.kind {
		case image:
			return "i", url, false
		case script:
			return "s", url, false
		case stylesheet:
			return "c", url, true
		case document:
			return "f", url, false
		case font:
			return "t", quoteJS(quoteCSS(n.url)), true
		}
	}
	sent := max(0, n.Sent)
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, n.method) {
		sent = 0 // https://fetch.spec.whatwg.org/#dom-request
	}
	switch {
	case n.beacon():
		return "b", fmt.Sprintf("%s,%d", url, sent), false
	case n.kind == xhr && n.open():
		return "x", fmt.Sprintf("%s,%q,%d", url, n.method, sent), true
	}
	mode := "cors"
	if !n.open() {
		mode = "no-cors"
	}
	return "q", fmt.Sprintf("%s,%q,%d,%q", url, n.method, sent, mode), true
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
