package fetch

import (
	"fmt"
	"net/http"
	"time"

	"wiretime/capture"
	"wiretime/loader/session"
)

// request is one requested resource.
type request struct {
	visit     *Visit
	http      *http.Request
	kind      string // of the resource; empty: from its content type
	initiator string // URL; empty: the user

	began    time.Time // the page requested it
	response *http.Response
	exchange *session.Exchange
	err      error
}

// Interim ignores interim responses.
func (r *request) Interim(*http.Response) {}

// Head records the head of the response.
func (r *request) Head(response *http.Response) { r.response = response }

// Data discards content: only its arrival counts.
func (r *request) Data([]byte) error { return nil }

// End records the outcome of the request.
func (r *request) End(e *session.Exchange, err error) {
	r.exchange, r.err = e, err
	r.visit.pending.Done()
}

// failure returns the error of a failed request, for people.
func (r *request) failure() error { return fmt.Errorf("fetch %s: %w", r.http.URL, r.err) }

// timing returns the load's times, as far as it got.
func (v *Visit) timing() capture.Timing {
	t := capture.Timing{NavigationStart: v.began.UnixNano(), DCL: -1, OnLoad: -1, TTFB: -1, FCP: -1, LCP: -1, LastResource: -1}
	if len(v.asked) == 0 || v.asked[0].err != nil {
		return t
	}
	since := func(at time.Time) float64 { return float64(at.Sub(v.began)) / float64(time.Millisecond) }
	t.TTFB, t.DCL = since(v.asked[0].exchange.Answered), since(v.asked[0].exchange.Ended)
	var last float64
	for _, r := range v.asked {
		if r.err != nil {
			return t
		}
		last = max(last, since(r.exchange.Ended))
	}
	t.OnLoad, t.LastResource = last, last
	return t
}

// har returns the load as HAR 1.2, in the form of the browsers' loads.
func (v *Visit) har(timing capture.Timing) *capture.HAR {
	const pageID = "page_1"
	har := &capture.HAR{Log: capture.Log{
		Version: "1.2",
		Creator: capture.Program{Name: "wiretime", Version: "1"},
		Browser: capture.Program{Name: userAgent, Version: "1"},
	}}
	if len(v.asked) == 0 {
		return har
	}
	har.Log.Pages = []capture.Page{{
		Started: v.began.UTC(), ID: pageID, Title: v.asked[0].http.URL.String(),
		Timings: capture.PageTimings{OnContentLoad: timing.DCL, OnLoad: timing.OnLoad, FirstContentfulPaint: -1, LargestContentfulPaint: -1},
	}}
	for _, r := range v.asked {
		entry := r.exchange.Entry(r.http, r.response, r.began, r.err)
		entry.Page = pageID
		entry.Initiator = capture.Initiator{Type: "other", URL: r.initiator}
		if r.kind != "" {
			entry.ResourceType = r.kind
		}
		har.Log.Entries = append(har.Log.Entries, entry)
	}
	return har
}
