package metric

import (
	"fmt"
	"maps"
	"slices"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/media/player"
)

// The strategies of streams at handovers that keep the session.
const (
	strategyMigrate   = "migrate"
	strategyMultihome = "multihome"
)

// keepsSession tells whether the stream was to go on in the same session after a
// handover.
func (l *Load) keepsSession() bool {
	return l.Stream.Strategy == strategyMigrate || l.Stream.Strategy == strategyMultihome
}

// checkTransport is rule 1 for streams: the record, the server and the packets all have
// the transport that was asked for.
func checkTransport(l *Load) []Violation {
	row, known := transportOf(l.Protocol)
	if !known {
		return []Violation{{1, fmt.Sprintf("what packets of the transport %q look like is not known", l.Protocol)}}
	}
	var list []Violation
	if l.Stream.Transport != l.Protocol {
		list = append(list, Violation{1, fmt.Sprintf("the stream's record is of the transport %s, not of %s", l.Stream.Transport, l.Protocol)})
	}
	wanted := []spoken{{protocol: l.Protocol, clear: !row.tls}}
	served := map[spoken][]string{}
	for i := range l.Server {
		e := &l.Server[i]
		was := spoken{protocol: e.Protocol, clear: e.TLS == ""}
		served[was] = append(served[was], e.URL)
	}
	list = append(list, strangers(wanted, served, "the server log shows")...)
	others := map[wire][]string{}
	for _, f := range l.mediaFlows() {
		if f.opens != "" && f.opens != row.wire { // what a load before has left behind opens nothing
			others[f.opens] = append(others[f.opens], f.flow.String())
		}
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		list = append(list, Violation{1, fmt.Sprintf("the capture has sessions of %s, not of %s alone: %s", other, row.wire, some(others[other]))})
	}
	return list
}

// checkSessions is rule 2 for streams: the first session was opened within the capture
// and from nothing, and at handovers the client did what its strategy says.
//
//	reconnect  a new session, without early data
//	0-rtt      a new session, which begins with early data once there was an answer in
//	           one before it
//
// With migrate and multihome there may be a new session after a handover, or none: that
// one is lost is what is measured then.
func checkSessions(l *Load) []Violation {
	return slices.Concat(warmSession(l), openedOutside(l), earlyData(l), newSessions(l))
}

// warmSession finds that the first session knew of one before the stream.
func warmSession(l *Load) []Violation {
	resumed, early := false, false
	if first := slices.IndexFunc(l.Stream.Figures.Sessions, isOpen); first >= 0 && first < len(l.Stream.Sessions) {
		resumed, early = l.Stream.Sessions[first].Resumed, l.Stream.Sessions[first].EarlyData
	}
	const firstConnection = 1
	for i := range l.Server {
		if e := &l.Server[i]; e.Connection == firstConnection {
			resumed, early = resumed || e.Resumed, early || e.EarlyData
		}
	}
	var list []Violation
	if resumed {
		list = append(list, Violation{2, "the first session resumed a TLS session from before the stream"})
	}
	if early {
		list = append(list, Violation{2, "the first session began with early data, as if there had been one before the stream"})
	}
	return list
}

func isOpen(s player.Session) bool { return s.Open > 0 }

// openedOutside finds flows on which the server answered but whose opening the capture
// does not hold. One to which a session has come, or that is another way of it, needs
// none.
func openedOutside(l *Load) []Violation {
	if l.Packets == nil || l.keepsSession() {
		return nil
	}
	unopened := map[capture.Flow]bool{}
	for _, f := range l.mediaFlows() {
		unopened[f.flow] = f.opens == ""
	}
	flows := map[string]bool{}
	for i := range l.Server {
		if flow, err := l.mediaEndpoints(&l.Server[i]); err == nil && unopened[flow] {
			flows[flow.String()] = true
		}
	}
	if len(flows) == 0 {
		return nil
	}
	list := slices.Sorted(maps.Keys(flows))
	return []Violation{{2, fmt.Sprintf("%s carried requests without an opening in the capture: %s", english.Count(len(list), "session"), some(list))}}
}

// earlyData finds early data where none were to be, and none where some were.
func earlyData(l *Load) []Violation {
	answered := answeredSessions(&l.Stream.Figures)
	var with, without []string
	known := false
	for i, s := range l.Stream.Sessions {
		session := fmt.Sprintf("session %d", i+1)
		if s.EarlyData {
			with = append(with, session)
		} else if known && answered[i+1] {
			without = append(without, session)
		}
		known = known || answered[i+1]
	}
	if l.Stream.Strategy != strategyZeroRTT {
		for i := range l.Server {
			if e := &l.Server[i]; e.EarlyData && len(with) == 0 {
				with = append(with, fmt.Sprintf("connection %d of the server log", e.Connection))
			}
		}
		if len(with) > 0 {
			return []Violation{{2, fmt.Sprintf("early data came with strategy %s: %s", l.Stream.Strategy, some(with))}}
		}
		return nil
	}
	if len(without) > 0 {
		return []Violation{{2, fmt.Sprintf("%s, opened after another had been answered, went without early data: %s", english.Count(len(without), "session"), some(without))}}
	}
	return nil
}

// answeredSessions are those in which a response began, counted from 1.
func answeredSessions(f *player.Figures) map[int]bool {
	answered, session := map[int]bool{}, 0
	for _, e := range f.Timeline {
		switch e.Event {
		case player.Connecting:
			session = e.Session
		case player.Answered, player.PastEnd:
			answered[session] = true
		}
	}
	return answered
}

// newSessions finds handovers without a new session, where each was to have one.
func newSessions(l *Load) []Violation {
	f := &l.Stream.Figures
	if l.keepsSession() || len(f.Sessions) > len(f.Handovers) {
		return nil
	}
	return []Violation{{2, fmt.Sprintf("with strategy %s there is a new session after each handover, but the viewer had %s and %s in all",
		l.Stream.Strategy, english.Count(len(f.Handovers), "handover"), english.Count(len(f.Sessions), "session"))}}
}
