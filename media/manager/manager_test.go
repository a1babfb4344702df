package manager

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/network"
)

const ms = time.Millisecond

// usual changes the network every second for a minute around 150 ms, with three
// reconnections.
func usual() Config {
	return Config{
		Name: "test", Access: AccessPoints(), Rate: DefaultRate, Delay: 150 * ms,
		Period: time.Second, Duration: time.Minute, Reconnections: 3, Seed: 1,
	}
}

func plan(t *testing.T, c Config) (network.Path, []Event) {
	t.Helper()
	path, log, err := Plan(c)
	if err != nil {
		t.Fatal(err)
	}
	return path, log
}

// TestThePathDoesWhatTheClientIsTold checks that path and log agree, and that an emulation
// of the path follows them to the nanosecond.
func TestThePathDoesWhatTheClientIsTold(t *testing.T) {
	c := usual()
	c.Rate = 0 // a packet leaves when it arrives
	path, log := plan(t, c)
	for i := range path.Access { // and no packet waits for its predecessor
		path.Access[i].Up.Reorder, path.Access[i].Down.Reorder = true, true
	}
	e, err := path.Start(7)
	if err != nil {
		t.Fatal(err)
	}
	active, moves := 0, 0
	var delay time.Duration
	for i, event := range log {
		if want := time.Duration(i) * time.Second; event.At != want {
			t.Errorf("change %d is at %v, want %v", i, event.At, want)
		}
		if i > 0 {
			// One nanosecond earlier everything is as before.
			wantDelay(t, e, active, event.At-1, delay)
		}
		if event.Access != "" {
			moves++
			active = 1 - active
			if event.Access != c.Access[active] || i == 0 {
				t.Errorf("at %v the client moves to %s", event.At, event.Access)
			}
		}
		delay = event.Delay
		wantDelay(t, e, active, event.At, delay)
	}
	if len(log) != 60 || moves != 3 || len(path.Handovers()) != 3 {
		t.Errorf("%d changes, %d moves, %d handovers", len(log), moves, len(path.Handovers()))
	}
}

// TestTogether checks that with two radios both links work, and that the link that is left
// stays lost until a period before the client returns. The log is that of a client with one
// radio.
func TestTogether(t *testing.T) {
	c := usual()
	c.Rate, c.Reconnections = 0, 20 // some at two moments that follow each other
	_, alone := plan(t, c)
	c.Together = true
	path, log := plan(t, c)
	if !reflect.DeepEqual(log, alone) {
		t.Errorf("the log is %+v, want %+v", log, alone)
	}
	for i := range path.Access {
		path.Access[i].Up.Reorder, path.Access[i].Down.Reorder = true, true
	}
	handovers := path.Handovers()
	follow := 0
	for i, h := range handovers {
		back := c.Duration
		if i+1 < len(handovers) {
			back = max(h.At+c.Period, handovers[i+1].At-c.Period)
		}
		if h.From != i%2 || h.To != 1-h.From || h.Back != back {
			t.Errorf("handover %d is %+v, want it back at %v", i, h, back)
		}
		if i > 0 && h.At == handovers[i-1].Back {
			follow++
		}
	}
	if len(handovers) != 20 || follow == 0 {
		t.Errorf("%d handovers, of which %d follow on another; choose a seed with some", len(handovers), follow)
	}
	e, err := path.Start(7)
	if err != nil {
		t.Fatal(err)
	}
	gone := -1
	check := func(at, delay time.Duration) {
		for access := range 2 {
			for _, d := range []network.Direction{network.Up, network.Down} {
				due, fate := e.Arrive(access, d, int64(at), 1500)
				if access == gone && fate != network.DroppedOutage || access != gone && (due != int64(at+delay) || fate != network.Delivered) {
					t.Errorf("a packet %v at %v on link %d, while %d is lost, is due at %v, %v; want a delay of %v", d, at, access, gone, time.Duration(due), fate, delay)
				}
			}
		}
	}
	for i, event := range log {
		if i > 0 {
			check(event.At-1, log[i-1].Delay)
		}
		for _, h := range handovers {
			if event.At == h.Back {
				gone = -1
			}
		}
		for _, h := range handovers {
			if event.At == h.At {
				gone = h.From
			}
		}
		check(event.At, event.Delay)
	}
	if !strings.Contains(path.Note, "All access links carry at the same time; the one that is left is lost until a period before the client comes back to it.") {
		t.Errorf("the path's note is %q", path.Note)
	}
}

