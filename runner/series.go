package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wiretime/store"
)

// series holds the loads of one browser session. They run one after the other on one station, and are
// kept together or not at all: an interrupted session leaves nothing in the store.
type series struct {
	jobs  []*job             // in the order of the session
	ended []store.LoadRecord // of the attempt under way: judged, but not yet kept
}

// gatherSeries sets the series of all jobs of a queue whose session has several loads. The queue must have the
// loads of a session next to each other, in their order.
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

// supersededMark begins the reason of a load that does not count although it broke no rule, because another
// load of its session was not valid.
const supersededMark = "its session was attempted again, because "

// superseded reports whether a load is invalid only because its session was attempted again.
func superseded(validity store.Validity, reason string) bool {
	return validity == store.Invalid && strings.HasPrefix(reason, supersededMark)
}

// keepInSeries takes a judged attempt at a load of a session, and commits all of the session's with the last one.
// If one of them is not valid and may be attempted again, the whole session is attempted again, and none of
// these attempts counts.
func (r *run) keepInSeries(j *job, record store.LoadRecord) error {
	s := j.series
	s.ended = append(s.ended, record)
	if !s.last(j) {
		r.report(j, record, false)
		return nil
	}
	records := s.ended
	s.ended = nil
	cause := slices.IndexFunc(records, func(each store.LoadRecord) bool { return each.Validity != store.Valid && !each.Final })
	done := cause < 0
	if !done {
		supersede(records, cause)
	}
	for i := range records {
		Keep(&records[i], r.Keep)
	}
	if err := r.keeper.Commit(records...); err != nil {
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
	r.report(j, records[len(records)-1], done)
	return nil
}

// supersede makes the valid ones of a session's records invalid, because the session is attempted again on account of
// one of them, given by its index.
func supersede(records []store.LoadRecord, cause int) {
	verdict := "was invalid"
	if records[cause].Validity == store.Failed {
		verdict = "failed"
	}
	reason := fmt.Sprintf("%sload %d %s: %s", supersededMark, cause+1, verdict, records[cause].Reason)
	for i := range records {
		if records[i].Validity == store.Valid {
			records[i].Validity, records[i].Reason = store.Invalid, reason
		}
	}
}

// endSeries fails the attempt at the loads of a session that follow j, because the session ended with j.
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

// trimSeries drops what the run does not keep of a session's cells. The loads after the first are alike and
// count as one cell, so keep: median leaves one of them.
func (r *run) trimSeries(s *series) error {
	return errors.Join(r.trim(s.jobs[:1]), r.trim(s.jobs[1:]))
}
