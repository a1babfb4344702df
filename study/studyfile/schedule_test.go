package studyfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wiretime/schedule"
)

const wholeSchedule = `name: my-week
title: A week of two studies
studies: [first-look, mine.yaml]
at: [00:00, 04:30, "23:59"]
zone: Europe/Berlin
from: 2026-11-24
days: 7
store: results/week
clock: wall
`

// known takes any study but that of a name.
func known(study string) error {
	if study == "frist-look" {
		return errors.New(`no such file; did you mean "first-look"?`)
	}
	return nil
}

func TestScheduleIsReadWhole(t *testing.T) {
	got, err := ParseSchedule("s.yaml", []byte(wholeSchedule), known)
	if err != nil {
		t.Fatal(err)
	}
	zone := got.Zone.String()
	got.Zone = nil
	want := &schedule.Schedule{
		Name: "my-week", Title: "A week of two studies", Studies: []string{"first-look", "mine.yaml"},
		At: []schedule.TimeOfDay{{Hour: 0}, {Hour: 4, Minute: 30}, {Hour: 23, Minute: 59}}, From: schedule.Date{Year: 2026, Month: time.November, Day: 24},
		Days: 7, Store: "results/week", Clock: schedule.ClockWall,
	}
	if d := cmp.Diff(want, got); d != "" || zone != "Europe/Berlin" {
		t.Errorf("zone %s, and (-want +got):\n%s", zone, d)
	}
	if got, err = ParseSchedule("s.yaml", []byte("name: a\nstudies: [b]\nat: [04:00]\ndays: 1\n"), known); err != nil {
		t.Fatal(err)
	}
	if got.Zone != time.Local || got.From != (schedule.Date{}) || got.Store != "results" || got.Clock != schedule.ClockWall {
		t.Errorf("the least schedule has %+v", got)
	}
}

func TestMistakesInSchedules(t *testing.T) {
	for _, c := range []struct{ what, from, to, want string }{
		{"an unknown key", "days: 7", "day: 7", `s.yaml:7:1: unknown key "day" in the schedule; did you mean "days"?`},
		{"a time of one digit", "04:30", "4:30", `s.yaml:4:13: invalid time of day "4:30": want hours and minutes, 00:00 to 23:59, as in 04:30`},
		{"midnight at the end", "04:30", "24:00", `invalid time of day "24:00"`},
		{"a time twice", "04:30", "00:00", "s.yaml:4:13: the time 00:00 is there twice; remove one"},
		{"no times", `[00:00, 04:30, "23:59"]`, "[]", "the list of times is empty; name one, as in at: [04:30]"},
		{"no studies", "[first-look, mine.yaml]", "[]", "the list of studies is empty"},
		{"an unknown study", "first-look", "frist-look", `s.yaml:3:11: no such file; did you mean "first-look"?`},
		{"a study twice", "mine.yaml", "first-look", `the study "first-look" is there twice`},
		{"an unknown zone", "Europe/Berlin", "Europe/Berln", `s.yaml:5:7: unknown time zone "Europe/Berln"`},
		{"a day that is none", "2026-11-24", "2026-11-31", `s.yaml:6:7: invalid day "2026-11-31"`},
		{"no day at all", "days: 7", "days: 0", "s.yaml:7:7: invalid number of days \"0\": want a whole number from 1 to 366"},
		{"an unknown clock", "clock: wall", "clock: real", `s.yaml:9:8: unknown clock of a schedule "real"`},
		{"a virtual clock without a first day", "from: 2026-11-24\ndays: 7\nstore: results/week\nclock: wall", "days: 7\nclock: virtual", "a schedule on the virtual clock has no first day"},
		{"an empty file", wholeSchedule, "", "the file is empty; a schedule has a name, studies, times of day and a number of days"},
		{"two schedules", "days: 7", "days: 7\n---\nname: b", "keep one schedule per file"},
	} {
		t.Run(c.what, func(t *testing.T) {
			text := strings.Replace(wholeSchedule, c.from, c.to, 1)
			_, err := ParseSchedule("s.yaml", []byte(text), known)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add([]byte(wholeSchedule))
	f.Add([]byte("at: [[], {a: b}, 1:1]\nstudies: x\nfrom: [1]\nzone: {}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSchedule("s.yaml", text, known)
		if err == nil && (s.Name == "" || len(s.Studies) == 0 || len(s.At) == 0 || s.Days < 1 || s.Days*len(s.At) > schedule.MostSlots) {
			t.Errorf("a schedule that cannot run was accepted: %+v", s)
		}
	})
}
