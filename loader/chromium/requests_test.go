package chromium

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"wiretime/capture"
	"wiretime/loader/browser/browsertest"
)

// Times in these tests are seconds of the browser's clock; the Unix epoch is
// one hour before its zero.
const offset = int64(time.Hour)

func sent(id, url string, at float64) *network.EventRequestWillBeSent {
	return &network.EventRequestWillBeSent{
		RequestID: network.RequestID(id), Timestamp: cdp.MonotonicTime(at), Type: network.ResourceTypeImage,
		Request:   &network.Request{Method: "GET", URL: url, InitialPriority: network.ResourcePriorityLow},
		Initiator: &network.Initiator{Type: network.InitiatorTypeParser, URL: "https://www.page.test/", LineNumber: 12},
	}
}

func responded(id string, timing *network.ResourceTiming) *network.EventResponseReceived {
	return &network.EventResponseReceived{RequestID: network.RequestID(id), Response: &network.Response{
		Status: 200, Protocol: "h3", ConnectionID: 42, RemoteIPAddress: "198.19.1.1", MimeType: "image/png", Timing: timing,
	}}
}

func finished(id string, at, octets float64) *network.EventLoadingFinished {
	return &network.EventLoadingFinished{RequestID: network.RequestID(id), Timestamp: cdp.MonotonicTime(at), EncodedDataLength: octets}
}

func logOf(events ...any) requestLog {
	l := newRequestLog()
	for _, e := range events {
		l.note("", e)
	}
	return l
}

// TestPhasesAddUp checks the phases of requests against the moments that the
// browser reports: on a new connection, on an open one, and without any.
func TestPhasesAddUp(t *testing.T) {
	tests := []struct {
		name   string
		timing *network.ResourceTiming
		want   capture.Timings
	}{
		{"new connection",
			&network.ResourceTiming{RequestTime: 10.005, DNSStart: 1, DNSEnd: 21, ConnectStart: 21, ConnectEnd: 81, SslStart: 41, SslEnd: 81,
				SendStart: 82, SendEnd: 83, ReceiveHeadersStart: 123, ReceiveHeadersEnd: 124},
			capture.Timings{Blocked: 5 + 1 + 1, DNS: 20, Connect: 60, SSL: 40, Send: 1, Wait: 40, Receive: 72}},
		{"open connection",
			&network.ResourceTiming{RequestTime: 10.1, DNSStart: -1, DNSEnd: -1, ConnectStart: -1, ConnectEnd: -1, SslStart: -1, SslEnd: -1,
				SendStart: 10, SendEnd: 10, ReceiveHeadersStart: 60, ReceiveHeadersEnd: 61},
			capture.Timings{Blocked: 110, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: 50, Receive: 40}},
		{"no moments", nil, capture.Timings{Blocked: 200, DNS: -1, Connect: -1, SSL: -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := logOf(sent("1", "https://www.page.test/a.png", 10), responded("1", test.timing), finished("1", 10.2, 5000))
			e := l.har("Chrome/1.2.3", capture.Timing{}, offset).Log.Entries[0]
			browsertest.CheckPhases(t, e, test.want, 1e-6)
		})
	}
}

// TestHAREntry checks the other fields of a HAR entry, and that it can be
// written and read.
func TestHAREntry(t *testing.T) {
	l := logOf(
		sent("0", "data:,", 9),
		sent("1", "https://www.page.test/a.png?b=c", 10),
		&network.EventResourceChangedPriority{RequestID: "1", NewPriority: network.ResourcePriorityHigh},
		responded("1", &network.ResourceTiming{RequestTime: 10.001, SendEnd: 1, ReceiveHeadersStart: 2}),
		&network.EventDataReceived{RequestID: "1", DataLength: 4900},
		finished("1", 10.2, 5000),
		sent("2", "https://www.page.test/gone.png", 10.1),
		&network.EventLoadingFailed{RequestID: "2", Timestamp: 10.3, ErrorText: "net::ERR_CONNECTION_RESET"},
	)
	timing := capture.Timing{NavigationStart: l.navigationStart(4, offset), DCL: 100, OnLoad: 250, FCP: -1, LCP: -1}
	name := filepath.Join(t.TempDir(), "load.har")
	if err := capture.WriteHAR(name, l.har("HeadlessChrome/1.2.3", timing, offset)); err != nil {
		t.Fatal(err)
	}
	har, err := capture.ReadHAR(name)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(har.Log.Entries); n != 2 {
		t.Fatalf("%d entries, want 2: a data: URL is not a request", n)
	}
	e := har.Log.Entries[0]
	if e.Protocol != "h3" || e.Connection != "42" || e.ServerIPAddress != "198.19.1.1" || e.Response.TransferSize != 5000 ||
		e.Response.Content.Size != 4900 || e.InitialPriority != "Low" || e.Priority != "High" || e.Initiator.Line != 12 ||
		e.ResourceType != "image" || len(e.Request.QueryString) != 1 {
		t.Errorf("entry %+v", e)
	}
	if failed := har.Log.Entries[1]; failed.Response.Error != "net::ERR_CONNECTION_RESET" || failed.Response.Status != 0 {
		t.Errorf("the failed request's response is %+v", failed.Response)
	}
	// The document's fetch began at 10.001 s, 4 ms after the page's time origin.
	if want := time.Unix(0, offset).Add(9997 * time.Millisecond); har.Log.Pages[0].Started.Sub(want).Abs() > time.Microsecond {
		t.Errorf("the page started at %v, want %v", har.Log.Pages[0].Started, want)
	}
	if har.Log.Browser != (capture.Program{Name: "HeadlessChrome", Version: "1.2.3"}) {
		t.Errorf("browser %+v", har.Log.Browser)
	}
}

