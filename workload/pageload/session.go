package pageload

import (
	"context"

	"wiretime/capture"
)

// Session is what a loader makes ready for one load. It is cold until its first page.
type Session interface {
	// Load navigates to the URL and returns when the page and all its
	// resources are there. What it has seen so far is returned even if it
	// fails. Each call is one page, and one page in the HAR it returns.
	Load(ctx context.Context, url string) (*capture.HAR, capture.Timing, error)
	// Close lets go of the page, its caches and its connections.
	Close() error
}

// Revisitor is a Session that can come back to a site.
type Revisitor interface {
	// Forget is called between the earlier visit and the measured one, with what
	// is to be kept. If connections are not among that, the server has closed them.
	Forget(ctx context.Context, keep capture.Warm) error
}

// Together is a Session that can load several pages at once, each in a tab of its own.
type Together interface {
	// LoadTogether is Session.Load for pages that are opened at the same moment. The
	// HAR has one page for each, in the order of the URLs, with IDs page_1,
	// page_2 and so on; the timing is that of the page that was last, by each of
	// its figures.
	LoadTogether(ctx context.Context, urls []string) (*capture.HAR, capture.Timing, error)
}

// Framed is a Session that may write down the frames of its protocol.
type Framed interface {
	// FrameLog is the log so far, as qlog's JSON-SEQ; nil if there is none.
	FrameLog() []byte
}

// Keyed is a Session that knows the TLS secrets of its connections. They are for loads from
// servers that do not tell theirs.
type Keyed interface {
	// KeyLog is the secrets so far, in NSS key log format.
	KeyLog() ([]byte, error)
}

// Apart is a Session whose loader is a process of its own.
type Apart interface {
	// Process is its number. The process's descendants take part in the load.
	Process() int
}
