package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"wiretime/report"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
)

// kept returns an answer about the store, which it makes unless the cache has it.
func (s *Server) kept(name string, make func(*store.Store) (any, error)) (encoded, error) {
	var body encoded
	err := s.stores.with(func(st *store.Store, version int64) error {
		var ok bool
		if body, ok = s.answers.of(name, version); ok {
			return nil
		}
		s.reading.Lock()
		defer s.reading.Unlock()
		if body, ok = s.answers.of(name, version); ok {
			return nil
		}
		work := begin()
		value, err := make(st)
		if err != nil {
			return err
		}
		if body, err = json.Marshal(value); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
		s.answers.keep(name, version, work, body)
		return nil
	})
	return body, err
}

// number reads a number in the address.
func number(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the %s %.40q: %w: it must be a number", name, r.PathValue(name), errInput)
	}
	return n, nil
}

// listedRun is a run in the list of runs.
type listedRun struct {
	ID       int64     `json:"id"`
	Study    string    `json:"study"`
	Title    string    `json:"title,omitempty"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Planned  int       `json:"planned"`
	Done     int       `json:"done"`
	Quick    bool      `json:"quick,omitempty"`
	Version  string    `json:"version"`
	Keep     string    `json:"keep"`
	Clock    string    `json:"clock"` // real, virtual or live; both for a run on the first two
	State    string    `json:"state"` // finished, running or interrupted
}

// runs lists the runs of the store, the latest first.
func (s *Server) runs(*http.Request) (any, error) {
	list := []listedRun{}
	err := s.stores.with(func(st *store.Store, _ int64) error {
		runs, err := st.Runs()
		if err != nil {
			return err
		}
		writing := store.Writer(s.Store) > 0
		for i, r := range slices.Backward(runs) {
			l := listedRun{ID: r.ID, Study: r.StudyName, Title: textIn(r.StudyText, "title"), Started: r.Started, Finished: r.Finished, Planned: r.Planned, Done: r.Done,
				Quick: r.Quick(), Version: r.Version, Keep: r.Keep, State: "finished"}
			switch {
			case !r.Finished.IsZero():
			case writing && i == len(runs)-1:
				l.State = "running"
			default:
				l.State = "interrupted"
			}
			if l.Clock, err = clockOf(st, r.ID); err != nil {
				return err
			}
			list = append(list, l)
		}
		return nil
	})
	return map[string]any{"runs": list}, err
}

// clockOf returns the clock of a run's cells, "both" for the real and the virtual one.
func clockOf(st *store.Store, run int64) (string, error) {
	cells, err := st.Cells(run)
	if err != nil || len(cells) == 0 {
		return "", err
	}
	clock := cells[0].Clock()
	if slices.ContainsFunc(cells, func(c study.Cell) bool { return c.Clock() != clock }) {
		return "both", nil
	}
	return clock, nil
}

// overview is what a report says of a run, without its loads.
func (s *Server) overview(r *http.Request) (any, error) {
	run, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	metrics, err := metricsIn(r)
	if err != nil {
		return nil, err
	}
	return s.kept(fmt.Sprintf("overview %d %s", run, strings.Join(metrics, ",")), func(st *store.Store) (any, error) {
		return report.CollectCells(st, run, metrics...)
	})
}

// mostMetrics is how many metrics one request may add to those of tables.
const mostMetrics = 12

func metricsIn(r *http.Request) ([]string, error) {
	asked := r.URL.Query().Get("metrics")
	if asked == "" {
		return nil, nil
	}
	metrics := strings.Split(asked, ",")
	slices.Sort(metrics)
	metrics = slices.Compact(metrics)
	if len(metrics) > mostMetrics {
		return nil, fmt.Errorf("read the metrics: %w: %d are asked for, at most %d can be", errInput, len(metrics), mostMetrics)
	}
	return metrics, nil
}

// studyOfRun returns the study that a run measures.
func (s *Server) studyOfRun(r *http.Request) (any, error) {
	id, err := number(r, "run")
	if err != nil {
		return nil, err
	}
	var run store.Run
	err = s.stores.with(func(st *store.Store, _ int64) error {
		run, err = st.Run(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Name    string `json:"name"`
		Text    string `json:"text"`
		Title   string `json:"title,omitempty"`
		Builtin string `json:"builtin,omitempty"` // the built-in study with the same text
	}{Name: run.StudyName, Text: run.StudyText, Title: textIn(run.StudyText, "title")}
	if text, err := builtin.File(run.StudyName); err == nil && string(text) == run.StudyText {
		answer.Builtin = run.StudyName
	}
	return answer, nil
}

// papers returns the catalogue of papers, with what the store's last runs say of them.
func (s *Server) papers(*http.Request) (any, error) {
	return s.kept("papers", func(*store.Store) (any, error) { return s.Papers(s.Store) })
}
