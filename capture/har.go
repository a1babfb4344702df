package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unsafe"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonexp "github.com/go-json-experiment/json/v1"

	"wiretime/artefact"
	"wiretime/atomicfile"
)

// HAR is an HTTP Archive, version 1.2 (Odvarka, 2012), with the underscore
// fields of Chrome's developer tools and of chrome-har that Wiretime uses. All
// durations are float ms, -1 where one does not apply.
type HAR struct {
	Log Log `json:"log"`
}

// Log is the content of a HAR.
type Log struct {
	Version string  `json:"version"`
	Creator Program `json:"creator"`
	Browser Program `json:"browser,omitzero"`
	Pages   []Page  `json:"pages"`
	Entries []Entry `json:"entries"`
	Comment string  `json:"comment,omitempty"`
	// RenamedDomains maps the site's own domains to the names under which they were served.
	RenamedDomains map[string]string `json:"_renamedDomains,omitempty"`
	// CriticalPath says what decided each page's onLoad, in the form that package
	// critical writes.
	CriticalPath json.RawMessage `json:"_criticalPath,omitempty"`
}

// Program names a program and its version.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Page is one page that was loaded.
type Page struct {
	Started time.Time   `json:"startedDateTime"` // navigationStart
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Timings PageTimings `json:"pageTimings"`
	// Comment says what kept the page from finishing by itself and what was done about
	// it, a sentence each; usually empty.
	Comment string `json:"comment,omitempty"`
}

// PageTimings are ms since the page started, -1 where unknown. The underscore
// names are chrome-har's.
type PageTimings struct {
	OnContentLoad          float64 `json:"onContentLoad"` // domContentLoadedEventStart
	OnLoad                 float64 `json:"onLoad"`        // loadEventStart
	FirstContentfulPaint   float64 `json:"_firstContentfulPaint"`
	LargestContentfulPaint float64 `json:"_largestContentfulPaint"`
}

// UnmarshalJSON reads page timings; those that are absent become -1.
func (t *PageTimings) UnmarshalJSON(data []byte) error {
	type plain PageTimings
	*t = PageTimings{OnContentLoad: -1, OnLoad: -1, FirstContentfulPaint: -1, LargestContentfulPaint: -1}
	return jsonexp.Unmarshal(data, (*plain)(t))
}

// Entry is one request and its response.
type Entry struct {
	Page     string    `json:"pageref,omitempty"` // the Page's ID
	Started  time.Time `json:"startedDateTime"`
	Time     float64   `json:"time"` // ms, all phases together
	Request  Request   `json:"request"`
	Response Response  `json:"response"`
	Cache    struct{}  `json:"cache"`
	Timings  Timings   `json:"timings"`

	ServerIPAddress string `json:"serverIPAddress,omitempty"`
	Connection      string `json:"connection,omitempty"` // the browser's connection number

	Initiator       Initiator `json:"_initiator,omitzero"`
	Priority        string    `json:"_priority,omitempty"` // at the end
	InitialPriority string    `json:"_initialPriority,omitempty"`
	ResourceType    string    `json:"_resourceType,omitempty"` // "document", "image", ...
	Protocol        string    `json:"_protocol,omitempty"`     // as CDP names it: "http/1.1", "spdy/3.1", "h2", "h3"
	FromCache       string    `json:"_fromCache,omitempty"`    // "memory" or "disk"; empty: from the network
	// Unawaited says why the load ended without waiting for the response; usually empty.
	// Such an entry may have no end or no response without being a failure, and its end
	// does not count.
	Unawaited string `json:"_unawaited,omitempty"`
	// Revisited says that an earlier visit received the same resource whole. It is set only if the
	// client kept the cache of that visit.
	Revisited bool `json:"_revisited,omitempty"`
}

// End returns when the last byte of the response had arrived.
func (e *Entry) End() time.Time {
	return e.Started.Add(time.Duration(e.Time * float64(time.Millisecond)))
}

