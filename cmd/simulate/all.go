package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"wiretime/atomicfile"
	"wiretime/process"
)

// shown are the campaigns that the page shows.
var shown = []point{
	{Workers: 10, Loads: 10_000, Rate: usualRate, Seed: 1},
	{Workers: 100, Loads: 10_000, Rate: usualRate, Seed: 1},
	{Workers: 1_000, Loads: 10_000, Rate: usualRate, Seed: 1},
	{Workers: 10, Loads: 100_000, Rate: usualRate, Seed: 1},
	{Workers: 100, Loads: 100_000, Rate: usualRate, Seed: 1},
	{Workers: 1_000, Loads: 100_000, Rate: usualRate, Seed: 1},
	{Workers: 1_000, Loads: 1_000_000, Rate: usualRate, Seed: 1},
	{Workers: 10, Loads: 10_000, Seed: 1},
	{Workers: 10, Loads: 10_000, Artefacts: 3, Seed: 1},
}

// kept is the folder of the outcomes.
const kept = ".cache/campaign-simulation"

// simulateAll simulates the campaigns that the page shows and that were not simulated yet, and writes their tables.
func simulateAll(ctx context.Context) error {
	var all []outcome
	for _, p := range shown {
		out, err := outcomeOf(ctx, p)
		if err != nil {
			return fmt.Errorf("simulate a campaign of %d workers and %d loads: %w", p.Workers, p.Loads, err)
		}
		all = append(all, out)
	}
	return writePage(all)
}

// outcomeOf returns what came of a campaign, which it simulates in a process of its own unless that was done before.
func outcomeOf(ctx context.Context, p point) (out outcome, err error) {
	file := filepath.Join(kept, fmt.Sprintf("%d-%d-%d-%d.json", p.Workers, p.Loads, p.Artefacts, p.Rate))
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "== %d workers, %d loads, %d artefacts\n", p.Workers, p.Loads, p.Artefacts)
		if text, err = simulateApart(ctx, p); err == nil {
			err = errors.Join(os.MkdirAll(kept, 0o755), atomicfile.WriteBytes(file, text))
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err == nil && out.Point != p {
		err = fmt.Errorf("%s is about another campaign: delete it", file)
	}
	return out, err
}

// simulateApart simulates a campaign in a process of its own.
func simulateApart(ctx context.Context, p point) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	arguments := []string{}
	for flag, value := range map[string]int{"workers": p.Workers, "loads": p.Loads, "artefacts": p.Artefacts, "rate": p.Rate, "seed": int(p.Seed)} {
		arguments = append(arguments, fmt.Sprintf("-%s=%d", flag, value))
	}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := process.Run(command); err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return out.Bytes(), nil
}
