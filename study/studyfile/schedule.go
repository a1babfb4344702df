package studyfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/schedule"
)

// ParseSchedule reads a schedule, which says when studies run. known returns an error for a study that is neither a file
// nor built in. Errors are those of Parse: all mistakes, each with its line and column.
func ParseSchedule(file string, src []byte, known func(study string) error) (*schedule.Schedule, error) {
	r := &reader{file: file, of: "schedule", parts: "a name, studies, times of day and a number of days"}
	s := &schedule.Schedule{Zone: time.Local, Clock: schedule.ClockWall, Store: "results"}
	if body := r.parse(src); body != nil {
		if r.schedule(body, s, known); len(r.errs) == 0 {
			return s, nil
		}
	}
	return nil, r.errs.sorted()
}

// schedule reads the mapping at the top of a schedule's file.
func (r *reader) schedule(body ast.Node, s *schedule.Schedule, known func(string) error) {
	m, ok := r.mapping(body, "the schedule", "name", "title", "studies", "at", "zone", "from", "days", "store", "clock")
	if !ok {
		return
	}
	if n, ok := m.need("name", "name it, as in name: my-week"); ok {
		s.Name = r.name(n, "the schedule's name")
	}
	if n, ok := m.get("title"); ok {
		s.Title, _ = r.text(n, "title")
	}
	if n, ok := m.need("studies", "say what to run, as in studies: [first-look]"); ok {
		s.Studies = r.scheduled(n, known)
	}
	if n, ok := m.need("at", "say at which times of day, as in at: [00:00, 12:00]"); ok {
		s.At = r.timesOfDay(n)
	}
	if n, ok := m.get("zone"); ok {
		if name, ok := r.text(n, "zone"); ok {
			var err error
			if s.Zone, err = time.LoadLocation(name); err != nil || name == "" {
				r.fail(n, "unknown time zone %.60q; write a name of the IANA database, as in Europe/Berlin, or UTC", name)
			}
		}
	}
	if n, ok := m.get("from"); ok {
		s.From = r.date(n)
	}
	daysAt, ok := m.need("days", "say for how many days, as in days: 7")
	if ok {
		s.Days, _ = r.integer(daysAt, "number of days", 1, schedule.MostDays)
	}
	if n, ok := m.get("store"); ok {
		if s.Store, ok = r.text(n, "store"); ok && s.Store == "" {
			r.fail(n, "the store must be the name of a folder")
		}
	}
	if n, ok := m.get("clock"); ok {
		s.Clock = r.word(n, "clock of a schedule", []string{schedule.ClockWall, schedule.ClockVirtual})
	}
	if len(r.errs) == 0 && s.Clock == schedule.ClockVirtual && s.From == (schedule.Date{}) {
		r.fail(body, "a schedule on the virtual clock has no first day; name one, as in from: 2026-11-24")
	}
	if len(r.errs) == 0 && s.Days*len(s.At) > schedule.MostSlots {
		r.fail(daysAt, "%d days with %d slots each exceed the limit of %d slots; reduce the days or the times", s.Days, len(s.At), schedule.MostSlots)
	}
}

// scheduled reads the list of studies.
func (r *reader) scheduled(n ast.Node, known func(string) error) (all []string) {
	list, _ := r.list(n, "studies")
	for _, item := range list {
		name, ok := r.text(item, "a study")
		if !ok {
			continue
		}
		if slices.Contains(all, name) {
			r.fail(item, "the study %.60q is there twice; remove one", name)
		} else if err := known(name); err != nil {
			r.fail(item, "%v", err)
		}
		all = append(all, name)
	}
	if len(list) == 0 && len(r.errs) == 0 {
		r.fail(n, "the list of studies is empty; name one, as in studies: [first-look]")
	}
	return all
}

// timesOfDay reads the list of times.
func (r *reader) timesOfDay(n ast.Node) (all []schedule.TimeOfDay) {
	list, _ := r.list(n, "at")
	for _, item := range list {
		text, ok := r.text(item, "a time of day")
		if !ok {
			continue
		}
		at, ok := timeOfDay(text)
		switch {
		case !ok:
			r.fail(item, "invalid time of day %.40q: want hours and minutes, 00:00 to 23:59, as in 04:30", text)
		case slices.Contains(all, at):
			r.fail(item, "the time %v is there twice; remove one", at)
		}
		all = append(all, at)
	}
	if len(list) == 0 && len(r.errs) == 0 {
		r.fail(n, "the list of times is empty; name one, as in at: [04:30]")
	}
	return all
}

// timeOfDay reads a time with two digits for the hour and two for the minute.
func timeOfDay(text string) (schedule.TimeOfDay, bool) {
	hour, minute, _ := strings.Cut(text, ":")
	h, hourErr := strconv.Atoi(hour)
	m, minuteErr := strconv.Atoi(minute)
	at := schedule.TimeOfDay{Hour: h, Minute: m}
	return at, hourErr == nil && minuteErr == nil && 0 <= h && h < 24 && 0 <= m && m < 60 && at.String() == text
}

// date reads a day.
func (r *reader) date(n ast.Node) schedule.Date {
	text, ok := r.text(n, "from")
	if !ok {
		return schedule.Date{}
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		r.fail(n, "invalid day %.40q: want year, month and day, 1970 to 2200, as in 2026-11-24", text)
		return schedule.Date{}
	}
	return schedule.DateOf(t, time.UTC)
}
