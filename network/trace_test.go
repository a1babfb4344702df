package network

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"wiretime/costtest"
)

func TestTraceLink(t *testing.T) {
	const ms, ns = time.Millisecond, time.Nanosecond
	along := func(millis ...int64) Link { return Link{Trace: trace(millis...)} }
	for _, test := range []struct {
		name     string
		path     Path
		arrivals []arrival
	}{
		{"one packet per opportunity", oneLink(along(3, 5, 9)), []arrival{
			{0, 1500, 3 * ms, Delivered}, {0, 1500, 5 * ms, Delivered}, {0, 1500, 9 * ms, Delivered}}},
		{"several opportunities in one millisecond", oneLink(along(3, 3, 5)), []arrival{
			{0, 1500, 3 * ms, Delivered}, {0, 1500, 3 * ms, Delivered}, {0, 1500, 5 * ms, Delivered}}},
		{"small packets share an opportunity", oneLink(along(3, 5)), []arrival{
			{0, 1000, 3 * ms, Delivered}, {0, 500, 3 * ms, Delivered}, {0, 1, 5 * ms, Delivered}, {0, 1499, 5 * ms, Delivered}, {0, 1, 8 * ms, Delivered}}},
		{"a packet may begin in the rest of an opportunity", oneLink(along(3, 5, 9)), []arrival{
			{0, 1000, 3 * ms, Delivered}, {0, 1000, 5 * ms, Delivered}, {0, 1000, 5 * ms, Delivered}, {0, 1, 9 * ms, Delivered}}},
		{"a large packet takes several", oneLink(along(3, 5, 9)), []arrival{
			{0, 3001, 9 * ms, Delivered}, {0, 1499, 9 * ms, Delivered}, {0, 1, 12 * ms, Delivered}}},
		{"only opportunities after the arrival count", oneLink(along(3, 5)), []arrival{
			{3*ms - ns, 100, 3 * ms, Delivered}, {3 * ms, 100, 5 * ms, Delivered}}},
		{"the rest of an opportunity that nobody waited for is lost", oneLink(along(3, 3, 5)), []arrival{
			{0, 100, 3 * ms, Delivered}, {4 * ms, 100, 5 * ms, Delivered}, {5 * ms, 100, 8 * ms, Delivered}}},
		{"repeats with the last timestamp as period", oneLink(along(0, 3, 5)), []arrival{
			{0, 1500, 3 * ms, Delivered}, {4 * ms, 1500, 5 * ms, Delivered}, {4 * ms, 1500, 5 * ms, Delivered}, {4 * ms, 1500, 8 * ms, Delivered},
			{10 * ms, 1500, 13 * ms, Delivered}, {1_000_004 * ms, 1500, 1_000_005 * ms, Delivered}}},
		{"delay comes after the opportunity", oneLink(Link{Trace: trace(3), Delay: 20 * ms}), []arrival{{0, 1500, 23 * ms, Delivered}}},
		{"the queue counts what waits for its opportunity", oneLink(Link{Trace: trace(3), Queue: Queue{Packets: 2}}), []arrival{
			{0, 1500, 3 * ms, Delivered}, {0, 1500, 6 * ms, Delivered}, {3*ms - ns, 1500, 0, DroppedQueue}, {3 * ms, 1500, 9 * ms, Delivered}}},
		{"an outage wastes its opportunities", oneLink(along(1), Event{At: 3 * ms, Outage: 3 * ms}), append(
			packets(2, arrival{0, 750, 1 * ms, Delivered}),
			arrival{0, 1500, 2 * ms, Delivered}, arrival{0, 1500, 6 * ms, Delivered}, arrival{4 * ms, 1500, 7 * ms, Delivered})},
		{"an outage between two parts of a packet", oneLink(along(1), Event{At: 2 * ms, Outage: 3*ms + ns}), []arrival{
			{0, 2000, 6 * ms, Delivered}, {0, 1000, 6 * ms, Delivered}}},
		{"an outage that drops loses what waits", oneLink(along(5), Event{At: 6 * ms, Outage: 2 * ms, OutageDrops: true}), []arrival{
			{0, 1500, 5 * ms, Delivered}, {0, 1500, 0, DroppedOutage}, {5 * ms, 1500, 0, DroppedOutage}, {7 * ms, 1500, 0, DroppedOutage}, {8 * ms, 1500, 10 * ms, Delivered}}},
		{"an outage that drops loses a packet half through", oneLink(along(2, 4), Event{At: 3 * ms, Outage: 2 * ms, OutageDrops: true}), []arrival{
			{0, 2000, 0, DroppedOutage}, {0, 10, 0, DroppedOutage}, {5 * ms, 10, 6 * ms, Delivered}}},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, test.path, test.arrivals) })
	}
}

