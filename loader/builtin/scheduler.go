package builtin

import (
	"slices"

	"wiretime/loader/page"
)

// Chromium's limits on requests that can wait. The first two are those of the page's
// process (third_party/blink/renderer/platform/loader/fetch/resource_load_scheduler.cc),
// the others those of the network process (services/network/resource_scheduler/
// resource_scheduler.cc and resource_scheduler_params_manager.cc).
const (
	tightLimit       = 2  // in flight for a page whose head is not complete, of any priority
	tightMediumLimit = 2  // of medium priority, in addition
	delayableLimit   = 10 // delayable ones, for a page
	hostLimit        = 6  // to one host, of any priority
)

// scheduler decides when a page's requests go to the network. Like Chromium it does
// so in two places.
//
// In the page's process: until the parser has reached the body, requests less urgent
// than a blocking script start only while fewer than two requests are in flight,
// except two of medium priority.
//
// In the network process: requests less urgent than a blocking script (images below the
// fold, async scripts, media) are delayable unless their host is known to obey
// priorities. Waiting requests are reconsidered only when a request has ended or become
// more urgent, not when a host becomes known to obey priorities.
type scheduler struct {
	inBody bool
	obeys  func(host string) bool // whether a host is known to obey priorities

	running []*fetch // past the page's process, without the document
	pending []*fetch // waiting there; the most urgent first, then in order of arrival
	flying  []*fetch // past the network process
	waiting []*fetch // waiting there; in the same order
	search  bool     // reconsider the waiting requests
}

// add adds a request. It may start when begin returns it.
func (s *scheduler) add(f *fetch) { s.pending = insert(s.pending, f) }

// done records that a request has ended, wherever it was.
func (s *scheduler) done(f *fetch) {
	s.search = s.search || slices.Contains(s.flying, f)
	for _, list := range []*[]*fetch{&s.running, &s.pending, &s.flying, &s.waiting} {
		*list = slices.DeleteFunc(*list, func(other *fetch) bool { return other == f })
	}
}

// begin returns the requests that may start now, in the order in which to send
// them.
func (s *scheduler) begin() []*fetch {
	begun := s.beginWaiting()
	for len(s.pending) > 0 && s.mayRun(s.pending[0]) {
		f := s.pending[0]
		s.pending = s.pending[1:]
		if f.request.Kind != page.Document {
			s.running = append(s.running, f)
		}
		if may, _ := s.mayFly(f); may {
			s.fly(f)
			begun = append(begun, f)
		} else {
			s.waiting = insert(s.waiting, f)
		}
	}
	return begun
}

// beginWaiting returns the waiting requests that may start, if they are to be
// reconsidered.
func (s *scheduler) beginWaiting() (begun []*fetch) {
	if !s.search {
		return nil
	}
	s.search = false
	var left []*fetch
	for i, f := range s.waiting {
		may, others := s.mayFly(f)
		if may {
			s.fly(f)
			begun = append(begun, f)
			continue
		}
		left = append(left, f)
		if !others {
			left = append(left, s.waiting[i+1:]...)
			break
		}
	}
	s.waiting = left
	return begun
}

func (s *scheduler) fly(f *fetch) {
	f.delayable = s.delayable(f)
	s.flying = append(s.flying, f)
}

// insert inserts a request in the order of priority, and of arrival among
// equals.
func insert(queue []*fetch, f *fetch) []*fetch {
	i := slices.IndexFunc(queue, func(other *fetch) bool { return other.request.Priority < f.request.Priority })
	if i < 0 {
		i = len(queue)
	}
	return slices.Insert(queue, i, f)
}

func (s *scheduler) mayRun(f *fetch) bool {
	if s.inBody || f.request.Priority >= page.High {
		return true
	}
	if f.request.Priority == page.Medium {
		medium := 0
		for _, other := range s.running {
			if other.request.Priority == page.Medium {
				medium++
			}
		}
		if medium < tightMediumLimit {
			return true
		}
	}
	return len(s.running) < tightLimit
}

// mayFly reports whether a request may go to the network and, if not, whether
// another one still might.
func (s *scheduler) mayFly(f *fetch) (may, others bool) {
	if !s.delayable(f) {
		return true, true
	}
	delayable, toHost := 0, 0
	for _, other := range s.flying {
		if other.delayable {
			delayable++
		}
		if other.host == f.host {
			toHost++
		}
	}
	if delayable >= delayableLimit {
		return false, false
	}
	return toHost < hostLimit, true
}

func (s *scheduler) delayable(f *fetch) bool {
	return f.request.Priority < page.High && !s.obeys(f.host)
}

// change changes the priority of a request, wherever it waits.
func (s *scheduler) change(f *fetch, p page.Priority) {
	rises := p > f.request.Priority
	f.request.Priority = p
	f.delayable = s.delayable(f)
	if f.sent != nil {
		f.tab.visit.session.Reprioritize(f.sent, priorities[p])
	}
	for _, queue := range []*[]*fetch{&s.pending, &s.waiting} {
		if i := slices.Index(*queue, f); i >= 0 {
			*queue = insert(slices.Delete(*queue, i, i+1), f)
		}
	}
	s.search = s.search || rises && slices.Contains(s.waiting, f)
}
