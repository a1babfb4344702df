package metric

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// checkVisit is rule 2: the client knew of the site what its visit says, and not
// more.
//
//	cold       nothing came from a cache that was filled before the load, no TLS
//	           session was taken up again, every connection was opened within the
//	           capture; the first load of a session may resume TLS sessions of its own
//	resumed    as cold, but at each origin a TLS session was taken up again
//	0rtt       as resumed, and each origin was sent early data
//	cached     as resumed, but for the cache
//	connected  nothing came from a cache, and no origin had to be connected to anew
//	again      as connected, but for the cache
//	reload     as again, and the page's document was requested
//
// Only 0rtt has early data. Where the cache is kept, nothing that must be in it is
// fetched whole. No visit has a 304 in answer to an unconditional request.
func checkVisit(ev *evidence.Evidence) []study.Violation {
	return append(checkClient(ev), unasked(ev)...)
}

// checkClient returns signs that the client was not in the state of the visit.
func checkClient(ev *evidence.Evidence) []study.Violation {
	switch ev.Visit {
	case study.VisitResumed:
		return slices.Concat(cachedBefore(ev), notResumed(ev), early(ev), openedBefore(ev))
	case study.VisitZeroRTT:
		return slices.Concat(cachedBefore(ev), notResumed(ev), notEarly(ev), openedBefore(ev))
	case study.VisitCached:
		return slices.Concat(notCached(ev), notResumed(ev), early(ev), openedBefore(ev))
	case study.VisitConnected:
		return slices.Concat(cachedBefore(ev), connectedAnew(ev), early(ev))
	case study.VisitAgain:
		return slices.Concat(notCached(ev), connectedAnew(ev), early(ev))
	case study.VisitReload:
		return slices.Concat(notCached(ev), notReloaded(ev), connectedAnew(ev), early(ev))
	}
	if ev.First {
		return slices.Concat(cachedBefore(ev), early(ev), openedBefore(ev))
	}
	return slices.Concat(cachedBefore(ev), resumed(ev), early(ev), openedBefore(ev))
}

// cachedBefore finds resources that came from a cache without having been
// fetched earlier in the same load. A page that names an image twice gets it
// from memory the second time, which is no warmth.
func cachedBefore(ev *evidence.Evidence) []study.Violation {
	var urls []string
	fetched := map[string]bool{}
	for _, e := range ev.Entries() {
		url := evidence.Address(e.Request.URL)
		if e.FromCache == "" {
			fetched[url] = true
		} else if !fetched[url] {
			urls = append(urls, e.Request.URL)
		}
	}
	if len(urls) == 0 {
		return nil
	}
	return []study.Violation{violation(2, "the browser had %s in a cache before the load: %s", english.Count(len(urls), "resource"), some(urls))}
}

// resumed finds connections that took up a TLS session from before the load. On
// a journey, what an earlier page left behind is not from before.
func resumed(ev *evidence.Evidence) []study.Violation {
	left := leftBehind(ev)
	flows := map[string]bool{}
	for i := range ev.Server {
		e := &ev.Server[i]
		since, known := left[host(e.URL)]
		if e.Resumed && (!known || e.Start < since) {
			flows[e.Client+" > "+e.Server] = true
		}
	}
	if len(flows) == 0 {
		return nil
	}
	list := slices.Sorted(maps.Keys(flows))
	return []study.Violation{violation(2, "%s resumed an earlier TLS session: %s", english.Count(len(list), "connection"), some(list))}
}

// leftBehind is when the first page that had been to a host was there, in ns
// since the Unix epoch, by host. In a load of one page nothing can be left.
func leftBehind(ev *evidence.Evidence) map[string]int64 {
	left := map[string]int64{}
	if ev.HAR == nil || len(ev.HAR.Log.Pages) < 2 {
		return left
	}
	for _, page := range ev.HAR.Log.Pages {
		entries := ev.EntriesOf(page.ID)
		end := evidence.LastEnd(entries).UnixNano()
		for _, e := range entries {
			if h := host(e.Request.URL); left[h] == 0 || end < left[h] {
				left[h] = end
			}
		}
	}
	return left
}

// notResumed finds origins of an earlier visit at which no connection took up a
// TLS session again. That not all did is no fault: browsers keep fewer sessions
// than they open connections.
func notResumed(ev *evidence.Evidence) []study.Violation {
	return origins(ev, "without a resumed TLS session on any connection", func(e *capture.ServerEntry) bool {
		return e.TLS == "" || e.Resumed
	})
}

