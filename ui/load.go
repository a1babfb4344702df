package ui

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"wiretime/capture"
	"wiretime/critical"
	"wiretime/report"
	"wiretime/store"
)

// loadAnswer is a load with what it left, in the words of a report.
type loadAnswer struct {
	report.Data
	Load    loadFacts       `json:"load"`
	Path    []pagePath      `json:"path,omitempty"` // one for each page with an onLoad
	Packets *report.Traffic `json:"packets,omitempty"`
}

// loadFacts is what a report leaves out about a load.
type loadFacts struct {
	attempt
	ID       string        `json:"id"`
	Number   int           `json:"number"` // its cell's index in the overview
	Key      string        `json:"key"`    // its cell's name in the store
	Axes     []report.Fact `json:"axes"`
	Index    int           `json:"index"` // place in the plan, from 0
	Seed     uint64        `json:"seed,string"`
	Pages    []page        `json:"pages,omitempty"`
	Programs []report.Fact `json:"programs,omitempty"` // that it follows from, on the virtual clock
	Files    []file        `json:"files"`
	Return   string        `json:"dropped,omitempty"`  // how the dropped artefacts come back
	Missing  string        `json:"missing,omitempty"`  // why there is no waterfall, or no packets
	Previous string        `json:"previous,omitempty"` // load of the cell
	Next     string        `json:"next,omitempty"`
}

// page is one page of several. Times are ms.
type page struct {
	URL     string  `json:"url"`
	Started float64 `json:"started"`
	DCL     float64 `json:"dcl"`
	OnLoad  float64 `json:"onload"`
	PLT     float64 `json:"plt"`
}

// pagePath is the critical path of a page.
type pagePath struct {
	Page    string     `json:"page"`
	OnLoad  int64      `json:"onLoad"` // ns
	Late    int64      `json:"late"`   // ns that late packets can have moved it by
	Verdict string     `json:"verdict"`
	Steps   [][6]int64 `json:"steps"` // from, to in us since navigation start; kind (of Data.Kinds); phase, URL (of Data.Words); whether packets show it
}

func (s *Server) load(r *http.Request) (any, error) {
	id := r.PathValue("load")
	return s.kept("load "+id, func(st *store.Store) (any, error) { return s.describe(st, id) })
}

// describe reads all that the page shows of a load.
func (s *Server) describe(st *store.Store, id string) (*loadAnswer, error) {
	l, err := st.Load(id)
	if err != nil {
		return nil, err
	}
	files, paths := s.Files, []*critical.Path(nil)
	if files.Paths != nil {
		files.Paths = func(l store.Load, har *capture.HAR) ([]*critical.Path, error) {
			paths, err = s.Files.Paths(l, har)
			return paths, err
		}
	}
	var missing error
	data, cell, loads, err := report.OfLoad(st, l, files)
	if err != nil { // such as a capture that is damaged, or was deleted: the figures can be shown all the same
		missing = err
		if data, cell, loads, err = report.OfLoad(st, l, report.Files{}); err != nil {
			return nil, err
		}
	}
	answer := &loadAnswer{Data: data, Load: loadFacts{attempt: attemptOf(l), ID: l.ID, Number: cell, Key: l.Cell.Key(), Axes: axesOf(l.Cell), Index: l.Index, Seed: l.Seed, Files: []file{}}}
	for _, p := range l.Pages {
		answer.Load.Pages = append(answer.Load.Pages, page(p))
	}
	if at := slices.IndexFunc(loads, func(other store.Load) bool { return other.ID == l.ID }); at >= 0 {
		if at > 0 {
			answer.Load.Previous = loads[at-1].ID
		}
		if at+1 < len(loads) {
			answer.Load.Next = loads[at+1].ID
		}
	}
	answer.addPaths(paths)
	if err := s.addFiles(st, l, answer, missing); err != nil {
		return nil, err
	}
	return answer, nil
}

