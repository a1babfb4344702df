// Package page is what a browser's main thread makes of a page: which
// resources it asks for, when, in which order and with which priority, and when
// DOMContentLoaded and load fire. It follows the HTML Standard, and Chromium
// (130 and later) where the standard leaves it to the browser.
//
// It is pure: bytes and moments go in, requests and moments come out. It has no
// clock, no network and no goroutine of its own. Moments are since the page's
// navigationStart and must never go back.
//
// What it leaves out, or does more simply than a browser:
//
//   - Scripts do not run. What they ask for comes from a recording; what else
//     they do to the tree or the styles does not happen, nor document.write().
//   - There is no layout. How far down an element is, is estimated from the text
//     and the sized images before it; lazy loading and the priority of visible
//     images go by that. Container queries are taken to hold.
//   - The tree is built without the adoption agency and foster parenting.
//   - Selectors are those of package cascadia; others match nothing. Elements
//     are styled once, and again when the sheets change, not when siblings do.
//     Shadow trees are not built.
//   - @supports knows properties by their prefixes only. Local fonts are taken
//     not to exist, and families without a face too, save generic ones.
//   - Frames share one main thread. The same URL is never asked for twice, so the
//     second frame of one stays empty. Media are not asked for in ranges.
//   - Bounds on work (nesting, matching, imports) cut off what only hostile
//     pages have.
package page

import (
	"time"
)

// Config is a page to load, and the window it is loaded in.
type Config struct {
	URL        string
	Width      int     // of the viewport, CSS pixels; 0: 1280
	Height     int     // 0: 800
	PixelRatio float64 // device pixels per CSS pixel; 0: 1
	Recorded   []Recorded
	CPU        CPU
}

// Recorded is a resource that scripts, or anything else the parser cannot see,
// asked for when the page was recorded. If the page finds it by itself, that
// counts and the record does not.
type Recorded struct {
	URL string
	// Method is the request's; empty: GET.
	Method string
	// Initiator is the URL of a script, a stylesheet or a document of the page.
	// One that the page never asks for stands for the page's own document.
	Initiator string
	// Line, counted from 1, says which inline script of the document it was. One
	// that is in none stands for the whole document.
	Line int
	Kind Kind // Document stands for Frame
	// Delay is from when the initiator has run, or has been parsed.
	Delay time.Duration
	// BeforeLoad says that the load event waits until it has been asked for. Without
	// BeforeLoad and AfterLoad it is asked for as that event fires, at the latest.
	BeforeLoad bool
	// AfterLoad says that Delay counts from the load event of the initiator's document,
	// if that comes later.
	AfterLoad bool
}

// CPU is a model of the main thread: how long its tasks keep it busy. The zero
// value is a thread that needs no time.
type CPU struct {
	ParsePerKB, StylePerKB, ScriptPerKB time.Duration            // 1 KB: 1000 octets
	Scripts                             map[string]time.Duration // by URL, in place of the rate
	Scale                               float64                  // multiplies all of them; 0: 1
}

// Request is a resource the page asks for.
type Request struct {
	ID        int // counted from 0 in order of asking; the document has 0
	URL       string
	Method    string // empty: GET
	Kind      Kind
	Priority  Priority
	Initiator Initiator
	// Incremental is RFC 9218's parameter: the page can use the resource
	// piece by piece (ShouldLoadIncremental in resource_request_utils.cc).
	Incremental bool
}

// Initiator says why a resource is asked for, as CDP's Network.Initiator.
type Initiator struct {
	Type string // "parser", "script", "preload" or "other"
	URL  string
	Line int // counted from 1, as Chromium's; 0: none
}

// Change is a request that has got another priority.
type Change struct {
	ID       int
	Priority Priority
	// Silent changes are those that Chromium tells its network but not CDP
	// (Resource::DidChangePriority): the parser has reached what the preload
	// scanner had asked for. A HAR goes on showing the priority before.
	Silent bool
}

// Head is the head of a response.
type Head struct {
	Status      int
	URL         string   // after redirects; empty: as requested
	ContentType string   // the field's value
	Links       []string // values of Link fields (RFC 8288)
}
