package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMoment covers days on which clocks change. As with cron, a time that does not exist is the moment of the change,
// and one that exists twice is its first occurrence.
func TestMoment(t *testing.T) {
	for _, c := range []struct {
		what, zone string
		on         Date
		at, want   string // want in UTC
	}{
		{"an ordinary day in winter", "Europe/Berlin", Date{2026, 1, 15}, "02:30", "2026-01-15 01:30"},
		{"an ordinary day in summer", "Europe/Berlin", Date{2026, 7, 15}, "02:30", "2026-07-15 00:30"},
		{"before the gap", "Europe/Berlin", Date{2026, 3, 29}, "01:59", "2026-03-29 00:59"},
		{"in the gap", "Europe/Berlin", Date{2026, 3, 29}, "02:30", "2026-03-29 01:00"},
		{"where the gap begins", "Europe/Berlin", Date{2026, 3, 29}, "02:00", "2026-03-29 01:00"},
		{"where the gap ends", "Europe/Berlin", Date{2026, 3, 29}, "03:00", "2026-03-29 01:00"},
		{"after the gap", "Europe/Berlin", Date{2026, 3, 29}, "04:00", "2026-03-29 02:00"},
		{"before the hour that is there twice", "Europe/Berlin", Date{2026, 10, 25}, "01:59", "2026-10-24 23:59"},
		{"twice", "Europe/Berlin", Date{2026, 10, 25}, "02:30", "2026-10-25 00:30"},
		{"after the second hour", "Europe/Berlin", Date{2026, 10, 25}, "03:00", "2026-10-25 02:00"},
		{"a gap of half an hour", "Australia/Lord_Howe", Date{2026, 10, 4}, "02:15", "2026-10-03 15:30"},
		{"half an hour twice", "Australia/Lord_Howe", Date{2026, 4, 5}, "01:45", "2026-04-04 14:45"},
		{"a day that was left out", "Pacific/Apia", Date{2011, 12, 30}, "12:00", "2011-12-30 10:00"},
		{"a zone that never changes", "America/Argentina/Buenos_Aires", Date{2013, 11, 25}, "00:00", "2013-11-25 03:00"},
		{"the day after the month's last", "UTC", Date{2026, 2, 29}, "12:00", "2026-03-01 12:00"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := moment(c.on, clock(t, c.at), zone(t, c.zone))
			if s := got.UTC().Format("2006-01-02 15:04"); s != c.want {
				t.Errorf("%s %s in %s is %s UTC, want %s", c.on, c.at, c.zone, s, c.want)
			}
		})
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func clock(t *testing.T, text string) TimeOfDay {
	t.Helper()
	at, err := time.Parse("15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return TimeOfDay{at.Hour(), at.Minute()}
}

// week is Lulic's: six times a day for seven days.
func week(t *testing.T, zoneName string, from Date) *Schedule {
	t.Helper()
	s := &Schedule{Name: "week", Studies: []string{"a"}, Zone: zone(t, zoneName), From: from, Days: 7, Clock: ClockWall}
	for _, hour := range []int{0, 4, 8, 12, 16, 20} {
		s.At = append(s.At, TimeOfDay{Hour: hour})
	}
	return s
}

func TestMomentsOfAWeek(t *testing.T) {
	for _, c := range []struct {
		what string
		from Date
		// between the last slot before the change of clocks and the first one after it
		gap time.Duration
	}{
		{"an ordinary week", Date{2026, 11, 16}, 4 * time.Hour},
		{"a week with a short day", Date{2026, 3, 26}, 3 * time.Hour},
		{"a week with a long day", Date{2026, 10, 22}, 5 * time.Hour},
	} {
		t.Run(c.what, func(t *testing.T) {
			first, all := week(t, "Europe/Berlin", c.from).moments(c.from)
			if len(all) != 42 || !all[0].Equal(first) {
				t.Fatalf("%d slots, the first at %v; want 42 from %v", len(all), all[0], first)
			}
			unusual := 4 * time.Hour
			for i, at := range all {
				if at.Hour()%4 != 0 || at.Minute() != 0 {
					t.Errorf("slot %d is at %v", i+1, at)
				}
				if i > 0 && at.Sub(all[i-1]) != 4*time.Hour {
					unusual = at.Sub(all[i-1])
				}
			}
			if unusual != c.gap {
				t.Errorf("slots are up to %v apart, want %v", unusual, c.gap)
			}
		})
	}
}

// TestMomentsThatFallTogether has two times of day that are the same moment on one day of the year.
func TestMomentsThatFallTogether(t *testing.T) {
	s := &Schedule{Zone: zone(t, "Europe/Berlin"), Days: 2, At: []TimeOfDay{{3, 0}, {2, 30}}}
	_, all := s.moments(Date{2026, 3, 28})
	var got []string
	for _, at := range all {
		got = append(got, at.Format("02 15:04"))
	}
	if want := []string{"28 02:30", "28 03:00", "29 03:00"}; !slices.Equal(got, want) {
		t.Errorf("slots at %s, want %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}
