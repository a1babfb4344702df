// Package pageload loads the pages of sites on a lab.
package pageload

import (
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/page"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/study"
	"wiretime/window"
	"wiretime/workload"
)

// Names of the files that a load leaves in its folder, besides those of all workloads.
const (
	HARFile    = "load.har"     // what the loader saw and the critical paths; written by the runner
	FramesFile = "frames.sqlog" // every frame that the loader sent and received, if it wrote them down
)

// Order says what to load, how and over which path, in the words of studies.
type Order struct {
	Loader   string
	Protocol string
	// Server is what serves the site: server.Own, which empty means too, a kind of package
	// server's, or the name of Template.
	Server   string
	Template server.Template // a server of the study's own; the zero value: none
	Path     network.Path
	Seed     uint64 // of the path's loss and jitter
	// From is the path's time at which the load begins; in a session of several loads, the first one.
	From    time.Duration `json:",omitzero"`
	TCP     lab.TCPOptions
	Timeout time.Duration // of each page
	Comment string        // goes into the capture's header
	URL     string        `json:",omitempty"` // of a real page, on the live clock; empty: the site's page

	Visit    string // capture.ParseVisit's word; empty: cold
	Place    Place  `json:",omitzero"` // in a browser session
	Strategy string // how the own loaders use connections; empty: as browsers do
	// ClientWindow and ServerWindow are the flow-control windows of Wiretime's loaders and of
	// its server over the protocol: a size or a preset; empty: the stack's default.
	ClientWindow, ServerWindow string        `json:",omitempty"`
	ThinkTime                  time.Duration // between the pages of a journey: from a page's end to the next
	CPU                        page.CPU      // of the loader builtin, but for scripts that were recorded
	Fallback                   string        // "h2": what an origin is fetched over that cannot be reached over h3
	// ServerWait has each answer begin as long after its request as when the site was recorded.
	ServerWait bool
	// Freeze has scripts find the time at which the site was recorded, and the same random
	// numbers in every load. The own loaders run none.
	Freeze bool
	// TLS is the version of TLS, a value of study.AxisTLS; empty: study.TLS13.
	TLS string `json:",omitempty"`
	// Without is what the protocol does without, a value of study.AxisWithout; empty: study.WithoutNothing.
	Without string `json:",omitempty"`
	// TearDown has the client close its connections over the path, before the capture ends.
	TearDown bool `json:",omitempty"`
	// Hint is how the server announces resources, a value of study.AxisHint; empty: it does not.
	Hint string `json:",omitempty"`
}

// Terms holds the meanings of an order's words.
type Terms struct {
	Protocol protocol.Protocol
	Server   server.Kind // the zero value is Wiretime's own
	// Warm is what the client keeps of an earlier visit. Unless it is zero, that visit is
	// carried out first, over the same path.
	Warm  capture.Warm
	TLS12 bool // the server speaks TLS 1.2 instead of 1.3
	// PlainHeaders has both ends send SPDY's headers uncompressed. EqualTurns has the server give all responses an equal
	// turn: over SPDY it ignores the client's priorities; over HTTP/3 the client states none.
	PlainHeaders, EqualTurns bool
	// ClientWindow and ServerWindow are nil for the stack's default.
	ClientWindow, ServerWindow *window.Receiver
}

// Terms looks up the order's words.
func (o *Order) Terms() (t Terms, err error) {
	if t.Protocol, err = protocol.Lookup(o.Protocol); err != nil {
		return t, err
	}
	t.TLS12 = o.TLS == study.TLS12
	t.PlainHeaders, t.EqualTurns = o.Without == study.WithoutCompression, o.Without == study.WithoutPriorities
	switch o.Server {
	case "", server.Own:
	case o.Template.Name:
		t.Server = o.Template.Kind()
	default:
		if t.Server, err = server.Lookup(o.Server); err != nil {
			return t, err
		}
	}
	if o.Visit != "" {
		if t.Warm, err = capture.ParseVisit(o.Visit); err != nil {
			return t, err
		}
	}
	if t.ClientWindow, err = receiver(o.ClientWindow, o.Protocol); err != nil {
		return t, err
	}
	t.ServerWindow, err = receiver(o.ServerWindow, o.Protocol)
	return t, err
}

// Load is an order with what it needs to be carried out.
type Load struct {
	Order
	Site *site.Site // as it was recorded, or already as it is over the protocol's scheme
	// Served is the site as it is over the protocol's scheme; nil: Site.Over makes it.
	Served    *site.Site
	Authority *protocol.Authority
	Session   Session // of the loader; Run closes it
	Upload    int64   // octets that the client posts to the page's URL, where a sink reads them; 0: none
	Dir       string  // the folder, which must exist, that receives the artefacts
}

// Record holds what a load left, besides the files in its folder. It has nothing of an earlier
// visit, unless that visit failed: then it has nothing else, and LoadError says so.
type Record struct {
	workload.Record
	HAR    *capture.HAR // nil if nothing was loaded
	Timing capture.Timing
	// Announced holds the windows that both ends announced; nil unless the order sets one.
	Announced *evidence.Announced `json:",omitempty"`
	// Began is the time from the start of the browser session's first load to the start of this one; nil
	// for a load that has a session to itself.
	Began *time.Duration `json:",omitempty"`
	// Live describes a load on the live clock; nil for others.
	Live *evidence.Live `json:",omitempty"`
}

// ReadFiles implements workload.Outcome.
func (r *Record) ReadFiles(dir string) error { return r.ReadServerLog(dir) }
