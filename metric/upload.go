package metric

import (
	"net/http"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/study"
)

// Uploads returns the metrics and checks of uploads. The metrics say how long the upload took for the client, how fast the
// sink received it, what it cost on the wire, and how far to trust these figures.
func Uploads() Set {
	return Set{
		Metrics: []Metric{
			uploadTime, firstAnswer, firstOctet, intakeTime, uploadGoodput,
			rounds, uploadRetransmissions, drops, connectionCount,
			bytesUp, bytesDown, packetsUp, packetsDown,
			lateP50, lateP99, lateMax,
		},
		Checks: []Check{checkProtocol, checkVisit, checkAgreement, checkUpload, checkWindows},
	}
}

// ofPost returns a metric of the request that uploaded. The metric has no value if the request was not answered.
func ofPost(m study.Metric, of func(*capture.Entry) float64) Metric {
	return Metric{m, func(ev *evidence.Evidence) (float64, bool) {
		post := postOf(ev)
		if post == nil || evidence.Failed(post) {
			return 0, false
		}
		return of(post), true
	}}
}

// postOf returns the HAR's entry of the upload, nil if there is none.
func postOf(ev *evidence.Evidence) *capture.Entry {
	for _, e := range ev.Fetched() {
		if e.Request.Method == http.MethodPost {
			return e
		}
	}
	return nil
}

// intakeOf returns what the sink received, or nil if that was nothing or is not known.
func intakeOf(ev *evidence.Evidence) *capture.Received {
	for i := range ev.Server {
		if r := ev.Server[i].Received; r != nil && r.Octets > 0 {
			return r
		}
	}
	return nil
}

var uploadTime = ofPost(study.Metric{
	Name: "upload_time", Unit: "ms", Title: "Upload",
	Definition: "From the start of the client's request until the sink's answer was complete. The sink answers when it has received all octets. " +
		"With the loader fetch, look-up and handshakes are included. A browser has loaded the page that posts before, and uses its connection.",
}, func(post *capture.Entry) float64 { return post.Time })

var firstAnswer = ofPost(study.Metric{
	Name: "answered", Unit: "ms", Title: "Answered",
	Definition: "From the start of the client's request until the first octet of the sink's answer arrived.",
}, func(post *capture.Entry) float64 { return post.Time - max(0, post.Timings.Receive) })

var firstOctet = Metric{
	study.Metric{
		Name: "first_octet", Unit: "ms", Title: "First octet",
		Definition: "From the start of the client's request until the sink had read the first octets of its content.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		post, in := postOf(ev), intakeOf(ev)
		if post == nil || in == nil {
			return 0, false
		}
		return milliseconds(in.First - post.Started.UnixNano()), true
	},
}

var intakeTime = Metric{
	study.Metric{
		Name: "intake", Unit: "ms", Title: "Intake",
		Definition: "Time at the sink from the first octets read of the content to the last: the upload without look-up, handshakes and answer.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		in := intakeOf(ev)
		if in == nil {
			return 0, false
		}
		return milliseconds(in.Last - in.First), true
	},
}

var uploadGoodput = Metric{
	study.Metric{
		Name: "goodput", Unit: "Mbit/s", Title: "Goodput",
		Definition: "Rate of the content that the sink received: its octets divided by upload_time. Headers of any layer are not content.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		ms, ok := uploadTime.Of(ev)
		in := intakeOf(ev)
		if !ok || in == nil || ms <= 0 {
			return 0, false
		}
		return float64(in.Octets) * 8 / 1e3 / ms, true
	},
}

var uploadRetransmissions = Metric{
	study.Metric{
		Name: "retransmissions", Unit: "packets", Title: "Retransmissions",
		Definition: "TCP: segments of both directions, as they left their sender, that begin at or before an octet (or SYN) the sender had already sent. " +
			"Over QUIC there is no value: its retransmissions do not show on the wire, and the client, which sends most packets, does not report which of them it declared lost.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		if ev.Protocol == "h3" {
			return 0, false
		}
		return countRetransmissions(ev)
	},
}

var rounds = Metric{
	study.Metric{
		Name: "rounds", Unit: "rounds", Title: "Rounds",
		Definition: "Round trips of the TCP connection on which the client sent most octets, at the client's interface. A round begins with a segment with payload, " +
			"and ends when an acknowledgment covers all octets that had been sent at its beginning; if more have been sent since, the next round begins at once. The rounds of TLS's handshake count. " +
			"Over QUIC, whose acknowledgments are encrypted, there is no value.",
	},
	func(ev *evidence.Evidence) (float64, bool) {
		if ev.Protocol == "h3" || ev.Packets == nil {
			return 0, false
		}
		var busiest roundCount
		for _, c := range countRounds(ev) {
			if c.octets > busiest.octets {
				busiest = *c
			}
		}
		return float64(busiest.rounds), busiest.octets > 0
	},
}

// roundCount counts the rounds in which a client sends on a TCP connection.
type roundCount struct {
	*sender
	until  int64 // the acknowledgment that ends the round; 0: no round is under way
	rounds int
	octets int64 // of payload, each counted once
}

// countRounds counts the rounds of each TCP connection that was opened in the capture, by its flow from the client.
func countRounds(ev *evidence.Evidence) map[capture.Flow]*roundCount {
	all := map[capture.Flow]*roundCount{}
	for p := range ev.AtClient() {
		if p.Flow.Protocol != capture.TCP || p.Flow.Destination.Port() == evidence.PortDNS {
			continue
		}
		if !p.Inbound && p.Opens() {
			all[p.Flow] = &roundCount{sender: newSender(p.Sequence)}
			continue
		}
		c := all[p.FromClient()]
		switch {
		case c == nil:
		case !p.Inbound && p.PayloadLength > 0:
			end := c.number(p.Sequence) + int64(p.PayloadLength)
			c.octets += max(0, end-c.next)
			c.next = max(c.next, end)
			if c.until == 0 {
				c.until = end
			}
		case p.Inbound && p.Flags.Has(capture.ACK):
			acked := c.number(p.Acknowledgment)
			if c.until == 0 || acked < c.until {
				break
			}
			c.rounds++
			c.until = 0
			if c.next > acked {
				c.until = c.next
			}
		}
	}
	return all
}
