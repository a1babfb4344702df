package metric

import (
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

// Pages returns the metrics and checks of page loads. The metrics say how long it took for the user, what it took on the
// wire, and how far to trust it.
func Pages() Set {
	return Set{
		Metrics: []Metric{
			dcl, onload, plt, tow, towClosed, ttfb, fcp, lcp,
			requests, connectionCount,
			bytesUp, bytesDown, packetsUp, packetsDown,
			requestHeaders, requestHeadersPlain, responseHeaders, responseHeadersPlain, allHeaders, allHeadersPlain,
			drops, retransmissions,
			pathRate, pathOutage, pltClear,
			lateP50, lateP99, lateMax, misses, inexact, unused,
			pushed, pushedInVain, requestsSaved, hintDelay,
			otherProtocol, failedElsewhere, captureLost,
		},
		Checks: []Check{checkProtocol, checkVisit, checkAgreement, checkWindows, checkSACK},
	}
}

// EachPage returns what the HAR says of each page of a load that has several: those of a journey, which follow one
// another, or of tabs, which are opened together. They are in the order of the HAR. A load of one page has none.
func EachPage(ev *evidence.Evidence) []study.Page {
	if ev.HAR == nil || len(ev.HAR.Log.Pages) < 2 {
		return nil
	}
	list := ev.HAR.Log.Pages
	pages := make([]study.Page, len(list))
	for i := range list {
		p := study.Page{
			URL: list[i].Title, Started: milliseconds(int64(list[i].Started.Sub(list[0].Started))),
			DCL: list[i].Timings.OnContentLoad, OnLoad: list[i].Timings.OnLoad, PLT: -1,
		}
		if entries := ev.EntriesOf(list[i].ID); len(entries) > 0 {
			first := slices.MinFunc(entries, func(a, b *capture.Entry) int { return a.Started.Compare(b.Started) })
			if !isStep(p.URL) {
				p.URL = first.Request.URL
			}
			p.PLT = milliseconds(int64(evidence.LastEnd(entries).Sub(list[i].Started)))
		}
		pages[i] = p
	}
	return pages
}

// isStep reports whether a page of a HAR is a step of a journey on the page before it, by its title.
func isStep(title string) bool {
	return strings.HasPrefix(title, "click ") || strings.HasPrefix(title, "scroll ")
}

var requests = Metric{
	study.Metric{
		Name: "requests", Unit: "requests", Title: "Requests",
		Definition: "HAR entries of the page that went to the network: data: URLs and answers from the browser's caches left out, redirects and failures counted.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		return float64(len(ev.Fetched())), ev.HAR != nil
	},
}

var misses = Metric{
	study.Metric{
		Name: "misses", Unit: "requests", Title: "Misses",
		Definition: "Requests for a URL that the site's archive does not hold, nor anything near it, as the server counted them; the browser's own request for a /favicon.ico is among them.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		return countServed(ev, func(e *capture.ServerEntry) bool { return e.Miss })
	},
}

var inexact = Metric{
	study.Metric{
		Name: "inexact", Unit: "requests", Title: "Inexact answers",
		Definition: "Requests for a URL that the site's archive does not hold, which were answered with what it holds for one that differs in its query, as the server counted them.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		return countServed(ev, func(e *capture.ServerEntry) bool { return e.Near != "" })
	},
}

// countServed counts the server log's entries for which is holds.
func countServed(ev *evidence.Evidence, is func(*capture.ServerEntry) bool) (float64, bool) {
	n := 0
	for i := range ev.Server {
		if is(&ev.Server[i]) {
			n++
		}
	}
	return float64(n), ev.Server != nil
}

var unused = Metric{
	study.Metric{
		Name: "unused", Unit: "responses", Title: "Unused responses",
		Definition: "Responses that the server log shows and that answered no request of the page's: pushed ones that the page did not ask for, or had asked for already, and those that the browser itself asked for on Early Hints and then did not use. Their octets are in the bytes of the load, they are not in its requests.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		n := 0
		for _, times := range unusedResponses(ev) {
			n += times
		}
		return float64(n), ev.Server != nil && ev.HAR != nil
	},
}