// addPaths adds the steps of critical paths, whose words it adds to those of the waterfall.
func (a *loadAnswer) addPaths(paths []*critical.Path) {
	words := map[string]int64{}
	for i, w := range a.Words {
		words[w] = int64(i)
	}
	word := func(text string) int64 {
		i, ok := words[text]
		if !ok {
			i = int64(len(a.Words))
			words[text] = i
			a.Words = append(a.Words, text)
		}
		return i
	}
	for _, p := range paths {
		described := pagePath{Page: p.Page, OnLoad: p.OnLoad, Late: p.Late, Verdict: p.Verdict(), Steps: [][6]int64{}}
		for _, s := range p.Steps {
			seen := int64(0)
			if s.Seen {
				seen = 1
			}
			described.Steps = append(described.Steps, [6]int64{micro(s.From), micro(s.To), int64(s.Kind), word(string(s.Phase)), word(s.URL), seen})
		}
		a.Path = append(a.Path, described)
	}
}

func micro(ns int64) int64 { return int64(math.Round(float64(ns) / 1e3)) }

// addFiles adds the load's files, how it was made, and its packets.
func (s *Server) addFiles(st *store.Store, l store.Load, answer *loadAnswer, missing error) error {
	making, err := st.Making(l.ID)
	if err != nil {
		return err
	}
	if making != nil {
		for _, name := range sortedKeys(making.Programs) {
			answer.Load.Programs = append(answer.Load.Programs, report.Fact{Name: name, Value: making.Programs[name]})
		}
	}
	switch {
	case l.Dropped:
		answer.Load.Return = s.Return(st, l)
		return nil
	case l.Artefacts == "":
		answer.Load.Missing = "it left no files"
		return nil
	case missing != nil:
		answer.Load.Missing = missing.Error()
	}
	var packets *capture.Packets
	if packets, err = s.Packets(l); err == nil && packets != nil {
		var began time.Time
		if began, err = s.Began(l); err == nil {
			if began.IsZero() && len(packets.Records) > 0 {
				began = time.Unix(0, packets.Records[0].Time)
			}
			answer.Packets = report.NewTraffic(packets, began)
		}
	}
	switch {
	case err != nil && answer.Load.Missing == "":
		answer.Load.Missing = err.Error()
	case packets == nil && answer.Load.Missing == "":
		answer.Load.Missing = "it left no capture"
	}
	answer.Load.Files, err = listFiles(l, packets)
	return err
}

// connections returns what both ends of each connection of a load sent.
func (s *Server) connections(r *http.Request) (any, error) {
	id := r.PathValue("load")
	return s.kept("connections "+id, func(st *store.Store) (any, error) {
		l, err := s.withFiles(st, id)
		if err != nil {
			return nil, err
		}
		har, err := s.Files.HAR(l)
		if err != nil {
			return nil, err
		}
		if har == nil {
			return nil, fmt.Errorf("read the connections of load %s: it has no page: %w", id, errNotFound)
		}
		connections, err := s.Files.Connections(l)
		if err != nil {
			return nil, err
		}
		return report.NewConnections(har, connections), nil
	})
}

// withFiles returns a load whose artefacts are there.
func (s *Server) withFiles(st *store.Store, id string) (store.Load, error) {
	l, err := st.Load(id)
	switch {
	case err != nil:
		return l, err
	case l.Dropped:
		return l, fmt.Errorf("read the files of load %s: %w; %s", id, errGone, s.Return(st, l))
	case l.Artefacts == "":
		return l, fmt.Errorf("read the files of load %s: it left no files: %w", id, errNotFound)
	}
	return l, nil
}

// compare returns two loads, and why they differ as far as that can be said.
func (s *Server) compare(r *http.Request) (any, error) {
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	return s.kept("compare "+strconv.Quote(a)+strconv.Quote(b), func(st *store.Store) (any, error) {
		var answer struct {
			A          *loadAnswer `json:"a"`
			B          *loadAnswer `json:"b"`
			Difference any         `json:"difference,omitempty"`
			Reason     string      `json:"reason,omitempty"` // why there is no difference
		}
		var err error
		if answer.A, err = s.describe(st, a); err != nil {
			return nil, err
		}
		if answer.B, err = s.describe(st, b); err != nil {
			return nil, err
		}
		var loads [2]store.Load
		for i, id := range []string{a, b} {
			if loads[i], err = st.Load(id); err != nil {
				return nil, err
			}
		}
		if answer.Difference, err = s.Difference(st, loads[0], loads[1]); err != nil {
			answer.Reason = err.Error()
		}
		return answer, nil
	})
}
