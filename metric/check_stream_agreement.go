package metric

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/study"
)

// checkStreamAgreement is rule 4 for streams: the record, the server and the wire tell
// the same story, and so do the network's manager and the viewer.
func checkStreamAgreement(ev *evidence.Evidence) []study.Violation {
	if ev.Stream == nil {
		return []study.Violation{violation(4, "the stream has no record to compare the rest with")}
	}
	var list []study.Violation
	if ev.Server == nil && len(answeredSessions(&ev.Stream.Figures)) > 0 {
		list = append(list, violation(4, "the stream has no server log to compare the rest with"))
	}
	if ev.Packets == nil {
		list = append(list, violation(4, "the stream has no packets to compare the rest with"))
	}
	if of, in := len(ev.Stream.Figures.Sessions), len(ev.Stream.Sessions); of != in {
		list = append(list, violation(4, "the viewer had %s, but the record tells of %d of them how they went", english.Count(of, "session"), in))
	}
	if len(list) > 0 {
		return list
	}
	return slices.Concat(compareMediaRequests(ev), compareMediaSizes(ev), compareServed(ev), compareSessions(ev), compareHandovers(ev))
}

// compareMediaRequests holds the viewer's requests against the server log. What the
// viewer asked for need not have reached the server, and an answer need not have
// reached the viewer.
func compareMediaRequests(ev *evidence.Evidence) []study.Violation {
	unanswered, unasked := map[string]int{}, map[string]int{}
	for i := range ev.Server {
		what := pieceOf(ev.Server[i].URL)
		unanswered[what]--
		unasked[what]++
	}
	for _, e := range ev.Stream.Figures.Timeline {
		what := nameOfPiece(e.Resolution, e.Segment)
		switch e.Event {
		case player.Asked:
			unasked[what]--
		case player.Answered:
			unanswered[what]++
		}
	}
	connections := map[int64]bool{}
	for i := range ev.Server {
		connections[ev.Server[i].Connection] = true
	}
	var list []study.Violation
	if pieces := surplusOf(unanswered); len(pieces) > 0 {
		list = append(list, violation(4, "the viewer had %s that the server log does not show: %s", english.Count(len(pieces), "answer"), some(pieces)))
	}
	if pieces := surplusOf(unasked); len(pieces) > 0 {
		list = append(list, violation(4, "the server answered %s that the viewer did not make: %s", english.Count(len(pieces), "request"), some(pieces)))
	}
	row, _ := transportOf(ev.Protocol)
	each := 1
	if row.wire.Protocol() == capture.TCP { // whose connections carry one request at a time
		each = max(ev.Stream.Parallel, 1)
	}
	if had := len(ev.Stream.Figures.Sessions); len(connections) > each*had {
		list = append(list, violation(4, "the server answered on %s, but the viewer had %s", english.Count(len(connections), "connection"), english.Count(had, "session")))
	}
	return list
}

// surplusOf lists what is there more than 0 times, as often.
func surplusOf(times map[string]int) (list []string) {
	for _, what := range slices.Sorted(maps.Keys(times)) {
		for range times[what] {
			list = append(list, what)
		}
	}
	return list
}

// nameOfPiece names a segment as the server log's URLs end: "hd/7". A file is one
// piece.
func nameOfPiece(r player.Resolution, segment int) string {
	if r == player.Plain {
		return "the file"
	}
	return fmt.Sprintf("%v/%d", r, segment)
}

// pieceOf names what a URL of the server log is for: "media:clip/hd/7?offset=100&length=0",
// "media:file".
func pieceOf(url string) string {
	path, _, _ := strings.Cut(url, "?")
	if parts := strings.Split(path, "/"); len(parts) > 2 {
		var r player.Resolution
		segment, err := strconv.Atoi(parts[len(parts)-1])
		if err == nil && r.UnmarshalText([]byte(parts[len(parts)-2])) == nil {
			return nameOfPiece(r, segment)
		}
	}
	return nameOfPiece(player.Plain, 0)
}

// compareMediaSizes holds the octets that the viewer received against those that the
// server handed to its connections, and those that reached the client.
func compareMediaSizes(ev *evidence.Evidence) []study.Violation {
	var served, arrived int64
	for i := range ev.Server {
		served += ev.Server[i].BodyBytes
	}
	for p := range ev.AtClient() {
		if p.Inbound {
			arrived += int64(p.PayloadLength)
		}
	}
	var list []study.Violation
	received := ev.Stream.Figures.Received
	if received > served {
		list = append(list, violation(4, "the viewer received %d octets, but the server log adds up to %d", received, served))
	}
	if received > arrived && !ev.CaptureCut {
		list = append(list, violation(4, "the viewer received %d octets, but only %d octets reached the client", received, arrived))
	}
	return list
}

