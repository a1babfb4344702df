package metric

import (
	"cmp"
	"slices"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

var (
	dcl = moment("dcl", "DCL", "Navigation Timing's domContentLoadedEventStart, from navigationStart (onContentLoad in a HAR).",
		func(t *capture.Timing) float64 { return t.DCL })
	onload = moment("onload", "onLoad", "Navigation Timing's loadEventStart, from navigationStart.",
		func(t *capture.Timing) float64 { return t.OnLoad })
	ttfb = moment("ttfb", "TTFB", "Navigation Timing's responseStart of the document, from navigationStart.",
		func(t *capture.Timing) float64 { return t.TTFB })
	fcp = moment("fcp", "FCP", "Paint Timing's first-contentful-paint, from navigationStart.",
		func(t *capture.Timing) float64 { return t.FCP })
	lcp = moment("lcp", "LCP", "The last largest-contentful-paint the browser reported, from navigationStart.",
		func(t *capture.Timing) float64 { return t.LCP })
)

// moment returns the metric of a time on the browser's clock, which is -1 if the browser did not
// report it.
func moment(name, title, definition string, of func(*capture.Timing) float64) Metric {
	return Metric{
		study.Metric{Name: name, Unit: "ms", Title: title, Definition: definition},
		func(ev *evidence.Evidence) (float64, bool) {
			ms := of(&ev.Timing)
			return ms, ms >= 0
		},
	}
}

var plt = Metric{
	study.Metric{
		Name: "plt", Unit: "ms", Title: "PLT",
		Definition: "From navigationStart until the last byte of the last resource the page needs: " +
			"the latest end among the page's HAR entries, those for data: URLs and those that the load did not wait for left out. " +
			"Of several pages: the time in which at least one of them was being loaded, pauses on a journey left out.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		var sum time.Duration
		spans := spans(ev)
		for _, s := range spans {
			sum += s.to.Sub(s.from)
		}
		return milliseconds(int64(sum)), len(spans) > 0
	},
}

// span is when a page was being loaded.
type span struct{ from, to time.Time }

// spans are the times in which the load had a page to load, in their order: from
// navigationStart until the last byte of its last resource. Pages that were
// loaded at the same time share one.
func spans(ev *evidence.Evidence) []span {
	entries := ev.Entries()
	if len(entries) == 0 || ev.Timing.NavigationStart == 0 {
		return nil
	}
	start := time.Unix(0, ev.Timing.NavigationStart)
	pages := ev.HAR.Log.Pages
	if len(pages) < 2 {
		return []span{{start, evidence.LastEnd(entries)}}
	}
	var all []span
	for i := range pages {
		if own := ev.EntriesOf(pages[i].ID); len(own) > 0 {
			began := start.Add(pages[i].Started.Sub(pages[0].Started))
			all = append(all, span{began, evidence.LastEnd(own)})
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && !s.from.After(merged[n-1].to) {
			if s.to.After(merged[n-1].to) {
				merged[n-1].to = s.to
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// idle is how long, between its first page and its last, the load had none to
// load: on a journey, the time to think.
func idle(ev *evidence.Evidence) (sum time.Duration) {
	spans := spans(ev)
	for i := 1; i < len(spans); i++ {
		sum += spans[i].from.Sub(spans[i-1].to)
	}
	return sum
}

var tow = Metric{
	study.Metric{
		Name: "tow", Unit: "ms", Title: "ToW",
		Definition: "Time on wire, at the client's interfaces: from the first packet the client sends for the load " +
			"(DNS query, TCP SYN or QUIC packet with a long header; on a connection that was open before, the first that carries data) until the last packet that carries the load's data or acknowledges it. " +
			"The load's data is what passed until the last HAR entry from the network ended; what comes after it is tear-down " +
			"(FIN, RST, TLS and HTTP/2 farewells, QUIC's CONNECTION_CLOSE) and left out. " +
			"TCP: the last acknowledgment is the last segment that acknowledges octets of that data for the first time, whenever it comes. " +
			"QUIC, whose acknowledgments are encrypted: the last packet the client sends on UDP port 443 no later than 25 ms " +
			"(the protocol's default max_ack_delay) after the end of the last entry, so that up to 25 ms may be too much if the client closes at once. " +
			"Of a journey, the pauses between its pages are left out, as from the PLT.",
	},
	timeOnWire,
}

var towClosed = Metric{
	study.Metric{
		Name: "tow_closed", Unit: "ms", Title: "ToW to the last packet",
		Definition: "Time on wire with the tear-down, at the client's interfaces: from the first packet of the ToW until the last packet, in either direction, of any connection of the load " +
			"(TCP, or UDP on port 443), in a study with the option tear_down, in which the client closes its connections as soon as the load has ended. " +
			"No value if a TCP connection of the capture was not closed by both ends (FIN, or RST by either).",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		first, _, known := onWire(ev)
		last, closed := lastClosed(ev)
		if !ev.TearDown || !known || !closed || last < first {
			return 0, false
		}
		return milliseconds(last - first - int64(idle(ev))), true
	},
}

// maxAckDelay is how long a QUIC receiver may hold back an acknowledgment
// unless it announced otherwise (RFC 9000, section 18.2).
const maxAckDelay = 25 * time.Millisecond

// coarseness is more than the error of a browser's navigationStart. Chromium reports it to a tenth of a
// millisecond, and the request of a reload leaves at that moment.
const coarseness = time.Millisecond

func timeOnWire(ev *evidence.Evidence) (float64, bool) {
	first, last, known := onWire(ev)
	if !known {
		return 0, false
	}
	return milliseconds(last - first - int64(idle(ev))), true
}

// onWire returns when the first packet of the ToW passed the client's interfaces, and when the last did, in ns since
// the Unix epoch.
func onWire(ev *evidence.Evidence) (first, last int64, known bool) {
	end := evidence.LastEnd(ev.Fetched())
	if end.IsZero() {
		return 0, 0, false
	}
	dataEnd, ackEnd := end.UnixNano(), end.Add(maxAckDelay).UnixNano()
	senders := map[capture.Flow]*sender{}
	connected := study.KeepsConnections(ev.Visit)
	for p := range ev.AtClient() {
		isQuestion := connected && p.Time >= ev.Timing.NavigationStart-coarseness.Nanoseconds() && p.PayloadLength > 0
		if first == 0 && !p.Inbound && (starts(p) || isQuestion) {
			first = p.Time
		}
		isData := p.Time <= dataEnd
		switch {
		case p.Flow.Protocol == capture.TCP:
			if connected && senders[p.Flow] == nil && !p.Flags.Has(capture.SYN) {
				senders[p.Flow] = newSender(p.Sequence - 1)
			}
			carries, covers := follow(senders, p, isData), acknowledges(senders, p)
			if carries || covers {
				last = p.Time
			}
		case isQUIC(p.Flow) && (isData || !p.Inbound && p.Time <= ackEnd):
			last = p.Time
		}
	}
	return first, last, first != 0 && last >= first
}

// ends says which ends of a TCP connection have closed it.
type ends struct{ answered, client, server bool }

// lastClosed returns when the capture's last packet of TCP or QUIC passed the client's interfaces, in ns since the Unix
// epoch. It returns false if a TCP connection to which the server answered was still open then.
func lastClosed(ev *evidence.Evidence) (last int64, closed bool) {
	connections := map[capture.Flow]*ends{} // by the flow from the client
	for p := range ev.AtClient() {
		if isQUIC(p.Flow) {
			last = p.Time
		}
		if p.Flow.Protocol != capture.TCP {
			continue
		}
		last = p.Time
		flow := p.Flow
		if p.Inbound {
			flow = flow.Reverse()
		}
		if p.Opens() || connections[flow] == nil {
			connections[flow] = &ends{}
		}
		c := connections[flow]
		c.answered = c.answered || p.Inbound
		reset := p.Flags.Has(capture.RST)
		c.client = c.client || reset || !p.Inbound && p.Flags.Has(capture.FIN)
		c.server = c.server || reset || p.Inbound && p.Flags.Has(capture.FIN)
	}
	for _, c := range connections {
		if c.answered && !(c.client && c.server) {
			return 0, false
		}
	}
	return last, last != 0
}

// starts reports whether a packet from the client may be the first of a load. What is left of an earlier load is not.
func starts(p *evidence.Sighting) bool {
	isQuery := p.Flow.Protocol == capture.UDP && p.Flow.Destination.Port() == evidence.PortDNS
	return isQuery || p.Opens()
}

func isQUIC(f capture.Flow) bool {
	return f.Protocol == capture.UDP && (f.Source.Port() == evidence.PortHTTPS || f.Destination.Port() == evidence.PortHTTPS)
}

// follow takes note of a segment's payload and reports whether it is data of the load: payload on a connection that
// was opened in the capture.
func follow(senders map[capture.Flow]*sender, p *evidence.Sighting, isData bool) bool {
	if p.Flags.Has(capture.SYN) {
		if s := senders[p.Flow]; s == nil || uint32(s.start) != p.Sequence {
			senders[p.Flow] = newSender(p.Sequence)
		}
		return false
	}
	s := senders[p.Flow]
	if s == nil || !isData || p.PayloadLength == 0 {
		return false
	}
	s.next = max(s.next, s.number(p.Sequence)+int64(p.PayloadLength))
	return true
}

// acknowledges takes note of a segment's acknowledgment and reports whether it covers data of the load that none before
// it covered.
func acknowledges(senders map[capture.Flow]*sender, p *evidence.Sighting) bool {
	s := senders[p.Flow.Reverse()]
	if s == nil || !p.Flags.Has(capture.ACK) || p.Flags.Has(capture.RST) {
		return false
	}
	covered := min(s.number(p.Acknowledgment), s.next)
	if covered <= s.acked {
		return false
	}
	s.acked = covered
	return true
}
