package metric

import (
	"maps"
	"slices"
	"strings"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// checkProtocol is rule 1: browser and server both saw the protocol that was
// asked for, or the one to fall back to, on every request that was answered. On the live clock
// that holds for the page's own hosts: other hosts offer what they like, which is counted (metric other_protocol).
// The server must also have seen the version of TLS that was asked for.
func checkProtocol(ev *evidence.Evidence) []study.Violation {
	wanted := []spoken{{protocol: ev.Protocol, clear: ev.Protocol == "http/1.1"}}
	if ev.Protocol == "https/1.1" {
		wanted[0].protocol = "http/1.1"
	}
	if ev.Protocol == "h3" && ev.Fallback != "" {
		wanted = append(wanted, spoken{protocol: ev.Fallback})
	}
	browser, server := map[spoken][]string{}, map[spoken][]string{}
	versions := map[string][]string{}
	own := ownHosts(ev)
	for _, e := range ev.Fetched() {
		if !answered(e) || own != nil && !own[host(e.Request.URL)] {
			continue
		}
		was := spokenOn(e)
		browser[was] = append(browser[was], e.Request.Method+" "+e.Request.URL)
	}
	for i := range ev.Server {
		e := &ev.Server[i]
		was := spoken{protocol: e.Protocol, clear: e.TLS == ""}
		server[was] = append(server[was], e.Method+" "+e.URL)
		if ev.TLS != "" && e.TLS != "" && e.TLS != ev.TLS {
			versions[e.TLS] = append(versions[e.TLS], e.Method+" "+e.URL)
		}
	}
	list := slices.Concat(strangers(wanted, browser, "the browser reports"), strangers(wanted, server, "the server log shows"))
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		list = append(list, violation(1, "the server log shows %s over %s, not over %s: %s", english.Count(len(versions[version]), "request"), version, ev.TLS, some(versions[version])))
	}
	return list
}

// answered reports whether a request was answered.
func answered(e *capture.Entry) bool { return !evidence.Failed(e) && e.Response.Status != 0 }

// spokenOn returns how a request was carried, by the browser's report.
func spokenOn(e *capture.Entry) spoken {
	protocol := e.Protocol
	if protocol == "" {
		protocol = strings.ToLower(e.Response.HTTPVersion)
	}
	return spoken{protocol: protocol, clear: strings.HasPrefix(e.Request.URL, "http:")}
}

// spoken is how a request was carried.
type spoken struct {
	protocol string
	clear    bool // without TLS
}

func (s spoken) String() string {
	name := s.protocol
	if name == "" {
		name = "an unnamed protocol"
	}
	if s.clear {
		return name + " without TLS"
	}
	return name + " over TLS"
}

func strangers(wanted []spoken, requests map[spoken][]string, who string) []study.Violation {
	var list []study.Violation
	for _, was := range slices.SortedFunc(maps.Keys(requests), func(a, b spoken) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.Contains(wanted, was) {
			urls := requests[was]
			list = append(list, violation(1, "%s %s as %s, not as %s: %s", who, english.Count(len(urls), "request"), was, wanted[0], some(urls)))
		}
	}
	return list
}

// checkTransport is rule 1 for streams: the record, the server and the packets all have
// the transport that was asked for.
func checkTransport(ev *evidence.Evidence) []study.Violation {
	if ev.Stream == nil {
		return nil // rule 4 says so
	}
	row, known := transportOf(ev.Protocol)
	if !known {
		return []study.Violation{violation(1, "what packets of the transport %q look like is not known", ev.Protocol)}
	}
	var list []study.Violation
	if ev.Stream.Transport != ev.Protocol {
		list = append(list, violation(1, "the stream's record is of the transport %s, not of %s", ev.Stream.Transport, ev.Protocol))
	}
	wanted := []spoken{{protocol: ev.Protocol, clear: !row.tls}}
	served := map[spoken][]string{}
	for i := range ev.Server {
		e := &ev.Server[i]
		was := spoken{protocol: e.Protocol, clear: e.TLS == ""}
		served[was] = append(served[was], e.URL)
	}
	list = append(list, strangers(wanted, served, "the server log shows")...)
	others := map[evidence.Wire][]string{}
	for _, f := range ev.Flows() {
		if f.Opens != "" && f.Opens != row.wire { // what a load before has left behind opens nothing
			others[f.Opens] = append(others[f.Opens], f.Flow.String())
		}
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		list = append(list, violation(1, "the capture has sessions of %s, not of %s alone: %s", other, row.wire, some(others[other])))
	}
	return list
}
