package builtin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"wiretime/capture"
	"wiretime/loader/page"
	"wiretime/loader/session"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// unknown stands for a figure that does not exist.
const unknown = -1

// unknownTiming is the timing of a load in which nothing was loaded.
var unknownTiming = capture.Timing{DCL: unknown, OnLoad: unknown, TTFB: unknown, FCP: unknown, LCP: unknown, LastResource: unknown}

// moment converts a moment to ms, or to unknown if it never came.
func moment(d time.Duration, ok bool) float64 {
	if !ok {
		return unknown
	}
	return milliseconds(d)
}

// timing returns the timing of the tabs together: that of the last one. A figure that
// one of them lacks is unknown for all.
func timing(tabs []*tab) capture.Timing {
	all := capture.Timing{NavigationStart: tabs[0].began.UnixNano(), FCP: unknown, LCP: unknown}
	for _, figure := range []struct {
		of   func(*tab) float64
		last *float64
	}{
		{(*tab).dcl, &all.DCL}, {(*tab).onLoad, &all.OnLoad}, {(*tab).ttfb, &all.TTFB}, {(*tab).lastResource, &all.LastResource},
	} {
		for _, t := range tabs {
			ms := figure.of(t)
			if ms < 0 {
				*figure.last = unknown
				break
			}
			*figure.last = max(*figure.last, ms)
		}
	}
	return all
}

// dcl and onLoad return the page's events. The error page that a browser shows
// instead of a failed page has events too, but they are not the page's.
func (t *tab) dcl() float64 {
	d, ok := t.page.DCL()
	return moment(d, ok && t.err == nil && t.step == "")
}

func (t *tab) onLoad() float64 {
	d, ok := t.page.Load()
	return moment(d, ok && t.err == nil && t.step == "")
}

// ttfb returns when the document began to arrive, including the time of its
// redirects.
func (t *tab) ttfb() float64 {
	for _, x := range t.exchanges {
		if x.fetch.request.Kind == page.Document && x.location == "" && x.network != nil && !x.network.Answered.IsZero() {
			return milliseconds(x.network.Answered.Sub(t.began))
		}
	}
	return unknown
}

// lastResource returns when the last resource of a loaded page had arrived.
func (t *tab) lastResource() float64 {
	if t.onLoad() < 0 {
		return unknown
	}
	return milliseconds(t.lastEnd())
}

// lastEnd returns when the last exchange ended; 0 if there was none.
func (t *tab) lastEnd() (last time.Duration) {
	for _, x := range t.exchanges {
		last = max(last, x.ended)
	}
	return last
}

// newHAR returns the tabs as HAR 1.2, in the form of the browsers' loads.
func newHAR(tabs []*tab) *capture.HAR {
	har := &capture.HAR{Log: capture.Log{
		Version: "1.2",
		Creator: capture.Program{Name: "wiretime", Version: "1"},
		Browser: capture.Program{Name: "wiretime-builtin", Version: "1"},
	}}
	for i, t := range tabs {
		id := "page_" + strconv.Itoa(i+1)
		har.Log.Pages = append(har.Log.Pages, capture.Page{
			Started: t.began.UTC(), ID: id, Title: cmp.Or(t.step, t.address),
			Timings: capture.PageTimings{OnContentLoad: t.dcl(), OnLoad: t.onLoad(), FirstContentfulPaint: unknown, LargestContentfulPaint: unknown},
		})
		for _, x := range t.asked() {
			entry := x.entry()
			entry.Page = id
			har.Log.Entries = append(har.Log.Entries, entry)
		}
	}
	return har
}

// asked returns the tab's exchanges in the order in which the page requested them,
// which may differ from that in which they started.
func (t *tab) asked() []*exchange {
	all := slices.Clone(t.exchanges)
	slices.SortStableFunc(all, func(a, b *exchange) int { return a.fetch.request.ID - b.fetch.request.ID })
	return all
}

// entry returns the exchange's HAR entry. An exchange still in flight when its load
// ended is marked.
func (x *exchange) entry() capture.Entry {
	f, began := x.fetch, x.fetch.tab.began
	network := x.network
	if network == nil {
		ended := x.ended
		if ended < 0 {
			ended = f.tab.over
		}
		network = &session.Exchange{DNS: -1, Connect: -1, SSL: -1, Transferred: 0, Proto: f.tab.visit.config.Protocol.Spoken, Ended: began.Add(max(ended, x.asked))}
	}
	err := x.err
	if x.ended < 0 && err == nil {
		err = errEnded
	}
	e := network.Entry(x.request, x.response, began.Add(x.asked), err)
	e.Initiator = capture.Initiator{Type: f.request.Initiator.Type, URL: f.request.Initiator.URL, Line: f.request.Initiator.Line}
	e.InitialPriority, e.Priority = f.initial.String(), f.request.Priority.String()
	e.ResourceType = f.request.Kind.String()
	e.FromCache = x.cache
	if x.response != nil && x.location == "" {
		e.Response.BodySize, e.Response.Content.Size = x.body, x.body
		if x.response.StatusCode == http.StatusNotModified {
			e.Response.BodySize = 0 // the content came from the cache
		}
	}
	return e
}
