// Package page models what a browser's main thread does with a page: which
// resources it requests, when, in which order and with which priority, and when
// DOMContentLoaded and load fire. It follows the HTML Standard, and Chromium
// (130 and later) where the standard leaves it to the browser.
//
// It is pure: bytes and moments go in, requests and moments come out. It has no
// clock, no network and no goroutine of its own. Moments are relative to the
// page's navigationStart and must never decrease.
//
// It leaves out, or simplifies, the following:
//
//   - Scripts do not run. Their requests come from a recording; their other effects on
//     the tree or the styles are lost, and so is document.write().
//   - There is no layout. The position of an element is estimated from the text and the
//     sized images before it, for lazy loading and the priority of visible images.
//     Container queries are assumed to be true.
//   - The tree is built without the adoption agency and foster parenting.
//   - Selectors are those of package cascadia; others match nothing. Elements are styled
//     once, and again when the sheets change, but not when siblings do. There are no
//     shadow trees.
//   - @supports knows properties only by their prefixes. Local fonts are assumed to be
//     missing, and so are families without a face, except generic ones.
//   - Frames share one main thread. No URL is requested twice, so a second frame with the
//     same URL stays empty. Media are not requested in ranges.
//   - Limits on work (nesting, matching, imports) cut off what only hostile pages contain.
package page

import (
	"time"
)

// Config describes a page to load and its window.
type Config struct {
	URL        string
	Width      int     // of the viewport, CSS pixels; 0: 1280
	Height     int     // 0: 800
	PixelRatio float64 // device pixels per CSS pixel; 0: 1
	Recorded   []Recorded
	CPU        CPU
}

// Recorded is a resource that was requested, when the page was recorded, by a
// script or by anything else that the parser cannot see. If the page finds the
// resource itself, the record is ignored.
type Recorded struct {
	URL string
	// Method is the request's method; empty means GET.
	Method string
	// Initiator is the URL of a script, a stylesheet or a document of the page.
	// A URL that the page never requests means the page's own document.
	Initiator string
	// Line, counted from 1, identifies an inline script of the document. A line
	// outside of all scripts means the whole document.
	Line int
	Kind Kind // Document stands for Frame
	// Delay counts from when the initiator has run, or has been parsed.
	Delay time.Duration
	// BeforeLoad says that the load event waits until the resource has been
	// requested. Without BeforeLoad and AfterLoad it is requested when that event
	// fires, at the latest.
	BeforeLoad bool
	// AfterLoad says that Delay counts from the load event of the initiator's document,
	// if that is later.
	AfterLoad bool
}

// CPU models how long its tasks keep the main thread busy. The zero value takes
// no time.
type CPU struct {
	ParsePerKB, StylePerKB, ScriptPerKB time.Duration            // 1 KB: 1000 octets
	Scripts                             map[string]time.Duration // by URL, instead of the rate
	Scale                               float64                  // multiplies all of them; 0: 1
}

// Request is a resource that the page requests.
type Request struct {
	ID        int // counted from 0 in order of the requests; the document has 0
	URL       string
	Method    string // empty: GET
	Kind      Kind
	Priority  Priority
	Initiator Initiator
	// Incremental is RFC 9218's parameter: the page can use the resource piece
	// by piece (ShouldLoadIncremental in resource_request_utils.cc).
	Incremental bool
}

// Initiator says why a resource is requested, like CDP's Network.Initiator.
type Initiator struct {
	Type string // "parser", "script", "preload" or "other"
	URL  string
	Line int // counted from 1, as in Chromium; 0: none
}

// Change is a new priority for a request.
type Change struct {
	ID       int
	Priority Priority
	// Silent changes are reported by Chromium to its network stack but not over
	// CDP (Resource::DidChangePriority): the parser has reached what the
	// preload scanner requested. A HAR keeps showing the previous priority.
	Silent bool
}

// Head is the head of a response.
type Head struct {
	Status      int
	URL         string   // after redirects; empty: as requested
	ContentType string   // the field's value
	Links       []string // values of Link fields (RFC 8288)
}
