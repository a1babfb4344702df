package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wiretime/needtest"
	"wiretime/schedule"
	"wiretime/store"
)

// hourlyStudy is a study of a page so small that only the path's state matters, on a path that is slower in each
// slot of a week than in the one before.
const hourlyStudy = `name: hourly
repeats: 1
clock: virtual
keep: none
matrix:
  sites: [objects@1x1kB]
  protocols: [https/1.1]
  networks: [{name: slower, ride: slower.csv}]
  loaders: [builtin]
`

// weekOf is a schedule of Lulic's six times a day.
const weekOf = `name: a-week
studies: [hourly.yaml]
at: [00:00, 04:00, 08:00, 12:00, 16:00, 20:00]
zone: UTC
from: 2013-11-25
days: %d
clock: virtual
`

// slotRTT is by how much the round trip grows from slot to slot, in ms.
const slotRTT = 2

// addWeek writes a schedule of some days, its study and its path.
func (u user) addWeek(t *testing.T, days int) {
	t.Helper()
	u.write(t, "hourly.yaml", hourlyStudy)
	u.write(t, "week.yaml", fmt.Sprintf(weekOf, days))
	rows := []string{"seconds,down_kbit,up_kbit,down_ms,up_ms,link"}
	for slot := range 42 {
		rows = append(rows, fmt.Sprintf("%d,100000,100000,%d,%d,up", slot*4*3600, 10+slot*slotRTT/2, 10+slot*slotRTT/2))
	}
	u.write(t, "slower.csv", strings.Join(append(rows, fmt.Sprintf("%d,,,,,end", 42*4*3600)), "\n")+"\n")
}

// perSlot returns the values of a metric in the order of the slots.
func (u user) perSlot(t *testing.T, dir, metric string) (values []float64) {
	t.Helper()
	for _, l := range loadsIn(t, filepath.Join(u.home, dir)) {
		if l.Validity != store.Valid || l.Repeat != len(values) {
			t.Fatalf("load %s is of slot %d and %s: %s", l.ID, l.Repeat+1, l.Validity, l.Reason)
		}
		values = append(values, l.Values[metric])
	}
	return values
}

// TestAWeekOnSchedule carries out the 42 slots of a week, one after the other on the virtual clock. It is killed, interrupted
// and started again in between. Each slot is carried out once, and meets the path as it is at that hour of that day.
func TestAWeekOnSchedule(t *testing.T) {
	needtest.Long(t)
	u := self(t)
	u.addKernel(t)
	u.addWeek(t, 7)
	p := u.begin(t, "schedule", "week.yaml")
	p.await(t, "Slot 4 of 42, Mon 2013-11-25 12:00: begins")
	p.signal(t, syscall.SIGKILL)
	_ = p.Wait()
	r := u.run(t, "schedule", "week.yaml", "--status")
	if r.code != 0 || !strings.Contains(r.out, "3 done, 0 failed, 0 missed, 39 to come.") || !strings.Contains(r.out, "4     Mon 2013-11-25 12:00  running") {
		t.Fatalf("after a kill: exit code %d: %s%s", r.code, r.out, r.errors)
	}
	p = u.begin(t, "schedule", "week.yaml")
	p.await(t, "Slot 7 of 42, Tue 2013-11-26 00:00: begins")
	if r := u.run(t, "schedule", "week.yaml"); r.code != exitInput || !strings.Contains(r.errors, schedule.ErrLocked.Error()) {
		t.Errorf("a second program: exit code %d: %s", r.code, r.errors)
	}
	if r := u.run(t, "run", "--resume", "--store", "results/hourly"); r.code == 0 || !strings.Contains(r.errors, "in use") && !strings.Contains(r.errors, "continue that with wiretime schedule") {
		t.Errorf("its run is continued without it: exit code %d: %s", r.code, r.errors)
	}
	p.signal(t, syscall.SIGINT)
	p.ends(t, 0)
	r = u.run(t, "schedule", "week.yaml")
	if r.code != 0 || !strings.Contains(r.out, "42 done, 0 failed, 0 missed, 0 to come.") {
		t.Fatalf("in the end: exit code %d: %s%s", r.code, r.out, r.errors)
	}
	onLoad := u.perSlot(t, "results/hourly", "onload")
	if len(onLoad) != 42 {
		t.Fatalf("%d loads, want one in each of 42 slots", len(onLoad))
	}
	// The name, TCP, TLS and the page itself, and the image: five round trips.
	grown := onLoad[41] - onLoad[0]
	if want := 5.0 * 41 * slotRTT; !slices.IsSorted(onLoad) || grown < 0.95*want || grown > 1.05*want {
		t.Errorf("onLoad from the first to the last slot grew by %.1f ms, want %.1f: %.1f", grown, want, onLoad)
	}
	r = u.run(t, "results", "--store", "results/hourly")
	if !strings.Contains(r.out, "42 of 42 loads done") {
		t.Errorf("the results do not hold the whole week: %s", r.out)
	}
	if r = u.run(t, "schedule", "week.yaml"); r.code != 0 || len(u.perSlot(t, "results/hourly", "onload")) != 42 {
		t.Errorf("another start after the end: exit code %d: %s", r.code, r.errors)
	}
	if r = u.run(t, "reproduce", "r1-0033-a1", "--store", "results/hourly"); r.code != 0 || !strings.Contains(r.out, "the same") {
		t.Errorf("reproduce a load of slot 34: exit code %d: %s%s", r.code, r.out, r.errors)
	}
}

