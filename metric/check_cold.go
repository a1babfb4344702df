package metric

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"wiretime/capture"
)

// checkCold is rule 2: nothing came from a cache that was filled before the
// load, no TLS session was taken up again, and every connection was opened
// within the capture.
func checkCold(l *Load) []Violation {
	var list []Violation
	if urls := cachedBefore(l); len(urls) > 0 {
		list = append(list, Violation{2, fmt.Sprintf("the browser had %s in a cache before the load: %s", count(len(urls), "resource"), some(urls))})
	}
	resumed := map[string]bool{}
	for i := range l.Server {
		if e := &l.Server[i]; e.Resumed {
			resumed[e.Client+" > "+e.Server] = true
		}
	}
	if len(resumed) > 0 {
		flows := slices.Sorted(maps.Keys(resumed))
		list = append(list, Violation{2, fmt.Sprintf("%s resumed an earlier TLS session: %s", count(len(flows), "connection"), some(flows))})
	}
	if l.Packets == nil {
		return list
	}
	return append(list, openedBefore(l)...)
}

// cachedBefore lists the URLs that came from a cache without having been
// fetched earlier in the same load. A page that names an image twice gets it
// from memory the second time, which is no warmth.
func cachedBefore(l *Load) []string {
	var urls []string
	fetched := map[string]bool{}
	for _, e := range l.entries() {
		url := normalURL(e.Request.URL)
		if e.FromCache == "" {
			fetched[url] = true
		} else if !fetched[url] {
			urls = append(urls, e.Request.URL)
		}
	}
	return urls
}

// openedBefore finds connections that were used in the load but whose
// handshake the capture does not hold.
func openedBefore(l *Load) []Violation {
	var warm []string
	perAddress := map[netip.Addr]int{}
	quicServers := map[netip.AddrPort]bool{}
	connections := l.connections()
	for _, c := range connections {
		if c.established() {
			perAddress[c.flow.Destination.Addr()]++
			quicServers[c.flow.Destination] = quicServers[c.flow.Destination] || c.flow.Protocol == capture.UDP
		}
	}
	used := map[capture.Flow]bool{}
	for i := range l.Server {
		if flow, err := endpoints(&l.Server[i]); err == nil {
			used[flow] = true
		}
	}
	for _, c := range connections {
		migrated := c.flow.Protocol == capture.UDP && quicServers[c.flow.Destination]
		if used[c.flow] && !c.established() && !migrated {
			warm = append(warm, c.flow.String())
		}
	}
	var list []Violation
	if len(warm) > 0 {
		list = append(list, Violation{2, fmt.Sprintf("%s carried requests without a handshake in the capture: %s", count(len(warm), "connection"), some(warm))})
	}
	reported := map[netip.Addr]map[string]bool{}
	for _, e := range l.fetched() {
		address, err := netip.ParseAddr(e.ServerIPAddress)
		if err != nil || e.Connection == "" || e.Connection == "0" {
			continue
		}
		if reported[address] == nil {
			reported[address] = map[string]bool{}
		}
		reported[address][e.Connection] = true
	}
	for _, address := range slices.SortedFunc(maps.Keys(reported), netip.Addr.Compare) {
		if browser, wire := len(reported[address]), perAddress[address]; browser > wire {
			list = append(list, Violation{2, fmt.Sprintf("the browser used %s to %s, but the capture holds the handshakes of %d", count(browser, "connection"), address, wire)})
		}
	}
	return list
}
