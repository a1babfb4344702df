// Package setup puts in place what Wiretime needs on a machine: packages of its
// distribution, the kernel of the virtual clock, the report's page and the program. What does
// not depend on each other is done at the same time, under one display.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"wiretime/kernel"
)

// Goal is what a machine is to be set up for.
type Goal string

// The goals, as the Makefile names them.
const (
	Real    Goal = "real"    // measuring on the real clock
	Virtual Goal = "virtual" // measuring on the virtual clock
	Tests   Goal = "tests"   // everything, and running all tests
)

// Goals are all there are.
var Goals = []Goal{Real, Virtual, Tests}

// Options say what to do, and from what.
type Options struct {
	Goal         Goal
	PackagesOnly bool   // builds nothing
	KernelSource string // tarball to build the kernel from; empty: Debian's, through apt
}

// ErrLacking means that the machine lacks what this program cannot install. The error that
// wraps it has the commands to run.
var ErrLacking = errors.New("this machine lacks something")

// ErrGoal means that a goal is none of Goals.
var ErrGoal = errors.New("unknown goal")

// Plan finds out what is missing and returns the steps that see to it. notes are about what
// is missing and can be done without. The error wraps ErrGoal, or ErrLacking or
// kernel.ErrUnsupported where the steps would be in vain.
func Plan(d Distribution, o Options) (steps []Step, notes []string, err error) {
	if !slices.Contains(Goals, o.Goal) {
		return nil, nil, fmt.Errorf("%w %q: there are %q", ErrGoal, o.Goal, Goals)
	}
	needKernel := false
	if o.Goal != Real {
		_, err := kernel.Find()
		if errors.Is(err, kernel.ErrUnsupported) {
			return nil, nil, fmt.Errorf("%w; measure on the real clock: make run CLOCK=real", err)
		}
		needKernel = err != nil || o.Goal == Tests
	}
	root := os.Geteuid() == 0
	purposes := purposesOf(o.Goal, needKernel)
	lacking := missing(purposes)
	installs := root && d.hasAPT()
	if err := d.impossible(lacking, installs, o, needKernel); err != nil {
		return nil, nil, err
	}
	if !installs {
		if extras := pick(lacking, Looking); len(extras) > 0 {
			notes = append(notes, fmt.Sprintf("%s would be good to have, to look at captures and to put commands behind links. As root:\n%s", names(extras), d.advice(extras)))
		}
		lacking = nil
	}
	steps = packageSteps(d, lacking)
	if root {
		steps = append(steps, Step{Name: "devices", Do: prepareDevices})
	}
	if needKernel && !o.PackagesOnly {
		steps = append(steps, kernelStep(o.KernelSource))
	}
	return append(steps, buildSteps(o)...), notes, nil
}

func purposesOf(g Goal, needKernel bool) Purpose {
	purposes := Measuring | Looking
	if needKernel {
		purposes |= Compiling
	}
	if g == Tests {
		purposes |= Testing
	}
	return purposes
}

func pick(programs []program, purposes Purpose) []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.purpose&purposes == 0 })
}

// impossible is an error if something is missing that measuring needs and that this program
// cannot install.
func (d Distribution) impossible(lacking []program, installs bool, o Options, needKernel bool) error {
	var todo []string
	vital := pick(lacking, ^Looking)
	if installs {
		vital = slices.DeleteFunc(vital, func(p program) bool { return p.from[d.family] != "" })
	}
	if len(vital) > 0 {
		todo = append(todo, fmt.Sprintf("%s: on %s, as root:\n%s", names(vital), d.Name, d.advice(vital)))
	}
	if needKernel && o.KernelSource == "" && d.family != debian {
		todo = append(todo, fmt.Sprintf("the source of Linux 7.2 or newer, of which %s has no package that is known here:\n%s", d.Name, d.sourceAdvice()))
	}
	if todo == nil {
		return nil
	}
	text := strings.Join(todo, "\nand ")
	if needKernel && o.Goal == Virtual && len(pick(vital, Measuring)) == 0 {
		text += "\nOr do without the virtual clock: make run CLOCK=real"
	}
	return fmt.Errorf("%w: %s", ErrLacking, text)
}

// Names of steps that others come after.
const (
	listsStep    = "lists of packages"
	compilerStep = "packages: compiler"
	packageStep  = "packages"
	pageStep     = "report's page"
)

// packageSteps install what the kernel is built with before the rest, so that the kernel,
// which takes longest, need not wait for that.
func packageSteps(d Distribution, lacking []program) []Step {
	if len(lacking) == 0 {
		return nil
	}
	steps := []Step{{Name: listsStep, Do: updateLists}}
	compiler, others := d.packages(pick(lacking, Compiling)), d.packages(pick(lacking, ^Compiling))
	if len(compiler) > 0 {
		steps = append(steps, installStep(compilerStep, compiler))
	}
	if len(others) > 0 {
		steps = append(steps, installStep(packageStep, others))
	}
	return steps
}

// installStep comes after whatever else uses dpkg, of which there can be but one.
func installStep(name string, packages []string) Step {
	s := Step{Name: name, After: []string{listsStep}, Do: func(ctx context.Context, p Progress) error { return install(ctx, p, packages) }}
	if name == packageStep {
		s.After = append(s.After, compilerStep)
	}
	return s
}

// prepareDevices opens /dev/net/tun to all users, as udev's own rule does: a TUN device still
// needs a network namespace of one's own. It also removes what a set-up that was killed has
// left.
func prepareDevices(context.Context, Progress) error {
	const tun = "/dev/net/tun"
	info, err := os.Stat(tun)
	if err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode().Perm() != 0o666 {
		if err := os.Chmod(tun, 0o666); err != nil {
			return fmt.Errorf("open %s to all users: %w", tun, err)
		}
	}
	return removePolicy(policyFile)
}

func kernelStep(source string) Step {
	return Step{Name: "kernel", After: []string{compilerStep}, Do: func(ctx context.Context, p Progress) error {
		k, err := kernel.Build(ctx, kernel.BuildOptions{Source: source, Progress: func(s kernel.Step) {
			switch {
			case s.Note:
				p.Note(s.Name)
			case s.Expected > 0:
				p.Say(fmt.Sprintf("%s: %d of about %d files", s.Name, s.Done, max(s.Expected, s.Done)))
			default:
				p.Say(s.Name)
			}
		}})
		if err == nil {
			p.Say("Linux " + k.Version)
		}
		return err
	}}
}

// buildSteps are those that the Makefile has the recipes of.
func buildSteps(o Options) []Step {
	recipe := func(name, target string, after ...string) Step {
		return Step{Name: name, After: after, Do: func(ctx context.Context, _ Progress) error {
			return command(ctx, "make", "-s", target)
		}}
	}
	var steps []Step
	if !o.PackagesOnly {
		steps = append(steps, recipe(pageStep, "page"), recipe("bin/wiretime", "build", pageStep))
	}
	if o.Goal == Tests {
		steps = append(steps, recipe("SPDY's peers", "peers", packageStep))
		if !o.PackagesOnly {
			steps = append(steps, recipe("golangci-lint", "linter"))
		}
	}
	return steps
}
