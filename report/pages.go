package report

import (
	"slices"
	"strings"

	"wiretime/store"
	"wiretime/study"
)

var pageKind = kind{
	contenders:   []study.Axis{study.AxisProtocol, study.AxisServer, study.AxisStrategy},
	apart:        []study.Axis{study.AxisVisit, study.AxisLoad, study.AxisStrategy, study.AxisServer, study.AxisTCPWindow, study.AxisTLS},
	strategy:     describeStrategy,
	metrics:      []string{"dcl", "onload", "plt", "tow"},
	overview:     []string{"onload", "lcp", "fcp", "dcl", "plt", "tow", "ttfb"},
	clockMetrics: []string{"plt"},
	followed:     []string{"plt", "onload"},
	fewest:       3,
	checks:       checksOfPages,
	network:      func(_ Axes, c study.Cell) Network { return describePath(c.Network) },
	extend:       func(*Data, Axes, []store.Result) {},
}

// pageChecks are the validity rules that are checked for each load. The other rules hold by the
// way a study is run.
var pageChecks = []Check{
	{Rule: 1, Title: "Every connection used the protocol that the cell asked for, by the browser's account and by the server's"},
	{Rule: 2, Title: "Connections and caches were cold", Short: "not cold"},
	{Rule: 3, Title: "The emulator sent its packets on time, within the study's limit", Short: "with late packets"},
	{Rule: 4, Title: "HAR, server log and packets agree on what was fetched", Short: "with captures that disagree"},
	{Rule: 7, Title: "What others took of the processors cannot have moved the load by more than the study's limit, and nobody set the machine's clock", Short: "disturbed by others"},
}

func checksOfPages(a Axes) []Check {
	all := slices.Clone(pageChecks)
	if a.Visits {
		all[1].Title, all[1].Short = "The client knew of the site what the cell's visit says, and no more", "not as their visit says"
	}
	return all
}

// describeStrategy explains how a page's client uses connections.
func describeStrategy(name string) string {
	connections := map[string]string{"parallel": "6 connections", "pipelined": "1 connection", "threads": "6 connections"}
	word := name
	for _, numbered := range []string{"parallel", "pipelined", "threads"} {
		if n, ok := strings.CutPrefix(name, numbered+"-"); ok {
			word = numbered
			connections[numbered] = n + " connections"
			if n == "1" {
				connections[numbered] = "1 connection"
			}
		}
	}
	switch word {
	case study.StrategyBrowser:
		return "As browsers do: over HTTP/1.1 up to 6 connections per host, over other protocols one per origin for all requests."
	case "sequential":
		return "One request at a time, each on a connection of its own."
	case "threads":
		return "Up to " + connections[word] + " in all, each for a single request."
	case "keep-alive":
		return "One request at a time, on one connection per origin."
	case "parallel":
		return "Up to " + connections[word] + " per host, each with one request at a time."
	case "unlimited":
		return "A connection for each request that finds none idle."
	case "pipelined":
		return "Requests are sent without waiting for answers, on up to " + connections[word] + " per host."
	case "multiplexed":
		return "One connection per origin for all requests at once."
	}
	return ""
}