func TestParseTrace(t *testing.T) {
	for text, want := range map[string][]int64{
		"1\n":          {1},
		"0\n0\n3\n3":   {0, 0, 3, 3},
		"007\n12\n":    {7, 12},
		"1\r\n2\r\n":   {1, 2},
		"1000000000\n": {1_000_000_000},
	} {
		got, err := ParseTrace("test", strings.NewReader(text))
		if err != nil || got.Name != "test" || !slices.Equal(got.Opportunities, want) {
			t.Errorf("ParseTrace(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseTraceSaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "no delivery opportunity",
		"0\n0\n":                           "it lasts 0 ms",
		"1\n\n2\n":                         `line 2: "" is not a whole number`,
		"1\n2 # slow\n":                    `line 2: "2 # slow" is not a whole number`,
		"-1\n":                             "line 1",
		"1.5\n":                            "line 1",
		"5\n7\n6\n":                        "line 3: 6 ms comes after 7 ms",
		"1000000001\n":                     "line 1: 1000000001 ms is above",
		"99999999999999999999999\n":        "line 1",
		"1\n" + strings.Repeat("9", 1<<17): "line 2: read: bufio.Scanner: token too long",
	} {
		_, err := ParseTrace("cell.down", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `parse trace "cell.down"`) {
			t.Errorf("ParseTrace(%.40q): %v; want an error with %q", text, err, want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ParseTrace("x", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("ParseTrace of a broken reader: %v, want it to wrap %v", err, broken)
	}
}

// traceCost is what an octet of a trace may cost.
var traceCost = costtest.Limit{Fixed: 1 << 20, PerOctet: 32, Time: time.Microsecond}

func TestCostOfATrace(t *testing.T) {
	text := strings.Repeat("1\n", 2<<20)
	costtest.Check(t, len(text), traceCost, func() {
		if _, err := ParseTrace("x", strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
}

// endless is a file that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	const line = "999999999\n"
	for i := range p {
		p[i] = line[(e.read+i)%len(line)]
	}
	e.read += len(p)
	return len(p), nil
}

func TestATraceThatNeverEnds(t *testing.T) {
	if _, err := ParseTrace("x", &endless{}); err == nil || !strings.Contains(err.Error(), "exceeds 67108864 octets") {
		t.Errorf("got %v, want the limit", err)
	}
}

func FuzzParseTrace(f *testing.F) {
	for _, s := range []string{"1\n", "0\n0\n3\n", "1\n\n", "5\n3\n", "x", "1\r\n2\r\n", "+1\n", "1_0\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var parsed *Trace
		var err error
		costtest.Check(t, len(text), traceCost, func() { parsed, err = ParseTrace("fuzz", bytes.NewReader(text)) })
		if err != nil {
			return
		}
		if err := parsed.validate(); err != nil {
			t.Fatalf("ParseTrace accepts a trace that is not valid: %v", err)
		}
		e := start(t, oneLink(Link{Trace: parsed}), 1)
		if due, fate := e.Arrive(0, Up, 0, 1500); fate != Delivered || due <= 0 || due > int64(2*parsed.Period()) {
			t.Fatalf("first packet is due at %d, %v; the trace's period is %v", due, fate, parsed.Period())
		}
	})
}

// TestRealTracesRepeat saturates real traces with full packets over a little
// more than two periods. Every packet leaves exactly at its opportunity, and
// the trace repeats at its end.
func TestRealTracesRepeat(t *testing.T) {
	files, _ := filepath.Glob("../../shared/data/traces/mahimahi/*")
	if len(files) == 0 {
		t.Skip("the Mahimahi traces are not there (../shared/data/traces/mahimahi beside the checkout)")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			parsed, err := ParseTrace(filepath.Base(file), f)
			if err != nil {
				t.Fatal(err)
			}
			var want []time.Duration
			for round := range 3 {
				for _, ms := range parsed.Opportunities {
					if at := time.Duration(round)*parsed.Period() + time.Duration(ms)*time.Millisecond; at > 0 {
						want = append(want, at)
					}
				}
			}
			e := start(t, oneLink(Link{Trace: parsed}), 1)
			for i, at := range want {
				if due, fate := e.Arrive(0, Down, 0, OpportunityBytes); time.Duration(due) != at || fate != Delivered {
					t.Fatalf("packet %d is due at %v, %v; want %v", i, time.Duration(due), fate, at)
				}
			}
		})
	}
}
