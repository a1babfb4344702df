package pageload

import (
	"context"

	"wiretime/capture"
)

// Session is what a loader makes ready for one load. It is cold until its first page.
type Session interface {
	// Load navigates to the URL and returns when the page and all its
	// resources have arrived. If it fails, it returns what it has seen so far.
	// Each call is one page, and its HAR has one page.
	Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error)
	// Close closes the page, its caches and its connections.
	Close() error
}

// Revisitor is a Session that can come back to a site.
type Revisitor interface {
	// Forget is called between the earlier visit and the measured one. It drops all
	// but what keep says. Connections that are not kept have been closed by the server.
	Forget(ctx context.Context, keep capture.Warm) error
}

// Together is a Session that can load several pages at once, each in its own tab.
type Together interface {
	// LoadTogether is Session.Load for pages that are opened at the same moment. The
	// HAR has one page for each, in the order of the URLs, with IDs page_1,
	// page_2 and so on; each figure of the timing is that of the page which reached it
	// last.
	LoadTogether(ctx context.Context, urls []string) (*capture.HAR, capture.Timing, error)
}

// Actor is a Session that can carry out steps on the page that it has loaded.
type Actor interface {
	// Click clicks on the first element that the selector finds, and Scroll scrolls down by so many CSS pixels, or to the
	// page's end if they are 0. The step has that number in the site's journey, from 1. Both return when all that
	// it causes has arrived. Their HAR has one page, which begins with the step and has its words as its title, or is
	// that which the step leads to; none if the step caused no request. Figures that the step does not have are 0.
	Click(ctx context.Context, number int, selector string) (*capture.HAR, capture.Timing, error)
	Scroll(ctx context.Context, number, pixels int) (*capture.HAR, capture.Timing, error)
}

// Framed is a Session that may write down the frames of its protocol.
type Framed interface {
	// FrameLog returns the log so far, as qlog's JSON-SEQ, or nil for a session without one.
	FrameLog() []byte
}

// Keyed is a Session that knows the TLS secrets of its connections. They are used in loads
// from servers that do not tell theirs.
type Keyed interface {
	// KeyLog returns the secrets so far, in NSS key log format.
	KeyLog() ([]byte, error)
}

// Apart is a Session whose loader is another process.
type Apart interface {
	// Process returns its ID. The process's descendants take part in the load, too.
	Process() int
}
