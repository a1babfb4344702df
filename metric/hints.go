package metric

import (
	"net/http"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/spdy"
	"wiretime/study"
)

var pushed = Metric{
	study.Metric{
		Name: "pushed", Unit: "B", Title: "Pushed",
		Definition: "Octets of the bodies that the server pushed, from its log. A load in which nothing was pushed has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		sum, _, any := pushedOctets(ev)
		return sum, any
	},
}

var pushedInVain = Metric{
	study.Metric{
		Name: "pushed_in_vain", Unit: "B", Title: "Pushed in vain",
		Definition: "Octets of the bodies that the server pushed without answering a request of the page. A load in which nothing was pushed has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		_, vain, any := pushedOctets(ev)
		return vain, any
	},
}

// pushedOctets returns the octets of all pushed bodies, and of those that answered no request. any is false if nothing was
// pushed.
func pushedOctets(ev *evidence.Evidence) (sum, vain float64, any bool) {
	unused := unusedResponses(ev)
	for i := range ev.Server {
		e := &ev.Server[i]
		if !e.Pushed {
			continue
		}
		any = true
		sum += float64(e.BodyBytes)
		if name := nameOf(e.Method, e.URL); unused[name] > 0 {
			unused[name]--
			vain += float64(e.BodyBytes)
		}
	}
	return sum, vain, any
}

var requestsSaved = Metric{
	study.Metric{
		Name: "requests_saved", Unit: "requests", Title: "Requests saved",
		Definition: "Requests that the page did not have to send because a push answered them. A load in which nothing was pushed has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		all, vain := 0, 0
		for _, n := range unusedResponses(ev) {
			vain += n
		}
		for i := range ev.Server {
			if ev.Server[i].Pushed {
				all++
			}
		}
		return float64(max(0, all-vain)), all > 0
	},
}

var hintDelay = Metric{
	study.Metric{
		Name: "hint_delay", Unit: "ms", Title: "Hint to request",
		Definition: "Time from the first octet of a document's response, or of an interim response before it, until a resource that the document announced was requested: the mean over all resources announced by Link fields of relation preload, by Early Hints or by X-Subresource. " +
			"Resources that the page did not request, or had requested before the document, are left out. A load without announcements has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		type resource struct{ page, name string }
		requested := map[resource]time.Time{}
		for _, e := range ev.Fetched() {
			r := resource{e.Page, nameOf(e.Request.Method, e.Request.URL)}
			if requested[r].IsZero() {
				requested[r] = e.Started
			}
		}
		var delays []time.Duration
		for _, e := range ev.Fetched() {
			came := e.End().Add(-time.Duration(max(0, e.Timings.Receive) * float64(time.Millisecond)))
			for _, target := range announced(e) {
				at := requested[resource{e.Page, nameOf(http.MethodGet, target)}]
				if !at.IsZero() && !at.Before(e.Started) {
					delays = append(delays, at.Sub(came))
				}
			}
		}
		return mean(delays)
	},
}

// announced returns the URLs that a response's header section told the client to fetch.
func announced(e *capture.Entry) []string {
	var urls, links []string
	for _, f := range e.Response.Headers {
		switch {
		case strings.EqualFold(f.Name, "x-subresource"):
			for _, hint := range spdy.Hints(map[string][]string{"X-Subresource": {f.Value}}) {
				urls = append(urls, hint.URL)
			}
		case strings.EqualFold(f.Name, "link") && strings.Contains(f.Value, "preload"):
			links = append(links, f.Value)
		}
	}
	return append(urls, targets(e.Request.URL, links)...)
}
