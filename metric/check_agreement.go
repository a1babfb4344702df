package metric

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// checkAgreement is rule 4: the browser, the server and the wire tell the same
// story. A fetch that failed breaks it too, since a page without one of its
// resources is another page; a miss does not, since browser and server agree
// on it, but is counted (metric misses).
//
// What the server pushed and the page never asked for is no disagreement either, nor what
// the browser asked for by itself on Early Hints and then did not use: browsers report what
// their pages ask for. It is counted (metric unused).
//
// A request that the load did not wait for need not have been answered, what its answer came
// to does not count, and the page may have gone on asking for the like.
//
// Of a server that keeps no log, the story has two tellers, and only a fetch that failed
// breaks the rule.
//
// A request for /favicon.ico that only the server saw is passed over: it is
// the browser's own, not the page's, and browsers do not report it. It shows
// among the misses if the archive lacks it.
func checkAgreement(ev *evidence.Evidence) []study.Violation {
	if ev.Live != nil {
		return checkOwnResources(ev)
	}
	var list []study.Violation
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"HAR", ev.HAR == nil},
		{"server log", ev.Server == nil && !ev.NoServerLog},
		{"packets", ev.Packets == nil},
	} {
		if part.missing {
			list = append(list, violation(4, "the load has no %s to compare the rest with", part.name))
		}
	}
	if len(list) > 0 {
		return list
	}
	return slices.Concat(compareRequests(ev), compareFlows(ev), compareSizes(ev))
}

// compareRequests holds the HAR against the server log: the same requests, the
// same number of times. What was pushed answers one.
func compareRequests(ev *evidence.Evidence) []study.Violation {
	var failures []string
	surplus, forgiven, goesOn := surplus(ev), map[string]int{}, map[string]bool{}
	for _, e := range ev.Fetched() {
		request := nameOf(e.Request.Method, e.Request.URL)
		if e.Unawaited != "" {
			forgiven[request]++
			goesOn[withoutQuery(request)] = true
		}
		if evidence.Failed(e) {
			forgiven[request]++
			failures = append(failures, fmt.Sprintf("%s (%s)", request, reason(e)))
		}
	}
	unused := unusedResponses(ev)
	var browserOnly, serverOnly []string
	for _, request := range slices.Sorted(maps.Keys(surplus)) {
		n := surplus[request]
		for range n - forgiven[request] {
			browserOnly = append(browserOnly, request)
		}
		if ownRequest := strings.HasPrefix(request, "GET ") && strings.HasSuffix(request, "/favicon.ico"); ownRequest || goesOn[withoutQuery(request)] {
			continue
		}
		for range -n - unused[request] {
			serverOnly = append(serverOnly, request)
		}
	}
	var list []study.Violation
	if len(failures) > 0 {
		list = append(list, violation(4, "the browser did not get %s: %s", english.Count(len(failures), "resource"), some(failures)))
	}
	if len(browserOnly) > 0 && !ev.NoServerLog {
		list = append(list, violation(4, "the browser reports %s that the server did not answer: %s", english.Count(len(browserOnly), "request"), some(browserOnly)))
	}
	if len(serverOnly) > 0 {
		list = append(list, violation(4, "the server answered %s that the browser does not report: %s", english.Count(len(serverOnly), "request"), some(serverOnly)))
	}
	return list
}

// nameOf is what makes two requests the same one.
func nameOf(method, address string) string { return method + " " + evidence.Address(address) }

func withoutQuery(request string) string {
	request, _, _ = strings.Cut(request, "?")
	return request
}

// surplus is how many more of each request the browser saw than the server.
func surplus(ev *evidence.Evidence) map[string]int {
	surplus := map[string]int{}
	for _, e := range ev.Fetched() {
		surplus[nameOf(e.Request.Method, e.Request.URL)]++
	}
	for i := range ev.Server {
		surplus[nameOf(ev.Server[i].Method, ev.Server[i].URL)]--
	}
	return surplus
}

