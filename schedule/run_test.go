package schedule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is a virtual clock to which things happen.
type world struct {
	Virtual
	events []event // by the time that the clock shows, each once
	booted time.Time
	slept  time.Duration
}

// event happens when the clock reaches a time during a wait.
type event struct {
	at     time.Time
	set    time.Duration // the clock is set forward by so much, or back
	asleep time.Duration // the machine is suspended for so long
}

func (w *world) Wait(ctx context.Context, until time.Time) (Disturbed, error) {
	for i, e := range w.events {
		if e.at.Before(w.Time) || e.at.After(until) {
			continue
		}
		w.events = slices.Delete(w.events, i, i+1)
		w.Time = e.at.Add(e.set + e.asleep)
		w.slept += e.asleep
		return Disturbed{Set: e.set != 0, Asleep: e.asleep}, nil
	}
	return w.Virtual.Wait(ctx, until)
}

func (w *world) Asleep() time.Duration { return w.slept }
func (w *world) Booted() time.Time     { return w.booted }

// story is a schedule that is carried out in a world.
type story struct {
	t       *testing.T
	world   *world
	store   string
	s       *Schedule
	carried []int // numbers of slots, each time that one was carried out to its end
	// carry is what slots do; nil: nothing.
	carry func(ctx context.Context, s Slot) error
}

var monday = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

func newStory(t *testing.T) *story {
	return &story{t: t, world: &world{Virtual: Virtual{monday.Add(-time.Hour)}}, store: t.TempDir(), s: week(t, "UTC", Date{2026, 11, 16})}
}

// run starts the program, which runs until the schedule is over or carry returns a context's error.
func (y *story) run() (*Diary, error) {
	y.t.Helper()
	d, err := Open(y.store, y.s, y.world.Now(), false)
	if err != nil {
		y.t.Fatal(err)
	}
	defer d.Close()
	ctx, stop := context.WithCancel(y.t.Context())
	defer stop()
	err = Run(ctx, Config{
		Diary: d, Clock: y.world,
		Carry: func(ctx context.Context, s Slot) error {
			var err error
			if y.carry != nil {
				err = y.carry(ctx, s)
			}
			if errors.Is(err, errKilled) {
				stop()
				return err
			}
			y.carried = append(y.carried, s.Number)
			return err
		},
		Report: func(Slot) {}, Warn: func(err error) { y.t.Error(err) },
	})
	kept, readErr := Read(Path(y.store, y.s.Name))
	if readErr != nil {
		y.t.Fatal(readErr)
	}
	return kept, err
}

// errKilled ends the program while a slot runs.
var errKilled = errors.New("killed")

// fates writes what became of the slots: d, f, m, w or r for each.
func fates(d *Diary) string {
	var b strings.Builder
	for _, s := range d.Slots {
		b.WriteByte(s.State[0])
	}
	return b.String()
}

func at(day, hour int) time.Time {
	return monday.Add(time.Duration(day)*24*time.Hour + time.Duration(hour)*time.Hour)
}

