package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wiretime/atomicfile"
	"wiretime/campaign"
	"wiretime/interrupt"
	"wiretime/lab"
	"wiretime/process"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

// apart carries out batches of a place, each in a process of its own. That one enters the lab's namespaces, and this one keeps the
// network in which it reaches NATS.
type apart struct {
	task    task // without the batch
	fitness *fitness
	sites   map[string]*site.Site // open, so that they are in the cache
}

// task is what such a process has to do.
type task struct {
	Plan     *campaign.Plan
	Batch    runner.Batch
	Sites    string          // folder of the plan's sites that are not built in
	Browsers runner.Browsers // those of the plan
}

// recordsFile is where such a process leaves its records ([]store.LoadRecord), beside the folders of the artefacts.
const recordsFile = "records.json"

const carryOutVerb = "carry-out"

func (a apart) Close() error { return runner.CloseSites(a.sites) }

// Do does what that of runner.Executor does, without a core.
func (a apart) Do(ctx context.Context, _ int, b runner.Batch, dir string, attempted func()) ([]store.LoadRecord, error) {
	end, err := takeTurn(ctx, alone)
	if err != nil {
		return nil, err
	}
	defer end()
	a.task.Batch = b
	text, err := json.Marshal(a.task)
	if err != nil {
		return nil, err
	}
	mark, err := a.fitness.mark()
	if err != nil {
		return nil, err
	}
	var said lastLine
	command := exec.CommandContext(ctx, "/proc/self/exe", carryOutVerb, dir)
	if a.live() {
		command.Args = append(command.Args, "--"+study.ClockLive)
	}
	command.Env = append(os.Environ(), fitnessMark+"="+mark)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), eachLine(attempted), &said
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = interrupt.Limit + 5*time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	err = process.Run(command)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && said.text() != "":
		return nil, errors.New(said.text())
	case err != nil:
		return nil, err
	}
	return readRecords(dir)
}

func (a apart) live() bool {
	return slices.ContainsFunc(a.task.Plan.Cells, func(c campaign.Cell) bool { return c.On[study.AxisClock] == study.ClockLive })
}

func readRecords(dir string) (records []store.LoadRecord, err error) {
	text, err := os.ReadFile(filepath.Join(dir, recordsFile))
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of a batch: %w", err)
	}
	return records, nil
}

// eachLine is called for each line that is written to it.
type eachLine func()

func (e eachLine) Write(b []byte) (int, error) {
	for range bytes.Count(b, []byte("\n")) {
		e()
	}
	return len(b), nil
}

// carryOutCommand is for this program only: a worker starts itself again with it (apart).
func carryOutCommand() *cobra.Command {
	var live bool
	c := &cobra.Command{
		Use:    carryOutVerb + " FOLDER",
		Short:  "Carry out a task that a worker writes to standard input",
		Hidden: true,
		Args:   arguments(cobra.ExactArgs(1)),
		RunE:   func(_ *cobra.Command, args []string) error { return carryOut(args[0], live) },
	}
	c.Flags().BoolVar(&live, study.ClockLive, false, "on the live clock, which needs no lab")
	return c
}

// carryOut carries out the task on standard input. It writes a line for each attempt, and at the end the records.
func carryOut(dir string, live bool) error {
	ctx, stop := interruptible(context.Background())
	defer stop()
	awake := 0
	if !live {
		var err error
		if awake, err = enterAwake(); err != nil {
			return err
		}
	}
	var t task
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	records, err := t.carryOut(ctx, dir, awake)
	if ctx.Err() != nil {
		return fmt.Errorf("the batch was interrupted%w", errInterrupted)
	}
	if err != nil {
		return err
	}
	for i := range records {
		records[i].Planned.Cell = study.Cell{} // the worker knows it
	}
	text, err := json.Marshal(records)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, recordsFile), text)
}

// enterAwake enters the lab's namespaces. If it helps, a process outside keeps the processors awake, whose number it returns.
func enterAwake() (awake int, err error) {
	f, err := inheritedFitness()
	if err != nil {
		return 0, err
	}
	if !lab.Inside() {
		if err := f.keepAwake(); err != nil {
			return 0, err
		}
		mark, err := f.mark()
		if err == nil {
			err = os.Setenv(fitnessMark, mark)
		}
		if err != nil {
			return 0, err
		}
	}
	if _, err := lab.Enter(); err != nil {
		return 0, err
	}
	return f.Awake, nil
}

func (t task) carryOut(ctx context.Context, dir string, awake int) (_ []store.LoadRecord, err error) {
	cells, err := t.Plan.StudyCells()
	if err != nil {
		return nil, err
	}
	c := t.Plan.Config()
	c.Browsers, c.Awake = t.Browsers, awake
	if c.Sites, err = planSites(ctx, t.Sites, cells); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runner.CloseSites(c.Sites)) }()
	executor, err := runner.NewExecutor(ctx, c, cells)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, executor.Close()) }()
	return executor.Do(ctx, 0, t.Batch, dir, func() { _, _ = io.WriteString(stdout, "attempted\n") })
}
