// Package recording is what importers and the recorder have in common: exchanges as
// somebody's tool wrote them down, odd as they may be, and how a site is made of them.
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
	Address  string  // of the server, without port

	Initiator     string // URL of what asked for it; empty if that is not known
	InitiatorType string // "parser", "script", "preload", "other"; empty if that is not known
	Kind          string // "document", "stylesheet", "script", "image", "font", "fetch", "xhr" and so on, in lower case; empty: to be told from the media type
	Priority      string // as the browser called it
}

// Repair is something that was not as it should be, and what was done about it.
type Repair struct {
	Where string // names the record, or is empty: it concerns the whole file
	What  string // a sentence
}
