package protocol

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"wiretime/panics"
	"wiretime/spdy"
)

// Answer is an archive's response to a request.
type Answer struct {
	Status int         // 200 to 599
	Header [][2]string // in the order in which they are sent
	Body   []byte
	// Miss says that the archive has no response. The other fields are then
	// ignored.
	Miss bool
	// Near is the URL of the response if it is not the requested one.
	Near string
	// Preflight says that this answers a CORS preflight that the archive does not have. The
	// response then allows all requested fields, because credentials rule out a wildcard
	// (Fetch, section 3.2.3).
	Preflight bool
	// Wait is how long the server waits before it begins to respond.
	Wait time.Duration
	// Early are the values of Link fields sent ahead as 103 Early Hints (RFC 8297).
	Early []string
	// Push are the URLs to push with the response, if protocol and client support it.
	Push []string
}

// missing is the response to a miss.
var missing = Answer{
	Status: http.StatusNotFound, Header: [][2]string{{"content-type", "text/plain; charset=utf-8"}},
	Body: []byte("This URL is not in the site's archive.\n"),
}

// Archive answers requests with what lookup finds, over any protocol; path is the
// request's path with its query. A request that lookup cannot answer gets a 404 and
// is marked as a miss in the server's log. A client that already has the archived
// version, by its ETag or Last-Modified, gets a 304 (RFC 9110 section 13).
//
// The response to a GET is preceded, in this order, by Early Hints (not over SPDY,
// which has none); by pushes, over SPDY and HTTP/2, of the request's own origin only;
// and by the wait, which ends early if the request does. A pushed response waits on its
// own, as if it had been requested. The response is held back until all pushes have
// been announced to the client (SPDY draft 3 section 3.3.1, RFC 9113 section 8.4.1):
// over HTTP/2 at once; over SPDY, where the head of the pushed response announces it,
// after that response's wait.
func Archive(lookup func(method, host, path string) Answer) http.Handler {
	return archive(lookup)
}

type archive func(method, host, path string) Answer

func (lookup archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, ok := w.(*meter)
	if !ok {
		m = &meter{ResponseWriter: w, pushes: &pushes{}} // not logged
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

// hint sends Early Hints. HTTP/1.0 does not know them (RFC 9110 section 15.2), and SPDY
// has no frame for them.
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

// push pushes the URLs that go with a response. It returns a function that waits until
// all pushes have been announced to the client. Pushes without a wait of their own are
// sent in order.
func (lookup archive) push(m *meter, r *http.Request, urls []string) (told func()) {
	waiting := panics.Group{Guard: panics.From(r.Context())}
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

// write sends the response itself.
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
		// net/http would guess the type unless it is set.
		header["Content-Type"] = nil
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	m.WriteHeader(status)
	if r.Method != http.MethodHead && status != http.StatusNotModified {
		// If the client has gone away, the body size in the log shows it.
		_, _ = m.Write(body)
	}
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
