package recording

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// node is an exchange on its way to becoming a resource.
type node struct {
	*Exchange
	order  int     // among the exchanges
	from   address // as recorded
	url    string  // in the site
	method string
	status int
	kind   string

	made   bool
	body   []byte // content, without coding
	sent   []byte // with coding
	coding string // gzip, br, zstd or none

	to        *node   // where a redirect leads
	redirects bool    // it is one
	parent    *node   // the initiator; nil for the page and for redirect targets
	children  []*node // in the recorded order
	visible   bool    // a parser sees the reference
	async     bool    // an async or deferred script
	late      bool    // the load event does not wait for its request
	afterLoad bool    // requested after the load event, from which delay counts
	delay     float64
	ends      []float64 // when it was complete, for each request

	class  string  // class of the element that a made style sheet or document styles
	in     *node   // the document that a made style sheet is used in
	nth    int     // its place in the sheets of that document
	sheets []*node // of a document: the made sheets that are used in it

	typed  *Exchange // the exchange whose type is in stated
	stated string    // see recordedType
}

// maxURL limits the length of a URL in octets; browsers and servers take less.
const maxURL = 64 << 10

// maker makes a site of a recording.
type maker struct {
	*Recording
	limits  Limits
	repairs repairs
	coder   coder
	hosts   addresses
	nodes   []*node
	byKey   map[string]*node
	byURL   map[string]*node // nodes of GET requests
	root    *node            // the page's document, at the end of its redirects
	left    int64            // octets that bodies may still have

	source   map[*node]*node // the first redirect to a node
	scripts  []*node         // scripts that may have made requests, latest first
	texts    []*node         // recorded documents and scripts, likewise
	rtt      map[string]float64
	classes  int // class names given
	searched int // see search
}

// exotic describes the schemes of URLs that no server answers.
var exotic = map[string]string{
	"data": "are data", "blob": "are made by scripts", "about": "are the browser's own", "ws": "are WebSockets", "wss": "are WebSockets",
	"file": "are files", "filesystem": "are files", "javascript": "are scripts",
}

// selectServable keeps the exchanges that a site can hold.
func (m *maker) selectServable() {
	for i := range m.Exchanges {
		e := &m.Exchanges[i]
		if i >= m.limits.Exchanges {
			m.repairs.leave(e.Where, "exchange", fmt.Sprintf("%%s beyond the first %d left out: raise the limit with --max-requests", m.limits.Exchanges))
			continue
		}
		if n := m.servable(e); n != nil {
			n.order = i
			m.nodes = append(m.nodes, n)
		}
	}
	m.unite()
}

// servable converts an exchange to a node, or returns nil if the exchange is left out.
func (m *maker) servable(e *Exchange) *node {
	e = finite(e)
	n := &node{Exchange: e, method: strings.ToUpper(strings.TrimSpace(e.Method)), status: e.Status}
	if n.method == "" {
		n.method = http.MethodGet
	}
	var err error
	n.from, err = parseAddress(e.URL)
	switch {
	case err != nil || len(n.from.Path) > maxURL:
		m.repairs.leave(e.Where, "request", "%s left out: invalid URL")
		return nil
	case n.from.Host == "":
		what := exotic[n.from.Scheme]
		if what == "" {
			what = "have no web server"
		}
		m.repairs.leave(e.Where, "URL", "%s with "+scheme(n.from.Scheme)+" left out, since they "+what)
		return nil
	case !httpguts.ValidHeaderFieldName(n.method) || slices.Contains([]string{"CONNECT", "TRACE", "TRACK"}, n.method):
		m.repairs.leave(e.Where, "request", "%s left out: pages cannot use the method")
		return nil
	case n.method == http.MethodOptions:
		m.repairs.leave(e.Where, "preflight", "%s left out: the replay answers OPTIONS itself")
		return nil
	case e.Status == 0:
		m.repairs.leave(e.Where, "request", "%s left out: no response")
		return nil
	case e.Status == http.StatusSwitchingProtocols:
		m.repairs.leave(e.Where, "WebSocket", "%s left out (status 101)")
		return nil
	case e.Status < 200 || e.Status > 599:
		m.repairs.leave(e.Where, "response", "%s left out: not a final status (200 to 599)")
		return nil
	case int64(len(e.Body)) > m.limits.Body || !e.HasBody && max(e.Size, e.Transfer) > m.limits.Body:
		m.repairs.leave(e.Where, "response", fmt.Sprintf("%%s left out: the body exceeds %d octets (--max-body)", m.limits.Body))
		return nil
	}
	known := len(m.hosts.names)
	n.url = "https://" + m.hosts.add(n.from) + n.from.Path
	if len(m.hosts.names) > known {
		m.noteHost(n)
	}
	m.normalize(n)
	return n
}