// TestWeek tells a week's stories. Each slot is carried out at most once, and whatever is not has a reason.
func TestWeek(t *testing.T) {
	all := strings.Repeat("d", 42)
	for _, c := range []struct {
		what  string
		story func(*story)
		fates string
		why   string // of the first slot that is not done
	}{
		{"nothing happens", func(*story) {}, all, ""},
		{"the program is started in the middle", func(y *story) { y.world.Time = at(1, 1) },
			"mmmmmmm" + all[7:], "the program was not running: it was started at 2026-11-17 01:00:00"},
		{"the machine is started in the middle", func(y *story) { y.world.Time = at(1, 1); y.world.booted = at(1, 0).Add(30 * time.Minute) },
			"mmmmmmm" + all[7:], "the machine was off, or not yet up: it was started at 2026-11-17 00:30:00"},
		{"it is started a few seconds late", func(y *story) { y.world.Time = at(0, 0).Add(20 * time.Second) }, all, ""},
		{"the machine is suspended for a night", func(y *story) { y.world.events = []event{{at: at(0, 23), asleep: 8 * time.Hour}} },
			"dddddd" + "mm" + all[8:], "the machine was suspended, for 8h0m0s"},
		{"it is suspended for a moment", func(y *story) { y.world.events = []event{{at: at(0, 23), asleep: time.Minute}} }, all, ""},
		{"the clock is set forward over two slots", func(y *story) { y.world.events = []event{{at: at(0, 1), set: 8 * time.Hour}} },
			"d" + "mm" + all[3:], "the clock was set forward over it"},
		{"the clock is set back over two slots", func(y *story) { y.world.events = []event{{at: at(0, 9), set: -8 * time.Hour}} }, all, ""},
		{"the clock is set forward by mistake, and back", func(y *story) {
			y.world.events = []event{{at: at(0, 1), set: 48 * time.Hour}, {at: at(2, 1), set: -48 * time.Hour}}
		}, all, ""},
		{"a slot takes five hours", func(y *story) {
			y.carry = func(_ context.Context, s Slot) error {
				if s.Number == 2 {
					y.world.Time = at(0, 9)
				}
				return nil
			}
		}, "dd" + "m" + all[3:], "slot 2 was still running, until 2026-11-16 09:00:00"},
		{"a slot takes half a minute too long", func(y *story) {
			y.carry = func(_ context.Context, s Slot) error {
				if s.Number == 2 {
					y.world.Time = at(0, 8).Add(30 * time.Second)
				}
				return nil
			}
		}, all, ""},
		{"the network is gone for a slot, the disk full at another", func(y *story) {
			y.carry = func(_ context.Context, s Slot) error {
				switch s.Number {
				case 3:
					return errors.New("30 of 30 loads have no valid attempt")
				case 5:
					return fmt.Errorf("keep load r1-0007-a1: %w", syscall.ENOSPC)
				}
				return nil
			}
		}, "ddfdf" + all[5:], "30 of 30 loads have no valid attempt"},
	} {
		t.Run(c.what, func(t *testing.T) {
			y := newStory(t)
			c.story(y)
			d, err := y.run()
			if err != nil {
				t.Fatal(err)
			}
			if got := fates(d); got != c.fates {
				t.Errorf("fates:\n%s, want\n%s", got, c.fates)
			}
			var why string
			for _, s := range d.Slots {
				if why == "" {
					why = s.Why
				}
				if (s.State == Done) != (s.Why == "") {
					t.Errorf("slot %d is %s: %q", s.Number, s.State, s.Why)
				}
			}
			if why != c.why {
				t.Errorf("the reason is %q, want %q", why, c.why)
			}
			seen := slices.Clone(y.carried)
			slices.Sort(seen)
			if len(slices.Compact(slices.Clone(seen))) != len(seen) {
				t.Errorf("slots were carried out twice: %v", y.carried)
			}
		})
	}
}

// TestKilledInASlot ends the program while a slot runs, and starts it again soon, or after the slot.
func TestKilledInASlot(t *testing.T) {
	for _, c := range []struct {
		what  string
		again time.Time
		fates string
		why   string
	}{
		{"soon", at(0, 5), strings.Repeat("d", 42), ""},
		{"after the slot", at(0, 9), "d" + "f" + "m" + strings.Repeat("d", 39), "it was interrupted, and was over before the program was started again, at 2026-11-16 09:00:00"},
	} {
		t.Run(c.what, func(t *testing.T) {
			y := newStory(t)
			y.carry = func(_ context.Context, s Slot) error {
				if s.Number == 2 {
					return errKilled
				}
				return nil
			}
			d, err := y.run()
			if !errors.Is(err, context.Canceled) || d.Slots[1].State != Running {
				t.Fatalf("slot 2 is %s, and the program says %v; want it running, and canceled", d.Slots[1].State, err)
			}
			y.carry, y.world.Time = nil, c.again
			if d, err = y.run(); err != nil {
				t.Fatal(err)
			}
			if got := fates(d); got != c.fates || d.Slots[1].Why != c.why {
				t.Errorf("fates %s, and slot 2 because %q; want %s, %q", got, d.Slots[1].Why, c.fates, c.why)
			}
			if d, err = y.run(); err != nil || fates(d) != c.fates {
				t.Errorf("another start: %v, %s", err, fates(d))
			}
		})
	}
}

