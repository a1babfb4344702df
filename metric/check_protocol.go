package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/english"
)

// checkProtocol is rule 1: browser and server both saw the protocol that was
// asked for, or the one to fall back to, on every request that was answered.
func checkProtocol(l *Load) []Violation {
	wanted := []spoken{{protocol: l.Protocol, clear: l.Protocol == "http/1.1"}}
	if l.Protocol == "https/1.1" {
		wanted[0].protocol = "http/1.1"
	}
	if l.Protocol == "h3" && l.Fallback != "" {
		wanted = append(wanted, spoken{protocol: l.Fallback})
	}
	browser, server := map[spoken][]string{}, map[spoken][]string{}
	for _, e := range l.fetched() {
		if failed(e) || e.Response.Status == 0 {
			continue
		}
		protocol := e.Protocol
		if protocol == "" {
			protocol = strings.ToLower(e.Response.HTTPVersion)
		}
		was := spoken{protocol: protocol, clear: strings.HasPrefix(e.Request.URL, "http:")}
		browser[was] = append(browser[was], e.Request.Method+" "+e.Request.URL)
	}
	for i := range l.Server {
		e := &l.Server[i]
		was := spoken{protocol: e.Protocol, clear: e.TLS == ""}
		server[was] = append(server[was], e.Method+" "+e.URL)
	}
	return append(
		strangers(wanted, browser, "the browser reports"),
		strangers(wanted, server, "the server log shows")...)
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

func strangers(wanted []spoken, requests map[spoken][]string, who string) []Violation {
	var list []Violation
	for _, was := range slices.SortedFunc(maps.Keys(requests), func(a, b spoken) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.Contains(wanted, was) {
			urls := requests[was]
			list = append(list, Violation{1, fmt.Sprintf("%s %s as %s, not as %s: %s", who, english.Count(len(urls), "request"), was, wanted[0], some(urls))})
		}
	}
	return list
}