// finite returns a copy of an exchange in which invalid times are unknown.
func finite(e *Exchange) *Exchange {
	e = clone(e)
	for _, v := range []*float64{&e.Started, &e.Took, &e.DNS, &e.Connect, &e.Wait, &e.CPU} {
		if math.IsNaN(*v) || math.Abs(*v) > maxTime {
			*v = -1
		}
	}
	return e
}

// maxTime is an upper bound for times of a load, in ms: a year.
const maxTime = 365 * 24 * 3600 * 1000

// scheme returns the name of a URL scheme for messages. It accepts any text.
func scheme(s string) string {
	if len(s) > 30 || strings.ContainsAny(s, "%\n") {
		return "an unknown scheme"
	}
	return s + ":"
}

// noteHost reports that a host has another name in the site.
func (m *maker) noteHost(n *node) {
	name := m.hosts.add(n.from)
	if n.from.Port != "" {
		k := m.repairs.kind("host", "%s with a port, removed from URLs since it belongs to the protocol")
		k.add(n.Where)
		k.mention(n.from.Authority())
	}
	if name != n.from.Host {
		k := m.repairs.kind("host", "%s with a name that is not valid in a site, renamed")
		k.add(n.Where)
		k.mention(n.from.Host + " is " + name)
	}
}

// normalize replaces statuses that a first visit would not get.
func (m *maker) normalize(n *node) {
	switch n.status {
	case http.StatusPartialContent:
		n.status = http.StatusOK
		m.repairs.note(n.Where, "part of a resource", "%s stored as the whole (status 206 becomes 200)")
	case http.StatusNotModified:
		n.status, n.made = http.StatusOK, true
		m.repairs.note(n.Where, "response", "%s with status 304 (not modified): stored as 200 with a made body")
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly:
		// RFC 9110 sections 15.5.9 and 15.5.20 and RFC 8470 section 5.2 let clients retry.
		m.repairs.note(n.Where, "response", "%s that browsers retry (status 408, 421, 425): stored as 400")
		n.status = http.StatusBadRequest
	}
	n.made = n.made || !n.HasBody
}

// unite keeps one exchange per method and URL: the first with a body and status 200, else
// the first with status 200, else the first. A redirect from http to https of the same URL
// comes last.
func (m *maker) unite() {
	m.byKey, m.byURL = map[string]*node{}, map[string]*node{}
	for _, n := range m.nodes {
		k := key(n.method, n.url)
		if best := m.byKey[k]; best == nil || m.rank(n, k) > m.rank(best, k) {
			m.byKey[k] = n
		}
	}
	var kept []*node
	for _, n := range m.nodes {
		k := key(n.method, n.url)
		best := m.byKey[k]
		best.ends = append(best.ends, n.ended())
		switch {
		case best == n:
			kept = append(kept, n)
			if n.method == http.MethodGet {
				m.byURL[k] = n
			}
		case m.rank(n, k) == selfRedirect:
			m.repairs.leave(n.Where, "redirect", "%s between http and https of the same URL left out: the target stays")
		default:
			m.repairs.leave(n.Where, "request", "%s left out: repeated URL, of which one response stays")
		}
	}
	m.nodes = kept
}

// These rank exchanges with the same method and URL.
const (
	selfRedirect = iota
	anyResponse
	okResponse
	okWithBody
)

func (m *maker) rank(n *node, k string) int {
	switch {
	case n.status == http.StatusOK && !n.made:
		return okWithBody
	case n.status == http.StatusOK:
		return okResponse
	}
	if location := n.location(); location != "" {
		if to, ok := m.hosts.locate(n.from, location); ok && key(n.method, to) == k {
			return selfRedirect
		}
	}
	return anyResponse
}

// get returns the node that answers a GET of a URL of the site.
func (m *maker) get(siteURL string) *node { return m.byURL[key(http.MethodGet, siteURL)] }
