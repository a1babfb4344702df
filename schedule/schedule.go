// Package schedule says when studies run: at times of day, for some days. The slots of a schedule are arithmetic on
// dates; a [Diary] on disk knows what became of each; [Run] waits for them, each exactly once. It knows no study: what
// a slot does is the caller's.
package schedule

import (
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // zones, where the machine has none
)

// The clocks of a schedule.
const (
	// ClockWall is this machine's clock, which people and NTP may set.
	ClockWall = "wall"
	// ClockVirtual jumps from slot to slot: a week's slots follow each other at once. The path of a load begins at
	// the time of its slot.
	ClockVirtual = "virtual"
)

// Schedule says which studies run at which times.
type Schedule struct {
	Name    string // letters, digits, ".", "_" and "-"
	Title   string
	Studies []string // files, relative to the schedule's, or names of built-in studies; at least one
	At      []TimeOfDay
	Zone    *time.Location
	From    Date   // the first day; zero: the day on which the schedule is first started
	Days    int    // 1 to MostDays
	Store   string // folder of the results, relative to the schedule's file
	Clock   string // ClockWall or ClockVirtual
}

// MostDays and MostSlots limit a schedule: a diary is written anew at each slot.
const (
	MostDays  = 366
	MostSlots = 10_000
)

// TimeOfDay is a time on a clock on the wall.
type TimeOfDay struct{ Hour, Minute int }

func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t.Hour, t.Minute) }

// Date is a day of the calendar.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day that it is at a moment in a zone.
func DateOf(t time.Time, zone *time.Location) Date {
	year, month, day := t.In(zone).Date()
	return Date{year, month, day}
}

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// moments returns the moments of the slots, in their order, and the moment at which the first day begins. Two
// times of day that are the same moment, because the clocks go forward over one of them, are one slot.
func (s *Schedule) moments(from Date) (first time.Time, all []time.Time) {
	first = moment(from, TimeOfDay{}, s.Zone)
	for day := range s.Days {
		on := Date{from.Year, from.Month, from.Day + day}
		for _, at := range s.At {
			all = append(all, moment(on, at, s.Zone))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return first, slices.CompactFunc(all, time.Time.Equal)
}

// moment returns when a clock on the wall shows a time of day. As with cron (Vixie's since 4.1, and cronie), a time
// that the clocks go forward over is the moment at which they do so, and of a time that they show twice the first
// one counts.
func moment(on Date, at TimeOfDay, zone *time.Location) time.Time {
	shown := time.Date(on.Year, on.Month, on.Day, at.Hour, at.Minute, 0, 0, time.UTC)
	// No zone is more than 26 hours from another, so these are its offsets before and after any change that is near.
	before, after := offset(shown.Add(-26*time.Hour), zone), offset(shown.Add(26*time.Hour), zone)
	for _, east := range []time.Duration{max(before, after), min(before, after)} { // the first one is the earlier moment
		if t := shown.Add(-east); offset(t, zone) == east {
			return t.In(zone)
		}
	}
	change, _ := shown.Add(-before).In(zone).ZoneBounds()
	return change.In(zone)
}

// offset returns how far a zone's clocks are ahead of UTC at a moment.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
