package session

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/capture"
)

// Entry returns an exchange in HAR's form, as in the browsers' loads. began is when
// the page requested the resource, no later than Started. response is the head of
// the response, or nil if there was none. err is End's error. The size of the
// content is that on the wire, and the resource's type follows from the content's;
// the caller corrects both, and adds page and initiator.
func (e *Exchange) Entry(r *http.Request, response *http.Response, began time.Time, err error) capture.Entry {
	total := e.Ended.Sub(began)
	entry := capture.Entry{
		Started: began.UTC(),
		Time:    milliseconds(total),
		Request: capture.Request{
			Method: r.Method, URL: r.URL.String(),
			Headers: pairs(r.Header), QueryString: pairs(r.URL.Query()), HeadersSize: -1,
		},
		Response:        capture.Response{HeadersSize: -1, BodySize: -1, TransferSize: -1},
		ServerIPAddress: e.Remote,
		Timings:         e.Timings(total),
	}
	if e.Connection > 0 {
		entry.Connection = strconv.Itoa(e.Connection)
	}
	if err != nil {
		entry.Response.Error = err.Error()
	}
	if response != nil {
		e.describe(&entry, response)
	}
	return entry
}

func (e *Exchange) describe(entry *capture.Entry, response *http.Response) {
	entry.Protocol = e.Proto
	version := e.Proto
	if strings.HasPrefix(response.Proto, "SPDY/") {
		version = response.Proto
	}
	entry.Request.HTTPVersion, entry.Response.HTTPVersion = version, version
	entry.Response.Status = response.StatusCode
	_, entry.Response.StatusText, _ = strings.Cut(response.Status, " ")
	entry.Response.Headers = pairs(response.Header)
	entry.Response.TransferSize, entry.Response.BodySize = e.Transferred, e.Body
	entry.Response.RedirectURL = response.Header.Get("Location")
	entry.Response.Content.Size = e.Body
	// A malformed type counts as none.
	entry.Response.Content.MimeType, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	entry.ResourceType = ResourceType(entry.Response.Content.MimeType)
}

// ResourceType returns the browsers' type of a resource with the given content
// type.
func ResourceType(contentType string) string {
	kind, subtype, _ := strings.Cut(contentType, "/")
	switch {
	case kind == "image", kind == "font":
		return kind
	case kind == "audio", kind == "video":
		return "media"
	case contentType == "text/css":
		return "stylesheet"
	case contentType == "text/html":
		return "document"
	case strings.HasSuffix(subtype, "javascript"):
		return "script"
	}
	return "other"
}

// pairs returns the fields of a header, or of a query, sorted by name.
func pairs[M http.Header | url.Values](fields M) []capture.Pair {
	var out []capture.Pair
	for name, values := range fields {
		for _, value := range values {
			out = append(out, capture.Pair{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(out, func(a, b capture.Pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}