// TestAnyWeek has anything happen, at random: slots of any length, kills, suspensions and clocks that are set. No slot is
// carried out twice, and in the end each has a fate.
func TestAnyWeek(t *testing.T) {
	for seed := range uint64(20) {
		luck := rand.New(rand.NewPCG(seed, 1))
		within := func(d time.Duration) time.Duration { return time.Duration(luck.Int64N(int64(d))) }
		y := newStory(t)
		for range luck.IntN(20) {
			e := event{at: monday.Add(within(8 * 24 * time.Hour))}
			if luck.IntN(2) == 0 {
				e.asleep = within(12 * time.Hour)
			} else {
				e.set = within(24*time.Hour) - 12*time.Hour
			}
			y.world.events = append(y.world.events, e)
		}
		kills := luck.IntN(10)
		y.carry = func(context.Context, Slot) error {
			y.world.Time = y.world.Time.Add(within(5 * time.Hour))
			if kills > 0 && luck.IntN(3) == 0 {
				kills--
				return errKilled
			}
			return nil
		}
		d, err := y.run()
		for err != nil {
			y.world.Time = y.world.Time.Add(within(6 * time.Hour))
			d, err = y.run()
		}
		if d.Count(Waiting)+d.Count(Running) > 0 {
			t.Errorf("seed %d: slots have no fate: %s", seed, fates(d))
		}
		slices.Sort(y.carried)
		if len(slices.Compact(slices.Clone(y.carried))) != len(y.carried) || len(y.carried) != d.Count(Done) {
			t.Errorf("seed %d: %d are done, and these were carried out: %v", seed, d.Count(Done), y.carried)
		}
	}
}

