package metric

import (
	"fmt"
	"net/url"

	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// otherProtocol is what rule 1 leaves to other people's hosts.
var otherProtocol = Metric{
	study.Metric{
		Name: "other_protocol", Unit: "requests", Title: "Other protocol",
		Definition: "Live clock: requests to hosts other than the page's own that were answered over another protocol than the one asked for.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		wanted, own, n := ev.Protocol, ownHosts(ev), 0
		if wanted == "https/1.1" {
			wanted = "http/1.1"
		}
		for _, e := range ev.Fetched() {
			was := spokenOn(e)
			if answered(e) && !own[host(e.Request.URL)] && (was.protocol != wanted || was.clear != (ev.Protocol == "http/1.1")) {
				n++
			}
		}
		return float64(n), ev.Live != nil && ev.HAR != nil
	},
}

// failedElsewhere is what rule 4 leaves to other people's hosts.
var failedElsewhere = Metric{
	study.Metric{
		Name: "failed_elsewhere", Unit: "requests", Title: "Failed elsewhere",
		Definition: "Live clock: requests to hosts other than the page's own that failed or were not answered.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		own, n := ownHosts(ev), 0
		for _, e := range ev.Fetched() {
			if evidence.Failed(e) && !own[host(e.Request.URL)] {
				n++
			}
		}
		return float64(n), ev.Live != nil && ev.HAR != nil
	},
}

var captureLost = Metric{
	study.Metric{
		Name: "capture_lost", Unit: "packets", Title: "Lost from the capture",
		Definition: "Live clock: packets of all connections of this machine that the kernel dropped from the capture because they were not read in time (PACKET_STATISTICS). " +
			"If there are any, the metrics that need the capture have no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		if ev.Live == nil || !ev.Live.Captured {
			return 0, false
		}
		return float64(ev.Live.Lost), true
	},
}

// ownHosts returns the hosts of a load on the live clock for whose servers its study speaks: that of the page's URL, and
// those to which its document was redirected. It returns nil for a load on another clock, which has no others.
func ownHosts(ev *evidence.Evidence) map[string]bool {
	if ev.Live == nil {
		return nil
	}
	own := map[string]bool{host(ev.Live.Page): true}
	next := evidence.Address(ev.Live.Page)
	for _, e := range ev.Entries() {
		if evidence.Address(e.Request.URL) != next || e.Response.RedirectURL == "" {
			continue
		}
		base, err := url.Parse(e.Request.URL)
		if err != nil {
			continue
		}
		if target, err := base.Parse(e.Response.RedirectURL); err == nil {
			next = evidence.Address(target.String())
			own[host(next)] = true
		}
	}
	return own
}

// checkOwnResources is rule 4 on the live clock, where the browser alone tells what was fetched: it got what it asked the
// page's own hosts for. What failed elsewhere is counted (metric failed_elsewhere): a page whose advertisements
// do not come is still that page.
func checkOwnResources(ev *evidence.Evidence) []study.Violation {
	if ev.HAR == nil {
		return []study.Violation{violation(4, "the load has no HAR")}
	}
	var failures []string
	own := ownHosts(ev)
	for _, e := range ev.Fetched() {
		if evidence.Failed(e) && e.Unawaited == "" && own[host(e.Request.URL)] {
			failures = append(failures, fmt.Sprintf("%s (%s)", nameOf(e.Request.Method, e.Request.URL), reason(e)))
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return []study.Violation{violation(4, "the browser did not get %s: %s", english.Count(len(failures), "resource"), some(failures))}
}
