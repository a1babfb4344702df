// Package recording is what importers and the recorder have in common: exchanges as
// somebody's tool wrote them down, odd as they may be, and how a site is made of them.
//
// [Recording.Site] goes through the recording in steps, each in a file of its own: what can
// be served at all and under which URL (select.go, address.go), what leads on to what
// (redirects.go), which fields are kept (fields.go), what was fetched as what (kind.go), who
// asked for it (initiators.go), and the bodies: those that were recorded (bodies.go), and
// those that must be made (made.go). Whatever is not as it was recorded is a [Repair].
//
// # Made bodies
//
// A recording often has no bodies. Then they are made: of the recorded size and type, and
// as compressible as the recorded sizes say. Made documents, style sheets and scripts are
// stubs: they ask for exactly what the recording says that the recorded ones asked for, in
// that order, as a browser would have been made to:
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
// A stub that needs more octets than the recorded body had is longer. The same URL is asked
// for once, and nothing in a stub depends on chance: two loads ask for the same URLs.
package recording

import (
	"time"

	"wiretime/site"
)

// Recording is a page load, as it was recorded.
type Recording struct {
	Title  string
	Source string // the program and file that it comes from
	Page   string // the URL that was navigated to; empty: that of the first document
	// Began is when it was recorded; zero if that is not known.
	Began time.Time
	// Loaded is when the page's load event fired, in ms since the first exchange; 0 if that
	// is not known.
	Loaded float64
	// Busy is when the pages' processes were at work, as [Unite] returns it; empty if
	// that is not known.
	Busy []Span
	// Exchanges in the order in which they began.
	Exchanges []Exchange
	// Repairs are what the importer did to read it.
	Repairs []Repair
}

// Exchange is one request and its response, as recorded. Times are in ms, sizes in octets;
// -1 is what is not known.
type Exchange struct {
	Where  string // names the record in messages: "entry 12", "save.4Jx2"
	Method string
	URL    string // absolute, http, https or anything else that a page may hold
	Sent   int64  // octets of the request's body; no more than 0: none, or not known
	Status int    // 0: there was no response
	Header []site.Header

	// Body is the content; HasBody tells one of no octets from one that was not recorded.
	// It still has the content coding of Header if Encoded says so.
	Body    []byte
	HasBody bool
	Encoded bool

	MIME     string  // the response's media type, if it is said beside the header
	Size     int64   // of the content without its coding
	Transfer int64   // of the content as it crossed the wire
	Started  float64 // since the recording's first exchange
	Took     float64 // until the response's last octet
	DNS      float64
	Connect  float64 // of TCP alone, without TLS
	Wait     float64 // from the last octet of the request to the first of the response
	CPU      float64 // what running it took, if it is a script; no more than 0: not known
	Address  string  // of the server, without port

	Initiator     string // URL of what asked for it; empty if that is not known
	InitiatorType string // "parser", "script", "preload", "other"; empty if that is not known
	InitiatorLine int    // of the initiator, counted from 1, if a script asked for it; 0 if that is not known
	Kind          string // "document", "stylesheet", "script", "image", "font", "fetch", "xhr" and so on, in lower case; empty: to be told from the media type
	Priority      string // as the browser called it
}

// Repair is something that was not as it should be, and what was done about it.
type Repair struct {
	Where string // names the record, or is empty: it concerns the whole file
	What  string // a sentence
	// LeftOut is how many of the exchanges that it is about are not in the site.
	LeftOut int
}
