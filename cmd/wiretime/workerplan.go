package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"wiretime/campaign"
	"wiretime/guest"
	"wiretime/interrupt"
	"wiretime/kernel"
	"wiretime/process"
	"wiretime/runner"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
)

// prepared carries out a plan on the virtual clock with sites that it has opened.
type prepared struct {
	*runner.Executor
	sites map[string]*site.Site
}

func (p prepared) Do(ctx context.Context, core int, b runner.Batch, dir string, attempted func()) ([]store.LoadRecord, error) {
	end, err := takeTurn(ctx, besideOthers)
	if err != nil {
		return nil, err
	}
	defer end()
	return p.Executor.Do(ctx, core, b, dir, attempted)
}

func (p prepared) Close() error { return errors.Join(p.Executor.Close(), runner.CloseSites(p.sites)) }

// prepare makes this machine ready for a plan, if it has the same programs or may fetch them.
func prepare(ctx context.Context, o workerOptions, p *campaign.Plan, inputs campaign.Inputs) (_ campaign.Executor, err error) {
	if err := allowed(o, p); err != nil {
		return nil, err
	}
	cells, err := p.StudyCells()
	if err != nil {
		return nil, err
	}
	c := p.Config()
	if c.Browsers, err = findBrowsers(o.browsers, wordsOf(cells, study.AxisLoader)); err != nil {
		return nil, unfit(err)
	}
	clocks := wordsOf(cells, study.AxisClock)
	virtual := slices.Contains(clocks, study.ClockVirtual)
	if virtual {
		c.Kernel, err = virtualClock(ctx, o, p, inputs, c.Browsers)
	} else {
		err = checkPlace(clocks, wordsOf(cells, study.AxisLoader))
	}
	if err != nil {
		return nil, unfit(err)
	}
	if c.Sites, err = planSites(ctx, inputs.Sites, cells); err != nil {
		return nil, unfit(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, runner.CloseSites(c.Sites))
		}
	}()
	here, err := runner.Programs(ctx, c.Browsers, wordsOf(cells, study.AxisServer), c.Kernel, c.Sites)
	if err != nil {
		return nil, unfit(err)
	}
	differ := runner.CompareProgramLists(p.Programs, here)
	if len(differ) > 0 && differ[0].Name == runner.ProgramOwn && len(differ) == 1 && o.programs && p.Program.Object != "" {
		return nil, delegate(ctx, p, inputs)
	}
	if len(differ) > 0 {
		return nil, unfit(otherPrograms(differ, o))
	}
	if !virtual {
		return apart{task: task{Plan: p, Sites: inputs.Sites, Browsers: c.Browsers}, fitness: o.fitness, sites: c.Sites}, nil
	}
	executor, err := runner.NewExecutor(ctx, c, cells)
	if err != nil {
		return nil, err
	}
	return prepared{executor, c.Sites}, nil
}

// virtualClock makes sure that guests see the browsers, and returns the plan's kernel.
func virtualClock(ctx context.Context, o workerOptions, p *campaign.Plan, inputs campaign.Inputs, b runner.Browsers) (kernel.Kernel, error) {
	for _, browser := range []string{b.Chromium, b.Firefox} {
		if browser == "" {
			continue
		}
		if err := guest.Sees(browser); err != nil {
			return kernel.Kernel{}, err
		}
	}
	return planKernel(ctx, o, p, inputs)
}

// planSites opens the sites of a plan, of which those that are not built in are in a folder. On the live clock there are none.
func planSites(ctx context.Context, folder string, cells []study.Cell) (map[string]*site.Site, error) {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c study.Cell) bool { return c.Clock() == study.ClockLive })
	library, err := site.DefaultLibrary()
	if err != nil {
		return nil, err
	}
	library.Dir = folder
	return runner.Sites(ctx, library, wordsOf(cells, study.AxisSite))
}

func unfit(err error) error { return fmt.Errorf("%w: %w", campaign.ErrUnfit, err) }

// allowed makes sure that the worker's operator allows the commands of the study's own servers.
func allowed(o workerOptions, p *campaign.Plan) error {
	if len(p.Servers) == 0 || o.commands {
		return nil
	}
	var commands []string
	for _, s := range p.Servers {
		commands = append(commands, fmt.Sprintf("%q", s.Command))
	}
	return unfit(fmt.Errorf("study %s starts servers of its own: %s; look at them, then add --allow-commands", p.Study, strings.Join(commands, ", ")))
}

// planKernel returns the plan's kernel: this machine's if it is the same, or else a fetched one.
func planKernel(ctx context.Context, o workerOptions, p *campaign.Plan, inputs campaign.Inputs) (kernel.Kernel, error) {
	k, err := kernel.Find()
	if p.Kernel.Object == "" || err == nil && k.Hash == p.Kernel.Name {
		return k, err
	}
	if err == nil {
		err = fmt.Errorf("its kernel of the virtual clock, Linux %s, is not the coordinator's", k.Version)
	}
	if !o.programs {
		return k, fmt.Errorf("%w, or fetch the coordinator's with --accept-programs", err)
	}
	dir, err := inputs.Kernel(ctx, p.Kernel)
	if err != nil {
		return k, err
	}
	return kernel.Open(dir)
}

// otherPrograms says in what this machine's programs are not the plan's.
func otherPrograms(differ []runner.ProgramDifference, o workerOptions) error {
	var said []string
	for _, d := range differ {
		said = append(said, fmt.Sprintf("%s is %q here, and %q at the coordinator", d.Name, d.Now, d.Then))
	}
	advice := "install the coordinator's"
	if differ[0].Name == runner.ProgramOwn && !o.programs {
		advice += ", or fetch its wiretime with --accept-programs"
	}
	return fmt.Errorf("it has other programs: %s; %s", strings.Join(said, "; "), advice)
}

// delegate has the coordinator's program, which it fetches, work for the campaign until that ends.
func delegate(ctx context.Context, p *campaign.Plan, inputs campaign.Inputs) error {
	program, err := inputs.Program(ctx, p.Program)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, append(os.Args[1:], "--campaign", p.Campaign)...)
	command.Stdout, command.Stderr = stdout, stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	command.WaitDelay = interrupt.Limit + 5*time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, by Cancel
	if err := process.Run(command); err != nil {
		return fmt.Errorf("run the coordinator's version of wiretime, which was fetched: %w", err)
	}
	return campaign.ErrServed
}

// wordsOf returns the values of cells on an axis, each once, without the empty one.
func wordsOf(cells []study.Cell, axis study.Axis) []string {
	all := map[string]bool{}
	for _, c := range cells {
		all[c.On(axis)] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}
