package metric

import (
	"fmt"
	"maps"
	"slices"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/media/player"
	"wiretime/study"
)

// checkSessions is rule 2 for streams: the first session was opened within the capture
// and from nothing, and at handovers the client did what its strategy says.
//
//	reconnect  a new session, without early data
//	0-rtt      a new session, which begins with early data once there was an answer in
//	           one before it
//
// With migrate and multihome there may be a new session after a handover, or none: that
// one is lost is what is measured then.
func checkSessions(ev *evidence.Evidence) []study.Violation {
	if ev.Stream == nil {
		return nil // rule 4 says so
	}
	return slices.Concat(warmSession(ev), openedOutside(ev), earlyData(ev), newSessions(ev))
}

// keepsSession tells whether the stream was to go on in the same session after a
// handover.
func keepsSession(ev *evidence.Evidence) bool {
	return ev.Stream.Strategy == study.StrategyMigrate || ev.Stream.Strategy == study.StrategyMultihome
}

// warmSession finds that the first session knew of one before the stream.
func warmSession(ev *evidence.Evidence) []study.Violation {
	resumed, early := false, false
	if first := slices.IndexFunc(ev.Stream.Figures.Sessions, isOpen); first >= 0 && first < len(ev.Stream.Sessions) {
		resumed, early = ev.Stream.Sessions[first].Resumed, ev.Stream.Sessions[first].EarlyData
	}
	const firstConnection = 1
	for i := range ev.Server {
		if e := &ev.Server[i]; e.Connection == firstConnection {
			resumed, early = resumed || e.Resumed, early || e.EarlyData
		}
	}
	var list []study.Violation
	if resumed {
		list = append(list, violation(2, "the first session resumed a TLS session from before the stream"))
	}
	if early {
		list = append(list, violation(2, "the first session began with early data, as if there had been one before the stream"))
	}
	return list
}

func isOpen(s player.Session) bool { return s.Open > 0 }

// openedOutside finds flows on which the server answered but whose opening the capture
// does not hold. One to which a session has come, or that is another way of it, needs
// none.
func openedOutside(ev *evidence.Evidence) []study.Violation {
	if ev.Packets == nil || keepsSession(ev) {
		return nil
	}
	unopened := map[capture.Flow]bool{}
	for _, f := range ev.Flows() {
		unopened[f.Flow] = f.Opens == ""
	}
	flows := map[string]bool{}
	for i := range ev.Server {
		if flow, err := mediaEndpoints(ev, &ev.Server[i]); err == nil && unopened[flow] {
			flows[flow.String()] = true
		}
	}
	if len(flows) == 0 {
		return nil
	}
	list := slices.Sorted(maps.Keys(flows))
	return []study.Violation{violation(2, "%s carried requests without an opening in the capture: %s", english.Count(len(list), "session"), some(list))}
}

// earlyData finds early data where none were to be, and none where some were.
func earlyData(ev *evidence.Evidence) []study.Violation {
	answered := answeredSessions(&ev.Stream.Figures)
	var with, without []string
	known := false
	for i, s := range ev.Stream.Sessions {
		session := fmt.Sprintf("session %d", i+1)
		if s.EarlyData {
			with = append(with, session)
		} else if known && answered[i+1] {
			without = append(without, session)
		}
		known = known || answered[i+1]
	}
	if ev.Stream.Strategy != study.StrategyZeroRTT {
		for i := range ev.Server {
			if e := &ev.Server[i]; e.EarlyData && len(with) == 0 {
				with = append(with, fmt.Sprintf("connection %d of the server log", e.Connection))
			}
		}
		if len(with) > 0 {
			return []study.Violation{violation(2, "early data came with strategy %s: %s", ev.Stream.Strategy, some(with))}
		}
		return nil
	}
	if len(without) > 0 {
		return []study.Violation{violation(2, "%s, opened after another had been answered, went without early data: %s", english.Count(len(without), "session"), some(without))}
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
func newSessions(ev *evidence.Evidence) []study.Violation {
	f := &ev.Stream.Figures
	if keepsSession(ev) || len(f.Sessions) > len(f.Handovers) {
		return nil
	}
	return []study.Violation{violation(2, "with strategy %s there is a new session after each handover, but the viewer had %s and %s in all",
		ev.Stream.Strategy, english.Count(len(f.Handovers), "handover"), english.Count(len(f.Sessions), "session"))}
}
