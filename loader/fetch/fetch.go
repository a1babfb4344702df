// Package fetch is Wiretime's own loader: it fetches a page and all its
// resources, and does nothing else with them. Where a browser adds the time it
// takes to parse, to run scripts and to paint, this loader leaves the protocol
// and the network, and it costs so little that both clocks can be held against
// each other with it.
//
// The page's document is fetched first. Once it has arrived whole, everything
// else is asked for at once, in the order given, as far as the protocol allows:
// see package session, which has the connections. Over SPDY the document has the
// highest priority and the rest a middle one.
//
// Everything is cold: each load has a session of its own and no cache. Redirects
// are not followed: where they lead is a resource like any other.
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
)

// userAgent is how the loader names itself, to servers and in HAR.
const userAgent = "wiretime-fetch"

// Loader loads pages from one host. It is safe for concurrent use.
type Loader struct{ options session.Options }

// New makes a loader. It opens nothing. The options' protocol is that of each
// visit.
func New(o session.Options) *Loader { return &Loader{o} }

// Visit is one load of one page, cold. It serves one call of Load.
type Visit struct {
	protocol  protocol.Protocol
	session   *session.Session
	keys      session.Keys
	resources []string
	ctx       context.Context // ends with the visit
	cancel    context.CancelCauseFunc
	asked     []*request     // in the order in which they were asked for
	pending   sync.WaitGroup // requests that are neither answered nor failed
	began     time.Time
}

// Open makes a visit ready. resources are the URLs of all that the page needs, in
// the order in which they are to be asked for; the protocol decides on their
// scheme, and the page itself is passed over among them. Each is fetched with GET.
func (l *Loader) Open(p protocol.Protocol, resources []string) *Visit {
	o := l.options
	o.Protocol, o.Strategy = p, session.Plain(p)
	v := &Visit{protocol: p, resources: resources}
	o.KeyLog = &v.keys
	v.session = session.New(o)
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	return v
}

// Load fetches the page and then the visit's resources, and returns when
// each of them has arrived or failed. A failure does not keep the others from
// being fetched, unless it is the document's; the error names the first one in the
// page's order. An answer is an answer, whatever its status. What has been seen is
// returned even if there is an error.
//
// There is no parser and no renderer, so the times mean: DCL, the document had
// arrived whole; OnLoad and LastResource, the last resource had; FCP and LCP, -1.
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

// prepare makes the requests for the page and its resources.
func (v *Visit) prepare(page string) (document *request, resources []*request, err error) {
	if document, err = v.request(page); err != nil {
		return nil, nil, err
	}
	document.kind = "document"
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
		return nil, fmt.Errorf("make a request for %s: %w", address, err)
	}
	// A single field: HTTP/2 and HTTP/3 write them in the random order of a map.
	h.Header.Set("User-Agent", userAgent)
	return &request{visit: v, http: h}, nil
}

func (v *Visit) load(document *request, resources []*request) error {
	v.fetch(v.began, session.Highest, document)
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

// fetch asks for resources, which the page has asked for at the given time, and
// waits until each of them is answered or has failed.
func (v *Visit) fetch(began time.Time, priority session.Priority, requests ...*request) {
	v.asked = append(v.asked, requests...)
	v.pending.Add(len(requests))
	for _, r := range requests {
		r.began = began
		v.session.Fetch(&session.Request{HTTP: r.http, Priority: priority, Handler: r})
	}
	v.pending.Wait()
}

// FrameLog is every frame of the visit's connections so far, as package spdy
// writes them down; nil where the protocol is not SPDY.
func (v *Visit) FrameLog() []byte { return v.session.FrameLog() }

// KeyLog is the TLS secrets of the visit's connections so far, in NSS key log format.
func (v *Visit) KeyLog() ([]byte, error) { return v.keys.Text(), nil }

// Close closes the visit's connections and waits for its goroutines. Connections
// that their server has closed before are no error.
func (v *Visit) Close() error {
	v.cancel(session.ErrClosed)
	return v.session.Close()
}
