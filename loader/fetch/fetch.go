// Package fetch is Wiretime's own minimal loader: it fetches a page and all its
// resources, and does nothing else with them. Without the time that a browser
// takes to parse, to run scripts and to paint, only the protocol and the
// network remain, at so little cost that the two clocks can be compared with
// it.
//
// The page's document is fetched first. Once it is complete, everything else is
// requested at once, in the given order, as far as the protocol allows; package
// session manages the connections. Over SPDY the document has the highest
// priority and the rest a medium one.
//
// Everything is cold: each load has its own session and no cache. Redirects are
// not followed: their target is a resource like any other.
//
// A visit can also upload content to the page's URL in place of fetching anything
// ([Loader.Upload]).
package fetch

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"wiretime/capture"
	"wiretime/loader/session"
	"wiretime/protocol"
	"wiretime/window"
)

// userAgent is the loader's name for servers and in HAR.
const userAgent = "wiretime-fetch"

// Loader loads pages from one host. It is safe for concurrent use.
type Loader struct{ options session.Options }

// New returns a loader. It opens nothing. Each visit sets the options'
// protocol.
func New(o session.Options) *Loader { return &Loader{o} }

// Terms say how a visit's connections are used. The zero value leaves everything to package session.
type Terms struct {
	Windows     *window.Receiver // limits what servers send; nil for the windows of package session
	NoteWindows bool             // keep the windows that both ends announce, for Visit.Announced
	TLS12       bool             // require servers to choose TLS 1.2: see session.Options
	// PlainHeaders sends the headers of requests over SPDY uncompressed.
	PlainHeaders bool
}

// Visit is one load of one page, cold. It serves one call of Load.
type Visit struct {
	protocol  protocol.Protocol
	upload    *upload // content to post to the page's URL; nil to fetch the page
	session   *session.Session
	keys      session.Keys
	resources []string
	ctx       context.Context // ends with the visit
	cancel    context.CancelCauseFunc
	asked     []*request     // in the order in which they were requested
	pending   sync.WaitGroup // requests that are neither answered nor failed
	began     time.Time
}

// Open prepares a visit. resources are the URLs of everything that the page needs,
// in the order in which to request them. The protocol determines their scheme, and
// the page itself is skipped among them. Each is fetched with GET.
func (l *Loader) Open(p protocol.Protocol, resources []string, t Terms) *Visit {
	o := l.options
	o.Protocol, o.Strategy, o.Windows, o.NoteWindows, o.TLS12, o.PlainHeaders = p, session.Plain(p), t.Windows, t.NoteWindows, t.TLS12, t.PlainHeaders
	v := &Visit{protocol: p, resources: resources}
	o.KeyLog = &v.keys
	v.session = session.New(o)
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	return v
}

// Load fetches the page and then the visit's resources, and returns when each of
// them has arrived or failed. A failure does not stop the other requests, unless
// it is the document's; the error names the first one in the page's order. Any
// status counts as a response. What has been seen is returned even if there is an
// error.
//
// There is no parser and no renderer, so the times mean: DCL, the document was
// complete; OnLoad and LastResource, the last resource was complete; FCP and LCP,
// -1.
func (v *Visit) Load(ctx context.Context, page string) (*capture.HAR, capture.Timing, error) {
	stop := context.AfterFunc(ctx, func() { v.cancel(context.Cause(ctx)) })
	defer stop()
	document, resources, err := v.prepare(page)
	v.began = time.Now()
	if err == nil {
		err = v.load(document, resources)
	}
	timing := v.timing()
	if err != nil {
		err = fmt.Errorf("load %s over %s: %w", page, v.protocol.Name, err)
	}
	return v.har(timing), timing, err
}

// prepare builds the requests for the page and its resources.
func (v *Visit) prepare(page string) (document *request, resources []*request, err error) {
	if document, err = v.request(page); err != nil {
		return nil, nil, err
	}
	document.kind = "document"
	if v.upload != nil {
		v.upload.attach(document.http)
		document.kind = "fetch"
	}
	for _, address := range v.resources {
		r, err := v.request(address)
		if err != nil {
			return nil, nil, err
		}
		if *r.http.URL == *document.http.URL {
			continue
		}
		r.initiator = document.http.URL.String()
		resources = append(resources, r)
	}
	return document, resources, nil
}

func (v *Visit) request(address string) (*request, error) {
	address, err := v.protocol.URL(address)
	if err != nil {
		return nil, err
	}
	h, err := http.NewRequestWithContext(v.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("build a request for %s: %w", address, err)
	}
	// Only one field: HTTP/2 and HTTP/3 write several in the random order of a
	// map.
	h.Header.Set("User-Agent", userAgent)
	return &request{visit: v, http: h}, nil
}

func (v *Visit) load(document *request, resources []*request) error {
	v.fetch(v.began, session.Highest, document)
	if v.upload != nil {
		return v.upload.outcome(document)
	}
	if document.err != nil {
		return document.failure()
	}
	v.fetch(document.exchange.Ended, session.Idle, resources...)
	for _, r := range resources {
		if r.err != nil {
			return r.failure()
		}
	}
	return nil
}

// fetch requests resources, which the page has requested at the given time, and
// waits until each of them has arrived or failed.
func (v *Visit) fetch(began time.Time, priority session.Priority, requests ...*request) {
	v.asked = append(v.asked, requests...)
	v.pending.Add(len(requests))
	for _, r := range requests {
		r.began = began
		v.session.Fetch(&session.Request{HTTP: r.http, Priority: priority, Handler: r})
	}
	v.pending.Wait()
}

// FrameLog returns every frame of the visit's connections so far, in package
// spdy's format, or nil if the protocol is not SPDY.
func (v *Visit) FrameLog() []byte { return v.session.FrameLog() }

// Announced returns the windows that the client and the server announced over HTTP/2: see
// session.Session.Announced.
func (v *Visit) Announced() (client, server []int) { return v.session.Announced() }

// KeyLog returns the TLS secrets of the visit's connections so far, in NSS key log
// format.
func (v *Visit) KeyLog() ([]byte, error) { return v.keys.Text(), nil }

// Close closes the visit's connections and waits for its goroutines. Connections
// that their server has already closed are no error.
func (v *Visit) Close() error {
	v.cancel(session.ErrClosed)
	return v.session.Close()
}
