package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wiretime/english"
	"wiretime/store"
	"wiretime/study"
)

// programSite precedes a site's reference in what a load follows from (store.Making) and in a run's environment.
const programSite = "site "

// making returns what the loads of a cell follow from, by the first of them that says so; nil if none does.
func making(st *store.Store, loads []store.Load) (map[string]string, error) {
	for _, l := range loads {
		if l.Validity != store.Valid {
			continue
		}
		m, err := st.Making(l.ID)
		if err != nil || m == nil {
			return nil, err
		}
		return m.Programs, nil
	}
	return nil, nil
}

// siteOf returns the checksum of the content of a cell's site, "" if nothing says it.
func siteOf(s Side, c study.Cell, made map[string]string) string {
	site := c.On(study.AxisSite)
	if sum := made[programSite+site]; sum != "" {
		return sum
	}
	var e map[string]json.RawMessage
	var sums map[string]string
	if json.Unmarshal(s.Run.Environment, &e) != nil || json.Unmarshal(e[study.SitesKey], &sums) != nil {
		return ""
	}
	return sums[site]
}

// environmentNames are the keys of an environment whose difference is worth a note where loads do not name the programs that they follow
// from, and how a note calls them.
var environmentNames = []struct{ key, name string }{
	{"wiretime", "Wiretime"},
	{"browser", "Chromium"},
	{"firefox", "Firefox"},
	{"kernel", "the kernel"},
	{"cpu", "the processor"},
	{"cores", "the number of processors"},
	{"quic-go", "quic-go"},
}

// describe says what else differs between two runs that are compared: the reader must know it, but it may be the very thing
// that is compared.
func describe(a, b Side, pairs []cells) []string {
	var notes []string
	for _, s := range []Side{a, b} {
		if s.Run.Done < s.Run.Planned {
			notes = append(notes, fmt.Sprintf("Run %d of %s is not finished: %d of %d loads are done.", s.Run.ID, s.Store.Dir(), s.Run.Done, s.Run.Planned))
		}
		if n := s.excluded(); n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s invalid or failed and not counted.", s.Name, were(n)))
		}
	}
	if a.Store.Dir() == b.Store.Dir() && a.Run.ID == b.Run.ID {
		return notes
	}
	if a.Run.Quick() != b.Run.Quick() {
		notes = append(notes, "One of the runs is a quick one: it measures only a part of its study.")
	}
	if a.Run.StudyText != b.Run.StudyText {
		notes = append(notes, "The study files differ, and with them perhaps options that cells do not show.")
	}
	if a.Run.Seed != b.Run.Seed {
		notes = append(notes, fmt.Sprintf("The studies' seeds differ, %d and %d: losses and delays are drawn anew.", a.Run.Seed, b.Run.Seed))
	}
	if slices.ContainsFunc(pairs, func(p cells) bool { return p.a.Cell.Clock() != study.ClockVirtual }) {
		notes = append(notes, environments(a, b)...)
	}
	return notes
}

func were(n int) string {
	if n == 1 {
		return "1 attempt was"
	}
	return english.Count(n, "attempt") + " were"
}

func environments(a, b Side) []string {
	var first, second map[string]any
	if json.Unmarshal(a.Run.Environment, &first) != nil || json.Unmarshal(b.Run.Environment, &second) != nil {
		return nil
	}
	say := func(v any) string {
		if v == nil {
			return "unknown"
		}
		return fmt.Sprint(v)
	}
	var notes []string
	note := func(name string, x, y any) {
		if from, to := say(x), say(y); from != to {
			notes = append(notes, fmt.Sprintf("%s differs: %s, then %s.", strings.ToUpper(name[:1])+name[1:], from, to))
		}
	}
	for _, n := range environmentNames {
		note(n.name, first[n.key], second[n.key])
	}
	for _, key := range slices.Sorted(maps.Keys(first)) {
		if name, is := strings.CutPrefix(key, study.ServerVersionKey("")); is {
			note(name, first[key], second[key])
		}
	}
	return notes
}

// differentPrograms says which programs that loads on the virtual clock follow from differ: this program, the kernel, browsers and servers.
func differentPrograms(a, b map[string]string) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if was, is := a[name], b[name]; was != is && is != "" && !strings.HasPrefix(name, programSite) {
			notes = append(notes, fmt.Sprintf("The program %s differs: %s, then %s.", name, was, is))
		}
	}
	return notes
}

// differentMetric says why a metric of two runs is not one figure; note says what else the reader must know.
func differentMetric(a, b Side, name string) (refused, note string) {
	x, inA := a.metric(name)
	y, inB := b.metric(name)
	switch {
	case !inA || !inB:
		return fmt.Sprintf("only one of the runs has the metric %s", name), ""
	case x.Unit != y.Unit:
		return fmt.Sprintf("the metric %s is in %s in the first run and in %s in the second", name, x.Unit, y.Unit), ""
	case x.Definition != y.Definition:
		return "", fmt.Sprintf("The definition of %s changed: %q, then %q.", x.Title, x.Definition, y.Definition)
	}
	return "", ""
}
