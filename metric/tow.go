package metric

import (
	"time"

	"wiretime/capture"
)

// maxAckDelay is how long a QUIC receiver may hold back an acknowledgment
// unless it announced otherwise (RFC 9000, section 18.2).
const maxAckDelay = 25 * time.Millisecond

var tow = Metric{
	Name: "tow", Unit: "ms", Title: "ToW",
	Definition: "Time on wire, at the client's interfaces: from the first packet the client sends for the load " +
		"(DNS query, TCP SYN or QUIC packet with a long header; on a connection that was open before, the first that carries data) until the last packet that carries the load's data or acknowledges it. " +
		"The load's data is what passed until the last HAR entry from the network ended; what comes after it is tear-down " +
		"(FIN, RST, TLS and HTTP/2 farewells, QUIC's CONNECTION_CLOSE) and left out. " +
		"TCP: the last acknowledgment is the last segment that acknowledges octets of that data for the first time, whenever it comes. " +
		"QUIC, whose acknowledgments are encrypted: the last packet the client sends on UDP port 443 no later than 25 ms " +
		"(the protocol's default max_ack_delay) after the end of the last entry, so that up to 25 ms may be too much if the client closes at once. " +
		"Of a journey, the pauses between its pages are left out, as from the PLT.",
	Of: timeOnWire,
}

func timeOnWire(l *Load) (float64, bool) {
	end := lastEnd(l.fetched())
	if end.IsZero() {
		return 0, false
	}
	dataEnd, ackEnd := end.UnixNano(), end.Add(maxAckDelay).UnixNano()
	var first, last int64
	streams := map[capture.Flow]*stream{}
	connected := l.Visit == visitConnected
	for p, h := range l.atClient() {
		isQuestion := connected && p.Time >= l.Timing.NavigationStart && h.PayloadLength > 0
		if first == 0 && !p.Inbound && (starts(h) || isQuestion) {
			first = p.Time
		}
		isData := p.Time <= dataEnd
		switch {
		case h.Flow.Protocol == capture.TCP:
			if connected && streams[h.Flow] == nil && !h.Flags.Has(capture.SYN) {
				streams[h.Flow] = newStream(h.Sequence - 1)
			}
			carries, covers := follow(streams, h, isData), acknowledges(streams, h)
			if carries || covers {
				last = p.Time
			}
		case isQUIC(h.Flow) && (isData || !p.Inbound && p.Time <= ackEnd):
			last = p.Time
		}
	}
	if first == 0 || last < first {
		return 0, false
	}
	return milliseconds(last - first - int64(l.idle())), true
}

// starts tells whether a packet from the client may be the first of a load;
// what is left of an earlier load is none.
func starts(h capture.Headers) bool {
	isQuery := h.Flow.Protocol == capture.UDP && h.Flow.Destination.Port() == portDNS
	return isQuery || opens(h)
}

func isQUIC(f capture.Flow) bool {
	return f.Protocol == capture.UDP && (f.Source.Port() == portHTTPS || f.Destination.Port() == portHTTPS)
}

// follow takes note of a segment's payload and tells whether it is data of the
// load: payload on a connection that was opened in the capture.
func follow(streams map[capture.Flow]*stream, h capture.Headers, isData bool) bool {
	if h.Flags.Has(capture.SYN) {
		if s := streams[h.Flow]; s == nil || uint32(s.start) != h.Sequence {
			streams[h.Flow] = newStream(h.Sequence)
		}
		return false
	}
	s := streams[h.Flow]
	if s == nil || !isData || h.PayloadLength == 0 {
		return false
	}
	s.next = max(s.next, s.number(h.Sequence)+int64(h.PayloadLength))
	return true
}

// acknowledges takes note of a segment's acknowledgment and tells whether it
// covers data of the load that none before it covered.
func acknowledges(streams map[capture.Flow]*stream, h capture.Headers) bool {
	s := streams[h.Flow.Reverse()]
	if s == nil || !h.Flags.Has(capture.ACK) || h.Flags.Has(capture.RST) {
		return false
	}
	covered := min(s.number(h.Acknowledgment), s.next)
	if covered <= s.acked {
		return false
	}
	s.acked = covered
	return true
}