// Initiator says why a resource was requested, like CDP's Network.Initiator.
type Initiator struct {
	Type string `json:"type,omitempty"` // "parser", "script", "preload", "other", ...
	URL  string `json:"url,omitempty"`
	Line int    `json:"lineNumber,omitempty"`
}

// UnmarshalJSON reads an initiator: either the developer tools' object, or the
// bare URL that WebPageTest and chrome-har write.
func (i *Initiator) UnmarshalJSON(data []byte) error {
	*i = Initiator{}
	if bytes.HasPrefix(data, []byte(`"`)) {
		return jsonexp.Unmarshal(data, &i.URL)
	}
	type plain struct {
		Type string  `json:"type"`
		URL  string  `json:"url"`
		Line float64 `json:"lineNumber"`
	}
	var p plain
	if err := jsonexp.Unmarshal(data, &p); err != nil {
		return err
	}
	*i = Initiator{Type: p.Type, URL: p.URL, Line: int(p.Line)}
	return nil
}

// Request is what the browser sent. Sizes are octets, -1 where unknown.
type Request struct {
	Method      string   `json:"method"`
	URL         string   `json:"url"`
	HTTPVersion string   `json:"httpVersion"`
	Cookies     []Cookie `json:"cookies"`
	Headers     []Pair   `json:"headers"`
	QueryString []Pair   `json:"queryString"`
	HeadersSize int64    `json:"headersSize"`
	BodySize    int64    `json:"bodySize"`
}

// Response is what the browser got. Sizes are octets, -1 where unknown.
type Response struct {
	Status       int      `json:"status"`
	StatusText   string   `json:"statusText"`
	HTTPVersion  string   `json:"httpVersion"`
	Cookies      []Cookie `json:"cookies"`
	Headers      []Pair   `json:"headers"`
	Content      Content  `json:"content"`
	RedirectURL  string   `json:"redirectURL"`
	HeadersSize  int64    `json:"headersSize"`
	BodySize     int64    `json:"bodySize"`
	TransferSize int64    `json:"_transferSize"`    // head and body as transferred, compressed
	Error        string   `json:"_error,omitempty"` // the browser's reason for having no response
}

// Content describes a response's body.
type Content struct {
	Size     int64  `json:"size"` // octets, decompressed
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"` // "base64" where Text is
}

