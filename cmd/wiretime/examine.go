package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"wiretime/machine"
)

const examineTime = 2 * time.Second

// fitness is what the program outside the lab's namespaces has found of the machine, and
// what it does for loads on the real clock.
type fitness struct {
	State *machine.State
	Awake int // the process that keeps the processors awake; 0: none does
}

// fitnessMark hands the fitness to the program inside.
const fitnessMark = "WIRETIME_FITNESS"

// findFitness measures the machine and keeps its processors awake until this program
// ends, if that helps. Unless there is another clock to fall back on, it gives an unfit
// machine some time to become quiet. Inside, it returns what was found outside.
func findFitness(ctx context.Context, wait time.Duration, fallback bool) (*fitness, error) {
	f, err := inheritedFitness()
	if f != nil || err != nil {
		return f, err
	}
	f = &fitness{}
	f.State, err = awaitQuiet(ctx, wait, fallback)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the run was interrupted before its first load%w", errInterrupted)
	}
	if err != nil {
		return nil, fmt.Errorf("examine the machine: %w", err)
	}
	best, _ := f.State.Better()
	fmt.Fprintf(stderr, "This machine: %s.\n", best)
	if err := f.keepAwake(); err != nil {
		return nil, err
	}
	if f.Awake > 0 {
		fmt.Fprintf(stderr, "Its processors are kept awake; left alone, %s.\n", f.State.AsIs)
	}
	for _, lack := range f.State.Unchecked {
		fmt.Fprintln(stderr, "Not checked:", lack)
	}
	mark, err := f.mark()
	if err != nil {
		return nil, err
	}
	return f, os.Setenv(fitnessMark, mark)
}

// inheritedFitness returns what the program that has started this one has found of the machine; nil if it has not looked.
func inheritedFitness() (*fitness, error) {
	found := os.Getenv(fitnessMark)
	if found == "" {
		return nil, nil
	}
	_ = os.Unsetenv(fitnessMark)
	f := &fitness{}
	if err := json.Unmarshal([]byte(found), f); err != nil {
		return nil, fmt.Errorf("read what was found of the machine: %w", err)
	}
	return f, nil
}

// mark returns the fitness as fitnessMark hands it on.
func (f *fitness) mark() (string, error) {
	text, err := json.Marshal(f)
	return string(text), err
}

// keepAwake keeps the processors awake until this program ends, if that helps.
func (f *fitness) keepAwake() error {
	if _, awake := f.State.Better(); !awake {
		return nil
	}
	keeper, err := machine.KeepAwake()
	if err != nil {
		return err
	}
	f.Awake = keeper.PID()
	return nil
}

// awaitQuiet measures the machine until it is fit, or for so long.
func awaitQuiet(ctx context.Context, wait time.Duration, fallback bool) (*machine.State, error) {
	for began := time.Now(); ; {
		s, err := machine.Examine(ctx, examineTime)
		if err != nil {
			return nil, err
		}
		why := s.Unfit()
		waited := time.Since(began)
		switch {
		case why == "":
			return s, nil
		case fallback:
			fmt.Fprintf(stderr, "Where the study leaves the clock open it is the virtual one: %s.\n", why)
			return s, nil
		case waited >= wait:
			fmt.Fprintf(stderr, "%s; the virtual clock is not disturbed (make kernel, then --clock virtual). On the real clock, disturbed loads are invalid and repeated, except those of crowds, whose figures may be too high.\n", why)
			return s, nil
		}
		fmt.Fprintf(stderr, "Waiting for a quiet machine, %v at most: %s.\n", (wait - waited).Round(time.Second), why)
	}
}