// wantDelay sends a packet over each access link in each direction.
func wantDelay(t *testing.T, e *network.Emulation, active int, at, want time.Duration) {
	t.Helper()
	for access := range 2 {
		for _, d := range []network.Direction{network.Up, network.Down} {
			due, fate := e.Arrive(access, d, int64(at), 1500)
			if access != active {
				if fate != network.DroppedHandover {
					t.Errorf("a packet at %v on the access link that is not in use: %v", at, fate)
				}
			} else if due != int64(at+want) || fate != network.Delivered {
				t.Errorf("a packet %v at %v is due at %v, %v; want a delay of %v", d, at, time.Duration(due), fate, want)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	c := usual()
	c.Loss = 0.05
	path, log := plan(t, c)
	want := network.Link{Rate: 100_000_000, Delay: log[0].Delay, Loss: network.Loss{Rate: 0.05}, Queue: network.Queue{Bytes: 3_125_000}}
	for i, a := range path.Access {
		if a.Up != want || a.Down != want || a.Name != c.Access[i] {
			t.Errorf("access link %+v, want %+v each way", a, want)
		}
	}
	if path.Name != "test" || !strings.Contains(path.Note, "150ms up, 150ms down") || !strings.Contains(path.Note, "Packet error rate: 0.05 in each direction") {
		t.Errorf("%+v", path)
	}
}

// TestAConstantNetwork checks that nothing changes without a period.
func TestAConstantNetwork(t *testing.T) {
	path, log := plan(t, Config{Name: "test", Access: []string{"wlan"}, Rate: DefaultRate, Delay: 50 * ms, Seed: 1})
	if want := []Event{{Delay: 50 * ms}}; !reflect.DeepEqual(log, want) || len(path.Events) != 0 || path.Access[0].Up.Delay != 50*ms {
		t.Errorf("log %+v, path %+v", log, path)
	}
}

// TestDelaysAreNormallyDistributedAroundTheAverage makes 100,000 draws: mean and standard
// deviation must be within four standard errors, and none negative.
func TestDelaysAreNormallyDistributedAroundTheAverage(t *testing.T) {
	c := usual()
	c.Period, c.Duration, c.Reconnections = ms, 100*time.Second, 0
	_, log := plan(t, c)
	var sum, squares, zeros float64
	for _, e := range log {
		x := float64(e.Delay)
		sum += x
		squares += x * x
		if e.Delay < 0 {
			t.Fatalf("a delay of %v", e.Delay)
		}
		if e.Delay == 0 {
			zeros++
		}
	}
	n := float64(len(log))
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	want := Deviation * float64(c.Delay)
	if n != 100_000 || math.Abs(mean-float64(c.Delay)) > 4*want/math.Sqrt(n) || math.Abs(deviation-want) > 4*want/math.Sqrt(2*n) {
		t.Errorf("%v draws with a mean of %v and a deviation of %v", n, time.Duration(mean), time.Duration(deviation))
	}
	if zeros > 20 {
		t.Errorf("%v draws were cut off at zero; 3 are to be expected", zeros)
	}
}

func TestADelayIsCutOffAtZero(t *testing.T) {
	c := usual()
	c.Period, c.Duration, c.Reconnections = ms, 1000*time.Second, 0
	log := c.events()
	if !slices.ContainsFunc(log, func(e Event) bool { return e.Delay == 0 }) {
		t.Error("none of a million draws was cut off at zero")
	}
}

// TestTheSeedDecides checks that a seed gives one plan, and that changing one axis of a
// study leaves the others as they are.
func TestTheSeedDecides(t *testing.T) {
	path, log := plan(t, usual())
	again, logAgain := plan(t, usual())
	if !reflect.DeepEqual(path, again) || !reflect.DeepEqual(log, logAgain) {
		t.Error("the same plan twice is not the same")
	}
	other := usual()
	other.Seed = 2
	if _, otherLog := plan(t, other); reflect.DeepEqual(log, otherLog) {
		t.Error("two seeds give the same plan")
	}
	var before []time.Duration
	for reconnections := range 60 {
		c := usual()
		c.Reconnections, c.Delay, c.Loss = reconnections, 2*c.Delay, 0.1
		_, moreLog := plan(t, c)
		var moments []time.Duration
		for i, e := range moreLog {
			if e.Access != "" {
				moments = append(moments, e.At)
			}
			if diff := e.Delay - 2*log[i].Delay; diff < -1 || diff > 1 { // rounded
				t.Fatalf("at %v the delay is %v around %v and %v around %v", e.At, e.Delay, c.Delay, log[i].Delay, usual().Delay)
			}
		}
		if len(moments) != reconnections {
			t.Fatalf("%d reconnections, want %d", len(moments), reconnections)
		}
		for _, at := range before {
			if !slices.Contains(moments, at) {
				t.Fatalf("of %d reconnections, the one at %v disappears with one more", len(before), at)
			}
		}
		before = moments
	}
}

// TestWindow checks that all reconnections lie in the window after the beginning, while the
// delay goes on changing.
func TestWindow(t *testing.T) {
	c := usual()
	for seed := range uint64(100) {
		c.Seed, c.Window, c.Reconnections = seed, 10*time.Second, 9
		path, log := plan(t, c)
		for i, h := range path.Handovers() {
			if want := time.Duration(i+1) * time.Second; h.At != want {
				t.Fatalf("handover %d of 9 is at %v, want %v", i, h.At, want)
			}
		}
		if len(log) != 60 {
			t.Errorf("%d changes", len(log))
		}
	}
	// Reconnections occur everywhere in the window.
	var at [9]int
	c.Reconnections = 1
	for c.Seed = range uint64(9000) {
		log := c.events()
		at[slices.IndexFunc(log, func(e Event) bool { return e.Access != "" })-1]++
	}
	for i, n := range at {
		if math.Abs(float64(n)-1000) > 4*math.Sqrt(1000) {
			t.Errorf("%d of 9000 reconnections are at %d s", n, i+1)
		}
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string // "" = fine
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Reconnections = 59 }, ""},
		{func(c *Config) { c.Access, c.Reconnections = c.Access[:1], 0 }, ""},
		{func(c *Config) { c.Delay, c.Rate, c.Loss = 0, 0, 1 }, ""},
		{func(c *Config) { c.Window = time.Hour }, ""},
		{func(c *Config) { c.Reconnections, c.Duration = 60, time.Minute+1 }, ""},
		{func(c *Config) { c.Reconnections = 60 }, `plan network "test": there is no room for 60 reconnections: with a period of 1s there are 59 moments for them; make the period shorter or the duration longer`},
		{func(c *Config) { c.Window = 3 * time.Second }, "there are 2 moments for them"},
		{func(c *Config) { c.Window = 1 }, "there are 0 moments for them"},
		{func(c *Config) { c.Access = c.Access[:1] }, `3 reconnections need two access links, and it has only "AP1"; name another one`},
		{func(c *Config) { c.Access = nil }, "0 access links: want one or two"},
		{func(c *Config) { c.Access = []string{"a", "b", "c"} }, "3 access links"},
		{func(c *Config) { c.Access = []string{"AP1", "AP1"} }, `two access links are named "AP1"`},
		{func(c *Config) { c.Period = 0 }, "3 reconnections need a period"},
		{func(c *Config) { c.Delay = -1 }, "invalid average link delay -1ns: must not be negative"},
		{func(c *Config) { c.Delay = 2 * time.Hour }, "is outside 0 to 1h0m0s"},
		{func(c *Config) { c.Period = -1 }, "invalid period -1ns: must not be negative"},
		{func(c *Config) { c.Duration = -1 }, "invalid duration -1ns: must not be negative"},
		{func(c *Config) { c.Duration = 0 }, "a period needs a duration"},
		{func(c *Config) { c.Window = -1 }, "invalid window -1ns: must not be negative"},
		{func(c *Config) { c.Reconnections = -1 }, "invalid number of reconnections -1: must not be negative"},
		{func(c *Config) { c.Period = 1 }, "are more than 100000 changes; make the period longer"},
		{func(c *Config) { c.Period, c.Duration, c.Reconnections = math.MaxInt64, math.MaxInt64, 0 }, ""},
		{func(c *Config) { c.Loss = 2 }, "a loss of 2 is not a probability"},
		{func(c *Config) { c.Loss = math.NaN() }, "a loss of NaN is not a probability"},
		{func(c *Config) { c.Rate = 100 }, "below 1kbit"},
	} {
		c := usual()
		test.change(&c)
		path, log, err := Plan(c)
		switch {
		case (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%+v: %v, want %q", c, err, test.want)
		case err != nil && (path.Name != "" || log != nil):
			t.Errorf("%+v: both a plan and an error", c)
		}
	}
}

func TestPlansSurviveJSON(t *testing.T) {
	c := usual()
	c.Together = true
	path, log := plan(t, c)
	var pathAgain network.Path
	var logAgain []Event
	for value, again := range map[any]any{&path: &pathAgain, &log: &logAgain} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(value, again) {
			t.Errorf("it comes back from JSON as\n%+v, want\n%+v", again, value)
		}
	}
}

// TestAConstantDelay checks that a delay that is not varied stays, and that the client moves at the moments at which it moves otherwise.
func TestAConstantDelay(t *testing.T) {
	c := usual()
	_, drawn := plan(t, c)
	c.Constant = true
	path, log := plan(t, c)
	for i, e := range log {
		if e.Delay != c.Delay || e.At != drawn[i].At || e.Access != drawn[i].Access {
			t.Errorf("at %v the delay is %v and the client goes to %q; otherwise at %v to %q", e.At, e.Delay, e.Access, drawn[i].At, drawn[i].Access)
		}
	}
	if !strings.Contains(path.Note, "a standard deviation of 0 % of") {
		t.Errorf("the note is %q", path.Note)
	}
}

func TestLossTowardsTheClient(t *testing.T) {
	c := usual()
	c.Loss, c.LossDown = 0.1, true
	path, _ := plan(t, c)
	for _, a := range path.Access {
		if a.Up.Loss.Rate != 0 || a.Down.Loss.Rate != 0.1 {
			t.Errorf("%s loses %v of the packets up and %v of those down", a.Name, a.Up.Loss.Rate, a.Down.Loss.Rate)
		}
	}
	if !strings.Contains(path.Note, "0.1 towards the client") {
		t.Errorf("the note is %q", path.Note)
	}
}
