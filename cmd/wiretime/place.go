package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/machine"
	"wiretime/runner"
	"wiretime/station"
	"wiretime/study"
)

// fitCampaign makes sure that a study can be divided among workers, and chooses its clock.
func fitCampaign(o *campaignOptions, s *study.Study) error {
	places := s.Places()
	switch {
	case s.Options.Crowd != nil:
		return errors.New("a crowd is measured on one machine; use 'wiretime run'")
	case len(places) == 0 && s.Live():
		return errors.New("on the live clock a figure is that of a place; name places in the study, as in at: [frankfurt], or use 'wiretime run'")
	case len(places) == 0:
		return s.UseClock(study.ClockVirtual)
	case o.workers > 0 && o.workersGiven:
		return fmt.Errorf("--workers starts workers that are at no place, and the study is measured at %s; remove it, and start 'wiretime worker --at' there", strings.Join(places, ", "))
	}
	o.workers = 0
	return nil
}

// privilegeOf says what rights the loads of a campaign have.
func privilegeOf(s *study.Study) string {
	if len(s.Places()) > 0 {
		return "that of each worker"
	}
	return "none: guests need no rights"
}

// examinePlace finds out how fit this machine is for loads on the real clock, and describes it for the store.
func examinePlace(ctx context.Context) (*fitness, json.RawMessage, error) {
	state, err := machine.Examine(ctx, examineTime)
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("the worker was stopped before its first batch%w", errInterrupted)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("examine the machine: %w", err)
	}
	best, _ := state.Better()
	fmt.Fprintf(stderr, "This machine: %s.\n", best)
	if why := state.Unfit(); why != "" {
		fmt.Fprintf(stderr, "%s; on the real clock, disturbed loads are invalid and repeated.\n", why)
	}
	privilege := ""
	for _, f := range lab.Doctor() {
		if f.Name == "namespaces" {
			privilege = f.Detail
		}
	}
	environment, err := runner.Environment(ctx, privilege, runner.Browsers{}, nil, kernel.Kernel{}, state, "", false)
	if err == nil {
		environment, err = runner.AddToEnvironment(environment, station.LiveConfig{}.Surroundings(station.CheckTap()))
	}
	return &fitness{State: state}, environment, err
}

// checkPlace makes sure that this machine can make loads on the real or the live clock.
func checkPlace(clocks, loaders []string) error {
	if slices.Contains(clocks, study.ClockLive) {
		_, err := enterLive(loaders)
		return err
	}
	for _, f := range lab.Doctor() {
		if f.Required && !f.OK {
			return fmt.Errorf("%s: %s; %s", f.Name, f.Detail, f.Remedy)
		}
	}
	return nil
}
