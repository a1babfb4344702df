package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wiretime/store"
	"wiretime/study"
)

// series is the loads of one browser session. They are carried out one after the other on one station,
// and are kept together or not at all: an interrupted session leaves nothing.
type series struct {
	jobs  []*job             // by their numbers in the session
	ended []store.LoadRecord // of the attempt under way: judged, and not yet kept
}

// gatherSeries finds the loads of each session in a queue. Those of one session are next to each other.
func gatherSeries(queue []*job) {
	var s *series
	for _, j := range queue {
		if s == nil || j.planned.Cell.Load() <= 1 {
			s = &series{}
		}
		if s.jobs = append(s.jobs, j); len(s.jobs) > 1 {
			for _, each := range s.jobs {
				each.series = s
			}
		}
	}
}

// together divides jobs into those that are attempted together: the loads of a session, and each other job
// on its own.
func together(jobs []*job) (groups [][]*job) {
	for _, j := range jobs {
		if n := len(groups); n > 0 && j.series != nil && groups[n-1][0].series == j.series {
			groups[n-1] = append(groups[n-1], j)
			continue
		}
		groups = append(groups, []*job{j})
	}
	return groups
}

// last reports whether a job is the last one of its session.
func (s *series) last(j *job) bool { return s.jobs[len(s.jobs)-1] == j }

// supersededMark begins the reason of a load that is valid by itself, and does not count because another
// load of its session was not.
const supersededMark = "its session was attempted again, because "

// superseded reports whether a load does not count only because its session was attempted again.
func superseded(validity store.Validity, reason string) bool {
	return validity == store.Invalid && strings.HasPrefix(reason, supersededMark)
}

// keepInSeries takes a judged attempt at a load of a session. With that at the session's last load, all are
// kept. If one of them is not valid and may be attempted again, the whole session is, and none of these attempts
// counts.
func (r *run) keepInSeries(j *job, record store.LoadRecord) error {
	s := j.series
	s.ended = append(s.ended, record)
	if !s.last(j) {
		r.report(j, record, false)
		return nil
	}
	records := s.ended
	s.ended = nil
	done := true
	for i, record := range records {
		if record.Validity != store.Valid && !record.Final {
			done = false
			r.supersede(records, fmt.Sprintf("%sload %d was %s: %s", supersededMark, i+1, record.Validity, record.Reason))
			break
		}
	}
	for i := range records {
		records[i].Drop, records[i].Compress = r.dropAtOnce(records[i]), r.Keep == study.KeepCompressed
	}
	if err := r.Store.Commit(records...); err != nil {
		return err
	}
	for _, each := range s.jobs {
		each.attempt++
		each.planned.Done = done
	}
	if done {
		if err := r.trimSeries(s); err != nil {
			return err
		}
	}
	r.report(j, record, done)
	return nil
}

// supersede makes the valid ones of records count no more, for a reason.
func (r *run) supersede(records []store.LoadRecord, reason string) {
	for i := range records {
		if records[i].Validity == store.Valid {
			records[i].Validity, records[i].Reason = store.Invalid, reason
		}
	}
}

// endSeries ends the attempt at the loads of a session that follow j, since the session ended with that one.
func (r *run) endSeries(j *job) error {
	s := j.series
	n := slices.Index(s.jobs, j) + 1
	for _, rest := range s.jobs[n:] {
		if err := r.end(rest, r.begin(rest, time.Now()), nil, "", fmt.Errorf("its session ended at load %d", n)); err != nil {
			return err
		}
	}
	return nil
}

// trimSeries drops what the run does not keep of a session's cells. Of the loads after the first, which are
// alike, it keeps what it keeps of one cell.
func (r *run) trimSeries(s *series) error {
	return errors.Join(r.trim(s.jobs[:1]), r.trim(s.jobs[1:]))
}
