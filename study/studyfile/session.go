package studyfile

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
	"wiretime/study"
)

// session reads the browser session that the loads of a cell share. The matrix must have been read.
func (r *reader) session(n ast.Node) {
	m, ok := r.mapping(n, "session", "loads", "every")
	if !ok {
		return
	}
	var s study.Session
	if n, ok := m.need("loads", "say how many loads a session has, as in loads: 100"); ok {
		s.Loads, _ = r.integer(n, "loads of a session", 2, study.MaxSession)
	}
	if n, ok := m.get("every"); ok {
		r.aboveZero(n, "every", 20*time.Second, &s.Every)
	}
	if visits := r.study.Matrix[study.AxisVisit]; slices.Contains(visits, study.VisitCold) {
		r.fail(n, "only the first load of a session is cold; write under visits how the others find the client, as in visits: [cached]")
	}
	if r.study.Options.TearDown {
		r.fail(n, "the loads of a session share its client, whose connections the option tear_down closes; remove one of the two")
	}
	if s.Every > 0 && slices.ContainsFunc(r.study.Networks, handsOver) {
		r.fail(n, "every cannot be combined with a network that has handovers; remove every, or the handovers")
	}
	if r.study.UseSession(s); len(r.errs) == 0 {
		r.tooManyCells(n)
	}
}

// onLoad reads a value on the axis of loads: the number of a load in the sessions, or a range of them.
func (r *reader) onLoad(n ast.Node) (string, bool) {
	word, ok := r.text(n, "a load")
	if !ok {
		return "", false
	}
	_, last, err := study.ParseLoads(word)
	if err != nil {
		r.fail(n, "%v", err)
		return "", false
	}
	if most := len(r.study.Matrix[study.AxisLoad]); last > most {
		if most == 1 {
			r.fail(n, "the study has no load %s: each of its loads has a session of its own; add session: {loads: %d}, or remove load", word, last)
		} else {
			r.fail(n, "the study has no load %d: its sessions have %d", last, most)
		}
		return "", false
	}
	return word, true
}

// wholeSessions refuses a selection that names loads, where sessions are measured whole or not at all.
func (m mapping) wholeSessions() {
	if n, ok := m.get(string(study.AxisLoad)); ok {
		m.r.fail(n, "a session is measured as a whole; remove load")
	}
}

func handsOver(p network.Path) bool { return len(p.Handovers()) > 0 }
