package protocol

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"wiretime/spdy"
)

// Answer is what an archive has for a request.
type Answer struct {
	Status int         // 200 to 599
	Header [][2]string // in the order in which they are sent
	Body   []byte
	// Miss says that the archive has nothing. The rest is passed over then.
	Miss bool
	// Near is the URL of what the archive has instead, if it is not what was asked for.
	Near string
	// Preflight says that this answers a CORS preflight that the archive does not have. All
	// the fields that it asks for are allowed then: credentials admit of no wildcard (Fetch,
	// section 3.2.3).
	Preflight bool
	// Wait is how long the server takes before it begins to answer.
	Wait time.Duration
	// Early are the values of Link fields that are sent before that, as 103 Early Hints
	// (RFC 8297).
	Early []string
	// Push are URLs that are pushed with the answer, where protocol and client take that.
	Push []string
}

// missing is the answer to a miss.
var missing = Answer{
	Status: http.StatusNotFound, Header: [][2]string{{"content-type", "text/plain; charset=utf-8"}},
	Body: []byte("This URL is not in the site's archive.\n"),
}

// Archive answers requests from what lookup finds, whatever protocol they came
// over; path is the request's path with its query. What lookup does not find is
// answered with 404, and marked as a miss in the server's log. A client that has the
// archived version already, by its ETag or Last-Modified, is told so with 304 (RFC
// 9110 section 13).
//
// What goes before a GET's answer goes in this order: Early Hints, but not over SPDY,
// which has no place for them; pushes, over SPDY and HTTP/2 and of the request's own
// origin only; the wait, which ends with the request. What is pushed waits by itself as
// if it had been asked for. The answer is held back until the client has been told of
// all pushes (SPDY draft 3 section 3.3.1, RFC 9113 section 8.4.1): over HTTP/2 at
// once, over SPDY, where that is the head of what is pushed, after its wait.
func Archive(lookup func(method, host, path string) Answer) http.Handler {
	return archive(lookup)
}

type archive func(method, host, path string) Answer

func (lookup archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, ok := w.(*meter)
	if !ok {
		m = &meter{ResponseWriter: w, pushes: &pushes{}} // that nobody logs
	}
	a := lookup(r.Method, hostname(r.Host), r.URL.RequestURI())
	if m.near = a.Near; a.Miss {
		m.miss, a = true, missing
	}
	told := func() {}
	if r.Method == http.MethodGet && !m.pushed {
		hint(m, r, a.Early)
		told = lookup.push(m, r, a.Push)
	}
	err := wait(r.Context(), a.Wait)
	told()
	switch {
	case r.Context().Err() != nil:
		m.status = 0
	case err != nil:
		http.Error(m, err.Error(), http.StatusInternalServerError)
	default:
		a.write(m, r)
	}
}

// hint sends Early Hints. HTTP/1.0 knows nothing of them (RFC 9110 section 15.2), nor has
// SPDY a place for them.
func hint(m *meter, r *http.Request, links []string) {
	_, isSPDY := spdy.RequestVersion(r.Context())
	if len(links) == 0 || isSPDY || !r.ProtoAtLeast(1, 1) {
		return
	}
	header := m.Header()
	kept := maps.Clone(header)
	clear(header)
	header["Link"] = links
	m.WriteHeader(http.StatusEarlyHints)
	clear(header)
	maps.Copy(header, kept)
	m.early = links
}

// push has what goes with an answer pushed. It returns a function that waits until the
// client has been told of all of it. What does not have to wait itself is pushed in its
// order.
func (lookup archive) push(m *meter, r *http.Request, urls []string) (told func()) {
	var waiting sync.WaitGroup
	host := hostname(r.Host)
	for _, address := range urls {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host != host:
			m.unpushed.Add(1)
		case lookup(http.MethodGet, host, u.RequestURI()).Wait > 0:
			waiting.Go(func() { m.push(r, u.RequestURI()) })
		default:
			m.push(r, u.RequestURI())
		}
	}
	return waiting.Wait
}

// write sends the answer itself.
func (a *Answer) write(m *meter, r *http.Request) {
	header := m.Header()
	for _, field := range a.Header {
		header.Add(field[0], field[1])
	}
	if asked := r.Header.Values("Access-Control-Request-Headers"); a.Preflight && len(asked) > 0 {
		header["Access-Control-Allow-Headers"] = asked
	}
	status, body := a.Status, a.Body
	if status == http.StatusOK && notModified(r, header) {
		status, body = http.StatusNotModified, nil
		leaveOutContent(header)
	}
	if _, ok := header["Content-Type"]; !ok {
		// Servers guess it unless told not to.
		header["Content-Type"] = nil
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	m.WriteHeader(status)
	if r.Method != http.MethodHead && status != http.StatusNotModified {
		// A client that has gone away is seen in the log's body size.
		_, _ = m.Write(body)
	}
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
