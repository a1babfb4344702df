// Package recording is the common ground of importers and the recorder: it holds exchanges
// as other tools wrote them, and makes a site of them.
//
// [Recording.Site] goes through the recording in steps, each in a file of its own: what can
// be served at all and under which URL (select.go, address.go), where redirects lead
// (redirects.go), which fields are kept (fields.go), the kind of each request (kind.go),
// its initiator (initiators.go), and the bodies: recorded ones (bodies.go) and made ones
// (made.go). Every deviation from the recording is reported as a [Repair].
//
// # Made bodies
//
// Many recordings have no bodies. Then bodies are made with the recorded size, type and
// compressibility. Made documents, style sheets and scripts are stubs that make exactly the
// recorded requests, in the recorded order:
//
//   - what has no known initiator stands in the page's document, as markup;
//   - what a document's parser asked for is markup, in the recorded order;
//   - what a script asked for is asked for by the stub of that script, or by that of the last
//     thing that it had waited for, as long after this has come as it was recorded (waits.go).
//     The load event waits for what came before it in the recording, if it is of a kind for
//     which load events wait. What is of another kind and came before is asked for as that
//     event fires if its time has not come by then. What came after the event is asked for
//     as long after it;
//   - images and fonts of a style sheet are used by an element that is in the document for
//     this purpose.
//
// A stub is longer than the recorded body if its requests need more room. Each URL is
// requested once, and stubs do not depend on chance: two loads request the same URLs.
package recording

import (
	"time"

	"wiretime/site"
)

// Recording is a recorded page load.
type Recording struct {
	Title  string
	Source string // the program and file it comes from
	Page   string // the URL that was navigated to; empty: that of the first document
	// Began is when the page was recorded; zero if that is unknown.
	Began time.Time
	// Loaded is when the page's load event fired, in ms since the first exchange; 0 if that is
	// unknown.
	Loaded float64
	// Busy is when the pages' processes were at work, as [Unite] returns it; empty if that is
	// unknown.
	Busy []Span
	// Steps are what was done on the page, in order; usually nothing.
	Steps []Step
	// Exchanges are in the order in which they began.
	Exchanges []Exchange
	// Repairs says what the importer did in order to read the recording.
	Repairs []Repair
}

// Exchange is a recorded request and its response. Times are in ms, sizes in octets; -1
// means unknown.
type Exchange struct {
	Where  string // names the record in messages: "entry 12", "save.4Jx2"
	Method string
	URL    string // absolute, http, https or anything else that a page may hold
	Sent   int64  // octets of the request's body; 0 or less: none, or unknown
	Status int    // 0: there was no response
	Header []site.Header

	// Body is the content. HasBody distinguishes an empty body from one that was not recorded.
	// If Encoded is set, Body still has the content coding that Header names.
	Body    []byte
	HasBody bool
	Encoded bool

	MIME     string  // the response's media type, if it is stated outside the header
	Size     int64   // of the content without its coding
	Transfer int64   // of the content as it crossed the wire
	Started  float64 // since the recording's first exchange
	Took     float64 // until the response's last octet
	DNS      float64
	Connect  float64 // of TCP alone, without TLS
	Wait     float64 // from the last octet of the request to the first of the response
	CPU      float64 // run time of a script; 0 or less: unknown
	Address  string  // of the server, without port

	Initiator     string // URL of the initiator; empty if unknown
	InitiatorType string // "parser", "script", "preload", "other"; empty if unknown
	InitiatorLine int    // line in the initiator, from 1, if it is a script; 0 if unknown
	Kind          string // "document", "stylesheet", "script", "image", "font", "fetch", "xhr" and so on, in lower case; empty: derived from the media type
	Priority      string // as the browser called it
}

// Repair reports something wrong in a recording and what was done about it.
type Repair struct {
	Where string // names the record; empty for the whole file
	What  string // a sentence
	// LeftOut is how many of the exchanges concerned are not in the site.
	LeftOut int
}
