package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"wiretime/guest"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/runner"
	"wiretime/station"
	"wiretime/study"
)

// ways is what this machine offers to measure a study with.
type ways struct {
	browsers runner.Browsers // those that the study needs
	kernel   kernel.Kernel   // of the virtual clock; empty if the study does not use it
	virtual  bool            // kernel is there
	real     bool            // the study may need the real clock
}

// findWays looks for what the study needs. Where the study leaves the clock open
// and the virtual one is not to be had, it says so and does without.
func findWays(o runOptions, s *study.Study) (*ways, error) {
	w := &ways{real: !slices.Equal(s.Clocks, []string{study.ClockVirtual})}
	var err error
	if slices.Contains(s.Loaders, station.Chromium) {
		if w.browsers.Chromium, err = chromium.Find(o.browsers.Chromium); err != nil {
			return nil, err
		}
	}
	if slices.Contains(s.Loaders, station.Firefox) {
		if w.browsers.Firefox, err = firefox.Find(o.browsers.Firefox); err != nil {
			return nil, err
		}
	}
	if slices.Equal(s.Clocks, []string{study.ClockReal}) {
		return w, nil
	}
	w.kernel, err = kernel.Find()
	if err == nil && w.browsers.Chromium != "" {
		err = guest.Sees(w.browsers.Chromium)
	}
	if w.virtual = err == nil; !w.virtual {
		w.kernel = kernel.Kernel{}
	}
	if err != nil && slices.Contains(s.Clocks, study.ClockVirtual) {
		return nil, fmt.Errorf("use the virtual clock: %w", err)
	}
	if err != nil && os.Getenv(saidMark) == "" {
		fmt.Fprintf(os.Stderr, "Everything is measured on the real clock: %v\n", err)
		_ = os.Setenv(saidMark, "1") // this program starts itself again
	}
	return w, nil
}

const saidMark = "WIRETIME_CLOCK_SAID"

// enter makes sure that labs can be made, where the real clock may need them.
func (w *ways) enter() (privilege string, err error) {
	if w.real {
		if err := lab.CheckTUN(); err != nil {
			return "", err
		}
	}
	p, err := lab.Enter()
	if errors.Is(err, lab.ErrForbidden) && !w.real {
		return "none: guests need no rights", nil
	}
	return string(p), err
}