// unusedResponses is how many responses that a page's requests did not ask for it did not use either,
// by the request that they would have answered: pushed ones, and those to what the server
// had hinted at.
func unusedResponses(ev *evidence.Evidence) map[string]int {
	unasked := map[string]int{}
	for i := range ev.Server {
		e := &ev.Server[i]
		if e.Pushed {
			unasked[nameOf(e.Method, e.URL)]++
		}
		for _, target := range targets(e.URL, e.Early) {
			unasked[nameOf("GET", target)]++
		}
	}
	surplus := surplus(ev)
	for request, n := range unasked {
		unasked[request] = max(0, min(n, -surplus[request]))
	}
	return unasked
}

// targets returns the URLs in Link fields of a response to a request for the URL of (RFC 8288 section 3).
func targets(of string, fields []string) []string {
	base, err := url.Parse(of)
	if err != nil {
		return nil
	}
	var list []string
	for _, field := range fields {
		for part := range strings.SplitSeq(field, "<") {
			target, _, isTarget := strings.Cut(part, ">")
			if u, err := base.Parse(target); isTarget && err == nil {
				list = append(list, u.String())
			}
		}
	}
	return list
}

func reason(e *capture.Entry) string {
	if e.Response.Error != "" {
		return e.Response.Error
	}
	return "no response"
}

// compareFlows holds the server log against the packets: each connection the
// server answered on passed the client's interfaces.
func compareFlows(ev *evidence.Evidence) []study.Violation {
	seen := map[capture.Flow]bool{}
	for _, c := range ev.Connections() {
		seen[c.Flow] = true
	}
	return absentFlows(ev, "connection", func(e *capture.ServerEntry) (capture.Flow, error) { return endpoints(ev, e) }, func(f capture.Flow, _ *capture.ServerEntry) bool { return seen[f] })
}

// absentFlows returns the violations of server log entries whose flow is unclear, or not shown by the
// packets.
func absentFlows(ev *evidence.Evidence, noun string, flowOf func(*capture.ServerEntry) (capture.Flow, error),
	shown func(capture.Flow, *capture.ServerEntry) bool) []study.Violation {
	absent, unclear := map[string]bool{}, map[string]bool{}
	for i := range ev.Server {
		flow, err := flowOf(&ev.Server[i])
		if err != nil {
			unclear[err.Error()] = true
		} else if !shown(flow, &ev.Server[i]) {
			absent[flow.String()] = true
		}
	}
	var list []study.Violation
	for _, sentence := range slices.Sorted(maps.Keys(unclear)) {
		list = append(list, study.Violation{Rule: 4, Detail: sentence})
	}
	if len(absent) > 0 {
		flows := slices.Sorted(maps.Keys(absent))
		list = append(list, violation(4, "the server answered on %s that the packets do not show: %s", english.Count(len(flows), noun), some(flows)))
	}
	return list
}

// compareSizes holds the server log against the packets: what the server says
// it served cannot be more than what reached the client. What was pushed is left out: a
// client that does not want it has it stopped on its way. So is what the load did not wait for.
func compareSizes(ev *evidence.Evidence) []study.Violation {
	var served, arrived int64
	unawaited := map[string]bool{}
	for _, e := range ev.Fetched() {
		if e.Unawaited != "" {
			unawaited[nameOf(e.Request.Method, e.Request.URL)] = true
		}
	}
	for i := range ev.Server {
		if e := &ev.Server[i]; !e.Pushed && !unawaited[nameOf(e.Method, e.URL)] {
			served += e.BodyBytes
		}
	}
	for p := range ev.AtClient() {
		if p.Inbound && p.Flow.Source.Port() != evidence.PortDNS {
			arrived += int64(p.PayloadLength)
		}
	}
	if arrived < served {
		return []study.Violation{violation(4, "the server log adds up to %d octets of bodies, but only %d octets reached the client", served, arrived)}
	}
	return nil
}
