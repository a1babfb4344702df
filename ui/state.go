package ui

import (
	"net/http"

	"wiretime/store"
)

// stateAnswer is what goes on.
type stateAnswer struct {
	Version   string     `json:"version"`
	Store     string     `json:"store"`
	Studies   string     `json:"studies"`
	Problem   string     `json:"problem,omitempty"` // why the store cannot be read, or followed
	Running   *running   `json:"running,omitempty"`
	Resumable *resumable `json:"resumable,omitempty"`
	Last      *ended     `json:"last,omitempty"` // how the last run that this server started ended
}

// running is a process that writes to the store.
type running struct {
	Pid      int    `json:"pid"`
	Own      bool   `json:"own"` // this server started it
	Stopping bool   `json:"stopping"`
	Run      int64  `json:"run,omitempty"` // once it is known
	Study    string `json:"study,omitempty"`
	Said     string `json:"said,omitempty"` // the end of what it printed, if this server started it
}

// resumable is a run that was interrupted.
type resumable struct {
	Run     int64  `json:"run"`
	Study   string `json:"study"`
	Done    int    `json:"done"`
	Planned int    `json:"planned"`
}

func (s *Server) state(*http.Request) (any, error) { return s.stateNow(), nil }

func (s *Server) stateNow() *stateAnswer {
	a := &stateAnswer{Version: s.Version, Store: s.Store, Studies: s.Studies}
	a.Running, a.Last = s.control.running()
	err := s.stores.with(func(st *store.Store, _ int64) error {
		run, unfinished, err := st.UnfinishedRun()
		switch {
		case err != nil || !unfinished:
		case a.Running != nil:
			a.Running.Run, a.Running.Study = run.ID, run.StudyName
		default:
			a.Resumable = &resumable{run.ID, run.StudyName, run.Done, run.Planned}
		}
		return err
	})
	if err != nil {
		a.Problem = err.Error()
	}
	s.follow.mu.Lock()
	defer s.follow.mu.Unlock()
	if s.follow.failed != nil && a.Problem == "" {
		a.Problem = s.follow.failed.Error()
	}
	return a
}
