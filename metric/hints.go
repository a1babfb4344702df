package metric

import (
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
		Definition: "Octets of the bodies that the server pushed, as its log has them. A load in which nothing was pushed has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		sum, _, any := pushedOctets(ev)
		return sum, any
	},
}

var pushedInVain = Metric{
	study.Metric{
		Name: "pushed_in_vain", Unit: "B", Title: "Pushed in vain",
		Definition: "Octets of the bodies that the server pushed and that answered no request of the page's. A load in which nothing was pushed has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		_, vain, any := pushedOctets(ev)
		return vain, any
	},
}

// pushedOctets adds up what was pushed, and what of it answered no request.
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
		Definition: "Requests of the page that a push answered, so that none was sent. A load in which nothing was pushed has no value.",
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
		Definition: "Mean, over the resources that a document announced by Link fields of relation preload, by Early Hints or by X-Subresource, of the time from the first octet of its answer, or of the interim one before it, until the resource was asked for. " +
			"Resources that were not asked for are left out. A load without announcements has no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		asked := map[string]time.Time{}
		for _, e := range ev.Fetched() {
			if name := nameOf(e.Request.Method, e.Request.URL); asked[name].IsZero() {
				asked[name] = e.Started
			}
		}
		var delays []time.Duration
		for _, e := range ev.Fetched() {
			came := e.End().Add(-time.Duration(max(0, e.Timings.Receive) * float64(time.Millisecond)))
			for _, target := range announced(e) {
				if at := asked[nameOf("GET", target)]; !at.IsZero() {
					delays = append(delays, at.Sub(came))
				}
			}
		}
		return mean(delays)
	},
}

// announced returns the URLs that a response's head told the client to fetch.
func announced(e *capture.Entry) []string {
	var list []string
	link := capture.ServerEntry{URL: e.Request.URL}
	for _, f := range e.Response.Headers {
		switch {
		case strings.EqualFold(f.Name, "x-subresource"):
			for _, hint := range spdy.Hints(map[string][]string{"X-Subresource": {f.Value}}) {
				list = append(list, hint.URL)
			}
		case strings.EqualFold(f.Name, "link") && strings.Contains(f.Value, "preload"):
			link.Early = append(link.Early, f.Value)
		}
	}
	return append(list, targets(&link)...)
}
