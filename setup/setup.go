// Package setup installs what Wiretime needs on a machine: packages of its distribution,
// the kernel of the virtual clock, the report's page and the program. Independent steps run
// at the same time, under one display.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/atomicfile"
	"wiretime/kernel"
)

// Goal is the purpose of a set-up.
type Goal string

// These are the goals, named as in the Makefile.
const (
	Real    Goal = "real"    // measuring on the real clock
	Virtual Goal = "virtual" // measuring on the virtual clock
	Tests   Goal = "tests"   // everything, and running all tests
)

// Goals lists all goals.
var Goals = []Goal{Real, Virtual, Tests}

// Options says what to set up.
type Options struct {
	Goal         Goal
	PackagesOnly bool   // builds nothing
	KernelSource string // tarball to build the kernel from; empty: Debian's, through apt
}

// ErrLacking says that the machine lacks something that this program cannot install. The
// error that wraps it holds the commands to run.
var ErrLacking = errors.New("this machine lacks something")

// ErrGoal says that a goal is not one of Goals.
var ErrGoal = errors.New("unknown goal")

// Plan determines what is missing and returns the steps that install it. notes mention
// missing optional programs. The error wraps ErrGoal, or ErrLacking or
// kernel.ErrUnsupported if the set-up cannot succeed.
func Plan(ctx context.Context, d Distribution, o Options) (steps []Step, notes []string, err error) {
	if !slices.Contains(Goals, o.Goal) {
		return nil, nil, fmt.Errorf("%w %q: want one of %q", ErrGoal, o.Goal, Goals)
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
	if !installs && d.hasAPT() {
		if lacking, err = d.withoutAbsent(ctx, lacking); err != nil {
			return nil, nil, err
		}
	}
	if err := d.impossible(lacking, installs, o, needKernel); err != nil {
		return nil, nil, err
	}
	if !installs {
		if extras := pick(lacking, Looking); len(extras) > 0 {
			notes = append(notes, fmt.Sprintf("%s: optional, to inspect captures and to run commands behind links. As root:\n%s", names(extras), d.advice(extras)))
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
	return append(steps, buildSteps(d, o)...), notes, nil
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

// optional are the purposes of programs without which the set-up can go on, where a distribution has no package of them.
const optional = Looking | Testing

// withoutAbsent leaves out optional programs of which this release of the distribution has no package.
func (d Distribution) withoutAbsent(ctx context.Context, lacking []program) ([]program, error) {
	if len(lacking) == 0 {
		return nil, nil
	}
	if path, _ := exec.LookPath("apt-get"); path == "" {
		return lacking, nil // nothing is known of its packages
	}
	_, absent, err := d.offered(ctx, lacking)
	return slices.DeleteFunc(lacking, func(p program) bool {
		return p.purpose&^optional == 0 && slices.ContainsFunc(absent, func(a program) bool { return a.name == p.name })
	}), err
}

func pick(programs []program, purposes Purpose) []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.purpose&purposes == 0 })
}

// impossible returns an error if something required is missing that this program cannot
// install.
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
		todo = append(todo, fmt.Sprintf("the source of Linux 7.2 or newer, for which no package is known on %s:\n%s", d.Name, d.sourceAdvice()))
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

// These are the names of steps that others depend on.
const (
	listsStep    = "lists of packages"
	compilerStep = "packages: compiler"
	packageStep  = "packages"
	pageStep     = "report's page"
)

// packageSteps installs build tools first, so that the kernel, which takes longest, need
// not wait for the rest.
func packageSteps(d Distribution, lacking []program) []Step {
	if len(lacking) == 0 {
		return nil
	}
	steps := []Step{{Name: listsStep, Again: "apt-get update", Do: updateLists}}
	if compiler := pick(lacking, Compiling); len(compiler) > 0 {
		steps = append(steps, installStep(compilerStep, d, compiler))
	}
	if others := pick(lacking, ^Compiling); len(others) > 0 {
		steps = append(steps, installStep(packageStep, d, others))
	}
	return steps
}

// installStep waits for all other users of dpkg, which allows only one at a time.
func installStep(name string, d Distribution, wanted []program) Step {
	s := Step{Name: name, Again: strings.Join(slices.Concat(d.install, d.packages(wanted)), " "), After: []string{listsStep}}
	if name == packageStep {
		s.After = append(s.After, compilerStep)
	}
	s.Do = func(ctx context.Context, p Progress) error {
		offered, absent, err := d.offered(ctx, wanted)
		if err != nil {
			return err
		}
		if vital := pick(absent, ^optional); len(vital) > 0 {
			return fmt.Errorf("%s has no package of %s (%s)", d.Name, names(vital), strings.Join(d.packages(vital), ", "))
		}
		if len(absent) > 0 {
			p.Note(fmt.Sprintf("%s has no package of %s: tests that need it are skipped", d.Name, names(absent)))
		}
		return install(ctx, p, d.packages(offered))
	}
	return s
}

// absentFile lists the programs of tests that this machine lacks, a line each. Tests may skip for want of these alone.
const absentFile = ".cache/absent-programs"

// absentStep writes absentFile. A program whose package was installed, but which is not found, is none of them.
func absentStep(d Distribution) Step {
	return Step{Name: "programs of tests", After: []string{packageStep}, Do: func(ctx context.Context, _ Progress) error {
		var absent []program
		if lacking := missing(Testing); d.hasAPT() && len(lacking) > 0 {
			var err error
			if _, absent, err = d.offered(ctx, lacking); err != nil {
				return err
			}
		}
		var text strings.Builder
		for _, p := range absent {
			fmt.Fprintln(&text, p.name)
		}
		if err := os.MkdirAll(filepath.Dir(absentFile), 0o755); err != nil {
			return fmt.Errorf("write which programs this machine lacks: %w", err)
		}
		return atomicfile.WriteBytes(absentFile, []byte(text.String()))
	}}
}

// prepareDevices opens /dev/net/tun to all users, as udev's own rule does: a TUN device
// still needs a network namespace of one's own. It also removes what a killed set-up of an earlier
// version has left.
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
	return Step{Name: "kernel", Again: "make kernel", After: []string{compilerStep}, Do: func(ctx context.Context, p Progress) error {
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

// buildSteps returns the steps with recipes in the Makefile.
func buildSteps(d Distribution, o Options) []Step {
	recipe := func(name, target string, after ...string) Step {
		return Step{Name: name, After: after, Again: "make " + target, Do: func(ctx context.Context, _ Progress) error {
			return command(ctx, "make", "-s", target)
		}}
	}
	var steps []Step
	if !o.PackagesOnly {
		steps = append(steps, recipe(pageStep, "page"), recipe("bin/wiretime", "build", pageStep))
	}
	if o.Goal == Tests {
		steps = append(steps, absentStep(d), recipe("SPDY's peers", "peers", packageStep), recipe("other people's readers", "readers"))
		if !o.PackagesOnly {
			steps = append(steps, recipe("golangci-lint", "linter"))
		}
	}
	return steps
}