// Pair is a header field or a parameter of a query.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Cookie is a cookie that was sent or set.
type Cookie struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Timings holds the phases of one entry in ms, -1 where a phase does not apply
// (a request on an open connection has no DNS, Connect and SSL). As in HAR 1.2,
// SSL is a part of Connect, not a phase after it.
type Timings struct {
	Blocked float64 `json:"blocked"`
	DNS     float64 `json:"dns"`
	Connect float64 `json:"connect"`
	SSL     float64 `json:"ssl"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// UnmarshalJSON reads timings; those that are absent become -1.
func (t *Timings) UnmarshalJSON(data []byte) error {
	type plain Timings
	*t = Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: -1, Wait: -1, Receive: -1}
	return jsonexp.Unmarshal(data, (*plain)(t))
}

// largest is the size in octets of the largest HAR or server log that is read: many times that of 10,000 requests.
const largest = 128 << 20

// ReadHAR reads the HAR file at path, an artefact of at most 128 MiB. It ignores unknown fields.
func ReadHAR(path string) (*HAR, error) {
	data, err := artefact.Read(path, largest)
	if err != nil {
		return nil, fmt.Errorf("read HAR: %w", err)
	}
	h, err := ParseHAR(data)
	if err != nil {
		return nil, fmt.Errorf("read HAR %s: %w", path, err)
	}
	return h, nil
}

// expansion is how many times its own size a HAR's pages, or its entries, may take in
// memory. Those of real HARs take about as much as the file; empty ones would take 300
// times as much.
const expansion = 16

// mostPages is how many pages a load's HAR may have. All of a load's packets may count for
// each page.
const mostPages = 256

// ParseHAR reads a HAR from memory. It skips a byte-order mark, which some
// browsers write. A document without a "log" is an error, and so are more pages or
// entries than the document has room for, more than 256 pages, and two pages with one ID. It allocates at most 128 times the document's
// size.
func ParseHAR(data []byte) (*HAR, error) {
	var h HAR
	if err := jsonexp.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &h); err != nil {
		return nil, err
	}
	return &h, nil
}

func checkPages(pages []Page) error {
	if len(pages) > mostPages {
		return fmt.Errorf("not the HAR of a load: %d pages, want at most %d", len(pages), mostPages)
	}
	first := map[string]int{}
	for i, p := range pages {
		if before, twice := first[p.ID]; twice {
			return fmt.Errorf("pages[%d] has the ID %.80q of pages[%d]; IDs must differ", i, p.ID, before)
		}
		first[p.ID] = i
	}
	return nil
}

// UnmarshalJSON reads a HAR that is part of another document, as ParseHAR does.
func (h *HAR) UnmarshalJSON(data []byte) error {
	parsed, err := ParseHAR(data)
	if err == nil {
		*h = *parsed
	}
	return err
}

// UnmarshalJSONFrom reads a HAR that is part of another document, as ParseHAR does.
func (h *HAR) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	var document struct {
		Log *struct {
			Log
			// These take precedence over Log's.
			Pages   list[Page]  `json:"pages"`
			Entries list[Entry] `json:"entries"`
		} `json:"log"`
	}
	if err := json2.UnmarshalDecode(from, &document); err != nil {
		return err
	}
	if document.Log == nil {
		return fmt.Errorf("not a HAR: the document has no \"log\"")
	}
	h.Log = document.Log.Log
	h.Log.Pages, h.Log.Entries = document.Log.Pages, document.Log.Entries
	return checkPages(h.Log.Pages)
}

// list is a list in a document that has room for its elements.
type list[T any] []T

// UnmarshalJSONFrom reads the list, one element after the other.
func (l *list[T]) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	if from.PeekKind() != '[' {
		return json2.UnmarshalDecode(from, (*[]T)(l)) // null, or an error
	}
	if _, err := from.ReadToken(); err != nil {
		return err
	}
	all := []T{}
	for from.PeekKind() != ']' {
		var next T
		if n, octets := len(all)+1, int(from.InputOffset()); n*int(unsafe.Sizeof(next)) > expansion*octets+64<<10 {
			return fmt.Errorf("not a HAR: %d elements of %s in %d octets: most must be empty", n, from.StackPointer().Parent(), octets)
		}
		all = append(all, next)
		if err := json2.UnmarshalDecode(from, &all[len(all)-1]); err != nil {
			return fmt.Errorf("%s: %w", from.StackPointer(), err)
		}
	}
	*l = all
	_, err := from.ReadToken()
	return err
}

// WriteHAR writes h to path, whole or not at all. Nil lists are written as
// empty ones, since HAR readers expect lists.
func WriteHAR(path string, h *HAR) error {
	err := atomicfile.Write(path, h.Encode)
	if err != nil {
		return fmt.Errorf("write HAR: %w", err)
	}
	return nil
}

// Encode writes h as WriteHAR does.
func (h *HAR) Encode(w io.Writer) error {
	text, err := json2.Marshal(withLists(h), jsonexp.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.WithIndent(" "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// withLists returns h with its nil lists replaced by empty ones.
func withLists(h *HAR) *HAR {
	log := h.Log
	log.Pages = orEmpty(log.Pages)
	log.Entries = append([]Entry{}, log.Entries...)
	for i := range log.Entries {
		request, response := &log.Entries[i].Request, &log.Entries[i].Response
		request.Cookies, response.Cookies = orEmpty(request.Cookies), orEmpty(response.Cookies)
		request.Headers, response.Headers = orEmpty(request.Headers), orEmpty(response.Headers)
		request.QueryString = orEmpty(request.QueryString)
	}
	return &HAR{Log: log}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
