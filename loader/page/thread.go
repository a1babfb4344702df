package page

import "time"

// Page is one page being loaded. Its methods must not be called from several
// goroutines at once.
type Page struct {
	config Config
}

// New makes a page that has asked for nothing yet.
func New(c Config) *Page { return &Page{config: c} }

// Begin asks for the document.
func (p *Page) Begin(now time.Duration) {}

// Respond takes the head of a request's final response.
func (p *Page) Respond(now time.Duration, id int, h Head) {}

// Hint takes the Link fields of an early response to the request (103 Early
// Hints, RFC 8297), or what stands for them.
func (p *Page) Hint(now time.Duration, id int, links []string) {}

// Data takes content of a response, its content coding undone. The page keeps
// nothing of b.
func (p *Page) Data(now time.Duration, id int, b []byte) {}

// Finish ends a request: its content is complete, or will stay as it is
// because of err.
func (p *Page) Finish(now time.Duration, id int, err error) {}

// Advance says that it is now; whatever was to happen by itself until then
// happens.
func (p *Page) Advance(now time.Duration) {}

// Next is when something happens by itself, if nothing is answered before.
func (p *Page) Next() (at time.Duration, ok bool) { return 0, false }

// Requests are those made since the last call, in the order in which they are
// to be sent. No URL is asked for twice, and only http and https ones are.
func (p *Page) Requests() []Request { return nil }

// Changes are the priorities that changed since the last call.
func (p *Page) Changes() []Change { return nil }

// DCL is when the DOMContentLoaded event fired, if it has.
func (p *Page) DCL() (time.Duration, bool) { return 0, false }

// Load is when the load event fired, if it has.
func (p *Page) Load() (time.Duration, bool) { return 0, false }

// HeadDone says whether the page's body has begun, which is when Chromium stops
// holding back requests that are not urgent: the scripts of its head have run.
func (p *Page) HeadDone() bool { return false }

// Close ends a page that may not have been loaded to its end. It must be called
// once for each page; the page must not be used afterwards.
func (p *Page) Close() {}
