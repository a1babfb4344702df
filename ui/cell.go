package ui

import (
	"fmt"
	"net/http"
	"time"

	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
)

// cellAnswer is a cell with its loads, in the words of a report.
type cellAnswer struct {
	report.Data
	Number   int           `json:"number"` // the cell's index in the overview
	Key      string        `json:"key"`    // its name in the store
	Axes     []report.Fact `json:"axes"`
	Attempts []attempt     `json:"attempts"`          // parallel to Data.Loads
	Missing  string        `json:"missing,omitempty"` // why the median load's files could not be read
}

// attempt is what a report leaves out about a load.
type attempt struct {
	Started    time.Time   `json:"started"`
	Wall       float64     `json:"wall"` // ms of real time that it took, all included
	Violations []violation `json:"violations,omitempty"`
	HasFiles   bool        `json:"hasFiles"`   // its artefacts are there
	WasDropped bool        `json:"wasDropped"` // it had artefacts, of which the store has kept the checksums alone
}

// violation is a validity rule that a load breaks, and how.
type violation struct {
	Rule   int    `json:"rule"`
	Detail string `json:"detail"`
}

func attemptOf(l store.Load) attempt {
	a := attempt{Started: l.Started, Wall: float64(l.Wall) / 1e6, HasFiles: l.Artefacts != "", WasDropped: l.Dropped}
	for _, v := range l.Violations {
		a.Violations = append(a.Violations, violation(v))
	}
	return a
}

// axesOf lists a cell's values by their axes.
func axesOf(c study.Cell) []report.Fact {
	facts := []report.Fact{}
	for _, v := range c.Values {
		facts = append(facts, report.Fact{Name: string(v.Axis), Value: v.Word})
	}
	return facts
}

func (s *Server) cell(r *http.Request) (any, error) {
	run, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	cell, err := number(r, "cell")
	if err != nil {
		return nil, err
	}
	files := s.Files
	if r.URL.Query().Get("light") != "" {
		files = report.Files{}
	}
	return s.kept(fmt.Sprintf("cell %d %d %v", run, cell, files.HAR != nil), func(st *store.Store) (any, error) {
		answer := cellAnswer{Number: int(cell), Attempts: []attempt{}}
		data, loads, err := report.OfCell(st, run, int(cell), files)
		if err != nil && files.HAR != nil { // the figures can be shown without the files
			answer.Missing = err.Error()
			data, loads, err = report.OfCell(st, run, int(cell), report.Files{})
		}
		if err != nil {
			return nil, err
		}
		answer.Data = data
		for i, l := range loads {
			if i == 0 {
				answer.Key, answer.Axes = l.Cell.Key(), axesOf(l.Cell)
			}
			answer.Attempts = append(answer.Attempts, attemptOf(l))
		}
		return answer, nil
	})
}