// TestDiaryOnAFullDisk has no room for the diary: the slot is not begun, since what became of it could be forgotten, and later
// ones are tried again.
func TestDiaryOnAFullDisk(t *testing.T) {
	y := newStory(t)
	d, err := Open(y.store, y.s, y.world.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	room, full := d.path, "/dev/full/no/room"
	warned := 0
	err = Run(t.Context(), Config{
		Diary: d, Clock: y.world,
		Carry: func(_ context.Context, s Slot) error {
			if s.Number == 1 {
				d.path = full
			}
			y.carried = append(y.carried, s.Number)
			return nil
		},
		Report: func(s Slot) {
			if s.Number == 3 && s.State == Failed {
				d.path = room
			}
		},
		Warn: func(error) { warned++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fates(d), "dff"+strings.Repeat("d", 39); got != want || slices.Contains(y.carried, 2) || warned == 0 {
		t.Errorf("fates %s, carried out %v, %d warnings; want %s", got, y.carried, warned, want)
	}
	if !strings.Contains(d.Slots[1].Why, "could not be kept") {
		t.Errorf("slot 2 failed because %q", d.Slots[1].Why)
	}
}

func TestOneProgramAtATime(t *testing.T) {
	y := newStory(t)
	d, err := Open(y.store, y.s, y.world.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(y.store, y.s, y.world.Now(), false); !errors.Is(err, ErrLocked) {
		t.Errorf("a second program: %v, want ErrLocked", err)
	}
	if !Active(y.store, y.s.Name) {
		t.Error("nobody is said to carry the schedule out")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if Active(y.store, y.s.Name) {
		t.Error("somebody is said to carry the schedule out")
	}
	if d, err = Open(y.store, y.s, y.world.Now(), false); err != nil {
		t.Fatalf("after the first program: %v", err)
	}
	_ = d.Close()
}

func TestChangedScheduleIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Schedule) bool // returns whether it is a quick one
		say    string
	}{
		"times":   {func(s *Schedule) bool { s.At[1].Minute = 1; return false }, "it has 42 slots"},
		"days":    {func(s *Schedule) bool { s.Days++; return false }, "it has 42 slots"},
		"studies": {func(s *Schedule) bool { s.Studies = []string{"b"}; return false }, "it is of the studies [a]"},
		"clock":   {func(s *Schedule) bool { s.Clock = ClockVirtual; return false }, "it is of the clock wall"},
		"quick":   {func(*Schedule) bool { return true }, "it began without --quick"},
	} {
		t.Run(what, func(t *testing.T) {
			y := newStory(t)
			if _, err := y.run(); err != nil {
				t.Fatal(err)
			}
			quick := c.change(y.s)
			if _, err := Open(y.store, y.s, y.world.Now(), quick); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%v, want %q", err, c.say)
			}
		})
	}
}

// TestFirstDay has no day named: the schedule begins on the day of its first start, also when it is started again.
func TestFirstDay(t *testing.T) {
	y := newStory(t)
	y.s.From, y.world.Time = Date{}, at(2, 21)
	y.carry = func(_ context.Context, s Slot) error {
		if s.Number == 8 {
			return errKilled
		}
		return nil
	}
	if _, err := y.run(); err == nil {
		t.Fatal("the program was not killed")
	}
	y.carry = nil
	d, err := y.run()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fates(d), "mmmmmm"+strings.Repeat("d", 36); got != want || !d.Slots[0].At.Equal(at(2, 0)) {
		t.Errorf("from %v: %s; want %s from %v", d.Slots[0].At, got, want, at(2, 0))
	}
}

// TestWallClock waits for slots of this machine's clock, a fraction of a second ahead.
func TestWallClock(t *testing.T) {
	s := week(t, "UTC", DateOf(time.Now(), time.UTC))
	d, err := Open(t.TempDir(), s, time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	begin := time.Now().Round(0)
	d.Slots = d.Slots[:3]
	for i := range d.Slots {
		d.Slots[i].At = begin.Add(time.Duration(i) * 100 * time.Millisecond)
	}
	var early []int
	err = Run(t.Context(), Config{
		Diary: d, Clock: Wall(),
		Carry: func(_ context.Context, s Slot) error {
			if time.Now().Round(0).Before(s.At) {
				early = append(early, s.Number)
			}
			return nil
		},
		Report: func(Slot) {}, Warn: func(err error) { t.Error(err) },
	})
	if err != nil || fates(d) != "ddd" || len(early) > 0 {
		t.Errorf("%v, fates %s, early %v; want all done, none early", err, fates(d), early)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	waiting := make(chan error)
	go func() {
		_, err := Wall().Wait(ctx, time.Now().Add(time.Hour))
		waiting <- err
	}()
	stop(cause)
	if err := <-waiting; !errors.Is(err, cause) {
		t.Errorf("the wait ended with %v, want %v", err, cause)
	}
}

func FuzzDiary(f *testing.F) {
	d := week(&testing.T{}, "Europe/Berlin", Date{2026, 10, 22}).begin(monday, false)
	d.path = f.TempDir() + "/d"
	if err := d.Save(); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(d.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"zone":"UTC","slots":[{"slot":1,"at":"2026-01-01T00:00:00Z","state":"done"}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseDiary(text)
		if err != nil {
			return
		}
		for i, s := range d.Slots {
			if s.Number != i+1 || i > 0 && !s.At.After(d.Slots[i-1].At) {
				t.Errorf("slot %d has the number %d and the time %v", i+1, s.Number, s.At)
			}
		}
		d.decide(monday, circumstances{})
	})
}