// early finds requests that came as early data.
func early(ev *evidence.Evidence) []study.Violation {
	var list []string
	for i := range ev.Server {
		if e := &ev.Server[i]; e.EarlyData {
			list = append(list, e.Method+" "+e.URL)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []study.Violation{violation(2, "%s came as early data: %s", english.Count(len(list), "request"), some(list))}
}

// notEarly finds origins of an earlier visit to which no request came as early data.
// Where the path lost of the client's first flight, that was to be expected and is no
// fault: the request is repeated when the handshake is done. A fallback has no early
// data.
func notEarly(ev *evidence.Evidence) []study.Violation {
	lost := map[capture.Flow]bool{}
	for _, c := range ev.Connections() {
		lost[c.Flow] = c.FlightLost
	}
	return origins(ev, "without early data", func(e *capture.ServerEntry) bool {
		flow, err := endpoints(ev, e)
		return e.EarlyData || e.Protocol != ev.Protocol || err == nil && lost[flow]
	})
}

// connectedAnew finds origins of an earlier visit that were asked on no
// connection from then. One more beside an open one is no fault: over HTTP/1.1
// that is what browsers do with more requests than there are connections. Nor is it a fault if an outage of
// a moving path may have ended the connections.
func connectedAnew(ev *evidence.Evidence) []study.Violation {
	if ev.Packets == nil || metOutage(ev, connectionsOutlast) {
		return nil
	}
	opened := map[capture.Flow]bool{}
	for _, c := range ev.Connections() {
		opened[c.Flow] = c.Opened
	}
	return origins(ev, "on new connections alone, as if none had been open", func(e *capture.ServerEntry) bool {
		flow, err := endpoints(ev, e)
		return err != nil || !opened[flow]
	})
}

// origins finds those hosts that an earlier visit had been to, which are at
// least those of the load's first page, and of whose requests none is as it
// should be.
func origins(ev *evidence.Evidence, how string, asItShouldBe func(*capture.ServerEntry) bool) []study.Violation {
	visited := map[string]bool{}
	for _, e := range ev.Fetched() {
		if len(ev.HAR.Log.Pages) == 0 || e.Page == "" || e.Page == ev.HAR.Log.Pages[0].ID {
			visited[host(e.Request.URL)] = true
		}
	}
	sound := map[string]bool{}
	for i := range ev.Server {
		e := &ev.Server[i]
		if h := host(e.URL); visited[h] {
			sound[h] = sound[h] || asItShouldBe(e)
		}
	}
	maps.DeleteFunc(sound, func(_ string, is bool) bool { return is })
	if len(sound) == 0 {
		return nil
	}
	hosts := slices.Sorted(maps.Keys(sound))
	return []study.Violation{violation(2, "%s, visited before, answered %s: %s", english.Count(len(hosts), "origin"), how, some(hosts))}
}

// host is that of a URL, with its port unless it is the scheme's.
func host(address string) string {
	u, err := url.Parse(evidence.Address(address))
	if err != nil {
		return address
	}
	return u.Host
}

// openedBefore finds connections that were used in the load but whose
// handshake the capture does not hold.
func openedBefore(ev *evidence.Evidence) []study.Violation {
	if ev.Packets == nil {
		return nil
	}
	var warm []string
	perAddress := map[netip.Addr]int{}
	quicServers := map[netip.AddrPort]bool{}
	connections := ev.Connections()
	for _, c := range connections {
		if c.Established() {
			perAddress[c.Flow.Destination.Addr()]++
			quicServers[c.Flow.Destination] = quicServers[c.Flow.Destination] || c.Flow.Protocol == capture.UDP
		}
	}
	used := map[capture.Flow]bool{}
	for i := range ev.Server {
		if flow, err := endpoints(ev, &ev.Server[i]); err == nil {
			used[flow] = true
		}
	}
	for _, c := range connections {
		migrated := c.Flow.Protocol == capture.UDP && quicServers[c.Flow.Destination]
		if used[c.Flow] && !c.Established() && !migrated {
			warm = append(warm, c.Flow.String())
		}
	}
	var list []study.Violation
	if len(warm) > 0 {
		list = append(list, violation(2, "%s carried requests without a handshake in the capture: %s", english.Count(len(warm), "connection"), some(warm)))
	}
	reported := map[netip.Addr]map[string]bool{}
	for _, e := range ev.Fetched() {
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
			list = append(list, violation(2, "the browser used %s to %s, but the capture holds the handshakes of %d", english.Count(browser, "connection"), address, wire))
		}
	}
	return list
}