// TestRedirectsAreRequestsOfTheirOwn checks that each hop has its entry.
func TestRedirectsAreRequestsOfTheirOwn(t *testing.T) {
	again := sent("1", "https://www.page.test/new", 10.1)
	again.RedirectResponse = &network.Response{Status: 301, Headers: network.Headers{"Location": "/new"}, EncodedDataLength: 300}
	l := logOf(sent("1", "https://www.page.test/old", 10), again)
	if n, _ := l.underWay(); n != 1 {
		t.Errorf("%d requests under way, want only the second hop", n)
	}
	l.note("", responded("1", nil))
	l.note("", finished("1", 10.2, 700))
	entries := l.har("", capture.Timing{}, offset).Log.Entries
	if len(entries) != 2 || entries[0].Response.Status != 301 || entries[0].Response.RedirectURL != "/new" || entries[1].Response.Status != 200 {
		t.Errorf("entries %+v", entries)
	}
	if n, _ := l.underWay(); n != 0 {
		t.Errorf("%d requests under way after the last has finished", n)
	}
}

// TestNextPageHasItsOwnLog starts the next page while the first one still has
// requests in flight, and others to make.
func TestNextPageHasItsOwnLog(t *testing.T) {
	of := func(document string, e *network.EventRequestWillBeSent) *network.EventRequestWillBeSent {
		e.LoaderID = cdp.LoaderID(document)
		return e
	}
	first := logOf(of("A", sent("A", "https://www.page.test/", 10)), of("A", sent("1", "https://www.page.test/slow.png", 10.1)), of("", sent("w", "https://www.page.test/worker.js", 10.1)))
	second := first.next()
	for _, e := range []any{
		responded("1", nil), finished("1", 10.3, 700),
		of("A", sent("2", "https://www.page.test/beacon", 10.2)),
		of("B", sent("B", "https://www.page.test/next", 10.2)),
		of("A", sent("3", "https://www.page.test/beacon", 10.4)), finished("3", 10.5, 700),
		responded("B", nil),
	} {
		second.note("", e)
	}
	if n, _ := second.underWay(); n != 1 {
		t.Errorf("%d requests under way, want only the second page's document", n)
	}
	second.note("", finished("B", 10.6, 700))
	third := second.next()
	for _, e := range []any{
		of("A", sent("4", "https://www.page.test/beacon", 10.7)), of("B", sent("5", "https://www.page.test/beacon", 10.7)),
		of("C", sent("C", "https://www.page.test/last", 10.7)), of("", sent("x", "https://www.page.test/worker.js", 10.8)),
	} {
		third.note("", e)
	}
	for _, test := range []struct {
		log  requestLog
		want string
	}{
		{first, "/ /slow.png /worker.js"}, {second, "/next"}, {third, "/last /worker.js"},
	} {
		har := test.log.har("", capture.Timing{}, offset)
		var got []string
		for _, e := range har.Log.Entries {
			got = append(got, strings.TrimPrefix(e.Request.URL, "https://www.page.test"))
		}
		if strings.Join(got, " ") != test.want || len(har.Log.Pages) != 1 || har.Log.Pages[0].ID != "page_1" {
			t.Errorf("the log has %q on pages %+v, want %q on page_1", got, har.Log.Pages, test.want)
		}
	}
}

// TestNotModifiedIsTold checks that a document which the server reports as unchanged
// has the server's status, although the browser reports its cache's.
func TestNotModifiedIsTold(t *testing.T) {
	extra := &network.EventResponseReceivedExtraInfo{RequestID: "1", StatusCode: 304, Headers: network.Headers{"etag": `"1"`}}
	l := logOf(sent("1", "https://www.page.test/", 10), extra, responded("1", nil),
		&network.EventDataReceived{RequestID: "1", DataLength: 4900}, finished("1", 10.2, 120))
	e := l.har("", capture.Timing{}, offset).Log.Entries[0]
	if r := e.Response; r.Status != 304 || r.StatusText != "Not Modified" || r.BodySize != 0 || r.TransferSize != 120 || r.Content.Size != 4900 || e.FromCache != "" {
		t.Errorf("the response is %+v, from cache %q", r, e.FromCache)
	}
}

// TestFindNamesWhereItLooked searches for a browser that does not exist.
func TestFindNamesWhereItLooked(t *testing.T) {
	_, err := Find("/nonexistent/chromium")
	if !errors.Is(err, ErrMissing) {
		t.Errorf("error %v, want ErrMissing", err)
	}
}
