package network

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// OpportunityBytes is the number of bytes that one delivery opportunity of a
// trace carries.
const OpportunityBytes = 1500

// MaxTrace is the size in octets of the largest trace: 64 MiB, some ten million opportunities.
const MaxTrace = 64 << 20

// maxTraceMillisecond bounds a timestamp of a trace to about 11 days.
const maxTraceMillisecond = 1_000_000_000

// Trace is a recording of when a link could deliver, in Mahimahi's format
// (Winstein, Sivaraman, Balakrishnan, NSDI 2013; mm-link(1)).
type Trace struct {
	Name string `json:"name"`
	// Opportunities are the milliseconds, never decreasing, at which the link
	// carries OpportunityBytes. The last of them is the period with which the
	// trace repeats.
	Opportunities []int64 `json:"opportunities"`
}

// ParseTrace reads a trace: one line per delivery opportunity, each a whole
// number of milliseconds since the trace's start. The numbers never decrease; a
// number repeats for several opportunities in one millisecond. The name appears
// in errors, which also give the line. A trace of more than MaxTrace octets is an error. A trace of
// N octets takes up to 32 N octets of memory.
func ParseTrace(name string, r io.Reader) (*Trace, error) {
	trace := &Trace{Name: name}
	limited := &io.LimitedReader{R: r, N: MaxTrace + 1}
	lines := bufio.NewScanner(limited)
	line := 0
	fail := func(format string, args ...any) (*Trace, error) {
		return nil, fmt.Errorf("parse trace %q, line %d: %w", name, line, fmt.Errorf(format, args...))
	}
	last := int64(0)
	for lines.Scan() {
		line++
		if limited.N <= 0 {
			return fail("the trace exceeds %d octets: shorten it, since a trace repeats from its beginning", MaxTrace)
		}
		ms, err := strconv.ParseUint(lines.Text(), 10, 63)
		if err != nil {
			return fail("%.40q is not a whole number of milliseconds; write one number and nothing else per line", lines.Text())
		}
		if ms > maxTraceMillisecond {
			return fail("%d ms is above %d ms, the longest trace; are these microseconds?", ms, int64(maxTraceMillisecond))
		}
		if int64(ms) < last {
			return fail("%d ms comes after %d ms; sort the lines by time", ms, last)
		}
		last = int64(ms)
		trace.Opportunities = append(trace.Opportunities, last)
	}
	if err := lines.Err(); err != nil {
		line++
		return fail("read: %w", err)
	}
	if err := trace.validate(); err != nil {
		return nil, fmt.Errorf("parse trace %q: %w", name, err)
	}
	return trace, nil
}

// Period returns the time after which the trace repeats: its last timestamp.
func (t *Trace) Period() time.Duration {
	return time.Duration(t.Opportunities[len(t.Opportunities)-1]) * time.Millisecond
}

func (t *Trace) validate() error {
	if len(t.Opportunities) == 0 {
		return errors.New("it has no delivery opportunity; write at least one line, such as 1")
	}
	if !slices.IsSorted(t.Opportunities) {
		return errors.New("its timestamps decrease; sort them by time")
	}
	last := t.Opportunities[len(t.Opportunities)-1]
	if t.Opportunities[0] < 0 || last > maxTraceMillisecond {
		return fmt.Errorf("its timestamps leave the range from 0 to %d ms", int64(maxTraceMillisecond))
	}
	if last == 0 {
		return errors.New("it lasts 0 ms: the last timestamp is the period of repetition and must be at least 1")
	}
	return nil
}
