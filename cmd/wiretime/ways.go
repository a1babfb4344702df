package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"wiretime/guest"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/machine"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/station"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// ways is what this machine offers to measure a study with.
type ways struct {
	browsers runner.Browsers // those that the study needs
	kernel   kernel.Kernel   // of the virtual clock; empty if the study does not use it
	virtual  bool            // kernel is there
	real     bool            // the study may need the real clock
	fitness  *fitness        // of the machine for that; nil if it does not

	live     station.LiveConfig // how loads on the live clock find and trust servers
	untapped error              // why their packets are not captured; nil if they are
}

// mayBeReal says whether cells that leave the clock open may be measured on the real one
// although the virtual one is there.
func (w *ways) mayBeReal() bool { return w.fitness == nil || w.fitness.State.Unfit() == "" }

// awake is the process that keeps the processors awake, 0 if none does.
func (w *ways) awake() int {
	if w.fitness == nil {
		return 0
	}
	return w.fitness.Awake
}

// state is what was found of the machine; nil if it was not examined.
func (w *ways) state() *machine.State {
	if w.fitness == nil {
		return nil
	}
	return w.fitness.State
}

// findWays looks for what the study needs. Where the study leaves the clock open
// and the virtual one is not to be had, it says so and does without.
func findWays(o runOptions, s *study.Study) (*ways, error) {
	w := &ways{real: !slices.Equal(s.Matrix[study.AxisClock], []string{study.ClockVirtual})}
	var err error
	if w.browsers, err = findBrowsers(o.browsers, s.Matrix[study.AxisLoader]); err != nil {
		return nil, err
	}
	if s.Live() || slices.Equal(s.Matrix[study.AxisClock], []string{study.ClockReal}) {
		return w, nil
	}
	w.kernel, err = kernel.Find()
	for _, browser := range []string{w.browsers.Chromium, w.browsers.Firefox} {
		if err == nil && browser != "" {
			err = guest.Sees(browser)
		}
	}
	if w.virtual = err == nil; !w.virtual {
		w.kernel = kernel.Kernel{}
	}
	if err != nil && slices.Contains(s.Matrix[study.AxisClock], study.ClockVirtual) {
		return nil, fmt.Errorf("use the virtual clock: %w", err)
	}
	if err != nil && os.Getenv(saidMark) == "" {
		fmt.Fprintf(stderr, "Everything is measured on the real clock: %v\n", err)
		_ = os.Setenv(saidMark, "1") // this program starts itself again
	}
	return w, nil
}

// findBrowsers finds the browsers that are among the loaders, as chosen or the first of each.
func findBrowsers(chosen runner.Browsers, loaders []string) (found runner.Browsers, err error) {
	if slices.Contains(loaders, pageload.Chromium) {
		if found.Chromium, err = chromium.Find(chosen.Chromium); err != nil {
			return found, err
		}
	}
	if slices.Contains(loaders, pageload.Firefox) {
		found.Firefox, err = firefox.Find(chosen.Firefox)
	}
	return found, err
}

// programs describes what the study's loads on the virtual clock follow from; nil if there is no such
// clock.
func (w *ways) programs(ctx context.Context, s *study.Study, sites map[string]*site.Site) (map[string]string, error) {
	if !w.virtual {
		return nil, nil
	}
	return runner.Programs(ctx, w.browsers, s.Matrix[study.AxisServer], w.kernel, sites)
}

const saidMark = "WIRETIME_CLOCK_SAID"

// enter makes sure that labs can be made, and finds out how fit the machine is for them,
// where the real clock may be needed.
func (w *ways) enter(ctx context.Context, wait time.Duration) (privilege string, err error) {
	if w.real {
		if err := lab.CheckTUN(); err != nil {
			return "", err
		}
		if wait > 0 {
			if w.fitness, err = findFitness(ctx, wait, w.virtual); err != nil {
				return "", err
			}
		}
	}
	p, err := lab.Enter()
	if errors.Is(err, lab.ErrForbidden) && !w.real {
		return "none: guests need no rights", nil
	}
	return string(p), err
}