// compareServed holds the server log against the packets: each flow on which the server
// answered passed the client's interfaces, as long as packets were kept.
func compareServed(ev *evidence.Evidence) []study.Violation {
	shown, end := shownUntil(ev)
	flowOf := func(e *capture.ServerEntry) (capture.Flow, error) { return mediaEndpoints(ev, e) }
	return absentFlows(ev, "flow", flowOf, func(f capture.Flow, e *capture.ServerEntry) bool {
		return shown[f] || time.Unix(0, e.Start).After(end)
	})
}

// compareSessions holds the viewer's sessions against the packets: something of what the
// viewer tried was sent, and each session that was opened left from where the record
// says, as long as packets were kept.
func compareSessions(ev *evidence.Evidence) []study.Violation {
	row, _ := transportOf(ev.Protocol)
	shown, end := shownUntil(ev)
	if tried := len(ev.Stream.Figures.Sessions); len(shown) == 0 && tried > 0 {
		return []study.Violation{violation(4, "the viewer tried to open %s, but nothing of that passed the client's interfaces", english.Count(tried, "session"))}
	}
	sources := map[netip.AddrPort]bool{}
	for flow := range shown {
		if flow.Protocol == row.wire.Protocol() {
			sources[source(ev, flow.Source)] = true
		}
	}
	var absent []string
	for i, s := range ev.Stream.Figures.Sessions {
		local := ev.Stream.Sessions[i].Local
		over := ev.Stream.Started.Add(s.Closed).After(end) // what came of it may be missing
		if isOpen(s) && local.IsValid() && !over && !sources[source(ev, local)] {
			absent = append(absent, fmt.Sprintf("session %d from %s", i+1, local))
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return []study.Violation{violation(4, "the viewer had %s that the packets do not show: %s", english.Count(len(absent), "session"), some(absent))}
}

// source is by what a session is known at the client's end: where its packets leave from
// or, if it has several addresses, of which the record has one, its port alone.
func source(ev *evidence.Evidence, local netip.AddrPort) netip.AddrPort {
	if ev.Stream.Strategy == study.StrategyMultihome {
		return netip.AddrPortFrom(netip.Addr{}, local.Port())
	}
	return netip.AddrPortFrom(local.Addr().Unmap(), local.Port())
}

// shownUntil are the flows that the packets show, and the moment until which they show
// all.
func shownUntil(ev *evidence.Evidence) (shown map[capture.Flow]bool, end time.Time) {
	shown = map[capture.Flow]bool{}
	for _, f := range ev.Flows() {
		shown[f.Flow] = true
	}
	if ev.CaptureCut {
		return shown, lastCaptured(ev)
	}
	return shown, time.Unix(1<<40, 0) // for good
}

// mediaEndpoints is endpoints for a stream: the transport says what IP carries.
func mediaEndpoints(ev *evidence.Evidence, e *capture.ServerEntry) (capture.Flow, error) {
	flow, err := endpoints(ev, e)
	row, _ := transportOf(ev.Protocol)
	flow.Protocol = row.wire.Protocol()
	return flow, err
}

// handoverSlack is how long before the end of a stream a handover may have been due of
// which the viewer did not hear any more.
const handoverSlack = time.Second

// compareHandovers holds what the network's manager planned against what the viewer was
// told: the same access links in the same order, until the stream was over.
func compareHandovers(ev *evidence.Evidence) []study.Violation {
	var planned []string
	due := 0
	for _, e := range ev.Stream.Manager {
		if e.Access == "" {
			continue
		}
		planned = append(planned, e.Access)
		if ev.Stream.Epoch >= 0 && ev.Stream.Epoch+e.At+handoverSlack < ev.Stream.Figures.Duration {
			due++
		}
	}
	var told []string
	for _, h := range ev.Stream.Figures.Handovers {
		told = append(told, h.Access)
	}
	if len(told) > len(planned) || !slices.Equal(told, planned[:len(told)]) {
		return []study.Violation{violation(4, "the network's manager planned handovers to %s, but the viewer was told of %s", some(planned), some(told))}
	}
	if len(told) < due {
		return []study.Violation{violation(4, "%s of the network's manager came while the stream lasted, but the viewer was told of %d", english.Count(due, "handover"), len(told))}
	}
	return nil
}

// lastCaptured is when the last packet of the capture passed; the zero time without
// any.
func lastCaptured(ev *evidence.Evidence) (last time.Time) {
	for i := range ev.Packets.Records {
		if at := time.Unix(0, ev.Packets.Records[i].Time); at.After(last) {
			last = at
		}
	}
	return last
}