// TestASlotThatIsMissed has slots of this machine's clock that are over before the program is started, and a last one that
// is not. What was missed is in the results, as loads that failed.
func TestASlotThatIsMissed(t *testing.T) {
	needtest.Long(t)
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	u.addWeek(t, 1)
	text := strings.Replace(fmt.Sprintf(weekOf, 1), "clock: virtual", "clock: wall", 1)
	u.write(t, "week.yaml", text)
	// The minute that began just now, or begins soon, and one before.
	now := time.Now().UTC().Add(30 * time.Second).Truncate(time.Minute)
	times := []string{schedule.TimeOfDay{Hour: now.Hour(), Minute: now.Minute()}.String()}
	if before := now.Add(-2 * time.Minute); before.Day() == now.Day() {
		times = append(times, schedule.TimeOfDay{Hour: before.Hour(), Minute: before.Minute()}.String())
	}
	text = strings.NewReplacer("[00:00, 04:00, 08:00, 12:00, 16:00, 20:00]", "["+strings.Join(times, ", ")+"]", "2013-11-25", now.Format(time.DateOnly)).Replace(text)
	u.write(t, "week.yaml", text)
	r := u.run(t, "schedule", "week.yaml")
	missed := len(times) - 1
	if r.code != 0 || !strings.Contains(r.out, fmt.Sprintf("1 done, 0 failed, %d missed, 0 to come.", missed)) {
		t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
	}
	exported := u.run(t, "export", "csv", "--store", "results/hourly")
	rows, err := csv.NewReader(strings.NewReader(exported.out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(exported.out, "missed: the program was not running"); got != missed {
		t.Errorf("%d rows say that the slot was missed, want %d: %v", got, missed, rows[:2])
	}
}

// TestScheduleUnit writes a service and runs nothing.
func TestScheduleUnit(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addWeek(t, 7)
	r := u.run(t, "schedule", "week.yaml", "--unit", ".")
	text, err := os.ReadFile(filepath.Join(u.home, "wiretime-a-week.service"))
	if err != nil || r.code != 0 {
		t.Fatalf("exit code %d, %v: %s", r.code, err, r.errors)
	}
	want := fmt.Sprintf("ExecStart=%q \"schedule\" %q \"--store\" %q\n", binary, filepath.Join(u.home, "week.yaml"), filepath.Join(u.home, "results"))
	if !strings.Contains(string(text), want) || !strings.Contains(r.out, "systemctl") {
		t.Errorf("the unit is\n%s, want %s; said: %s", text, want, r.out)
	}
	if r = u.run(t, "schedule", "week.yaml", "--status"); r.code != 0 || !strings.Contains(r.out, "has not been started") {
		t.Errorf("status before the start: exit code %d: %s%s", r.code, r.out, r.errors)
	}
}

// TestSchedulesThatCannotRun are refused before the first slot.
func TestSchedulesThatCannotRun(t *testing.T) {
	t.Parallel()
	u := self(t)
	atPlace := strings.NewReplacer("clock: virtual", "clock: real", "matrix:", "matrix:\n  at: [here]").Replace(hourlyStudy)
	for what, c := range map[string]struct{ schedule, study, say string }{
		"a mistake in a study":         {fmt.Sprintf(weekOf, 7), strings.Replace(hourlyStudy, "https/1.1", "https/1.0", 1), `unknown protocol "https/1.0"`},
		"a study that is not there":    {strings.Replace(fmt.Sprintf(weekOf, 7), "hourly.yaml", "hourly.yml", 1), hourlyStudy, "week.yaml:2:11: read the study hourly.yml: no such file"},
		"streams on the virtual clock": {strings.Replace(fmt.Sprintf(weekOf, 7), "hourly.yaml", "first-stream", 1), hourlyStudy, "only studies of pages and uploads"},
		"handovers on the virtual clock": {fmt.Sprintf(weekOf, 7), strings.Replace(hourlyStudy, "{name: slower, ride: slower.csv}",
			"{name: moving, access: [{name: a, rate: 1mbit}, {name: b, rate: 1mbit}], events: [{at: 1s, handover: b}]}", 1), "has handovers"},
		"places that cannot be reached": {strings.Replace(fmt.Sprintf(weekOf, 7), "clock: virtual", "clock: wall", 1), atPlace, "is measured at here, by workers there; say with --listen"},
		"places on the virtual clock":   {fmt.Sprintf(weekOf, 7), atPlace, "names places (at), whose clocks do not jump from slot to slot"},
	} {
		t.Run(what, func(t *testing.T) {
			u.addWeek(t, 7)
			u.write(t, "week.yaml", c.schedule)
			u.write(t, "hourly.yaml", c.study)
			if r := u.run(t, "schedule", "week.yaml"); r.code != exitInput || !strings.Contains(r.errors, c.say) {
				t.Errorf("exit code %d, want %d and %q: %s", r.code, exitInput, c.say, r.errors)
			}
		})
	}
	u.addWeek(t, 7)
	if r := u.run(t, "schedule", "week.yaml", "--listen", "127.0.0.1:0"); r.code != exitInput || !strings.Contains(r.errors, "so it has no workers; remove --listen") {
		t.Errorf("workers for nothing: exit code %d: %s", r.code, r.errors)
	}
}
