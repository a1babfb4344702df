// Command wiretime measures how long web pages and media streams take over every web
// protocol on any network, and says why.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"wiretime/guest"
	"wiretime/interrupt"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/link"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/panics"
	"wiretime/runner"
	"wiretime/sandbox"
	"wiretime/store"
	"wiretime/study/studyfile"
	"wiretime/workload/crowd"
)

// The exit codes, as 'wiretime help' lists them.
const (
	exitFailure     = 1
	exitInput       = 2
	exitMachine     = 3
	exitStore       = 4
	exitInterrupted = interrupt.ExitCode
)

const about = `Wiretime measures how long web pages and media streams take over every web
protocol on any network, and says why. It loads real pages in real Chromium over
emulated networks, keeps every packet, and compares with honest statistics.

Exit codes:
    0  all went well
    1  something failed, loads have no valid attempt, one that was reproduced came
       out differently, or a --fail-if of compare is true; the message says what
    2  the input is wrong: a study, a flag, a site's folder
    3  the machine lacks something; 'wiretime doctor' says what
    4  the store cannot be used: in use, damaged, newer than this program, on a
       network file system, disk full
  130  interrupted; go on with 'wiretime run --resume'

The first Ctrl-C stops the program in good order, the second one at once.`

// inputError marks an error as the user's to mend.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func input(err error) error {
	if err == nil {
		return nil
	}
	return inputError{err}
}

func main() {
	kernel.Helper()
	guest.Init()
	lab.Helper()
	crowd.Helper()
	link.Helper()
	root := &cobra.Command{
		Use: "wiretime", Short: "Measure how long web pages and streams take over every web protocol", Long: about,
		SilenceUsage: true, SilenceErrors: true, Version: runner.Version(),
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return flagGroups(c) },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return input(err) })
	root.AddCommand(initCommand(), runCommand(), resultsCommand(), compareCommand(), showCommand(), explainCommand(), adviseCommand(), framesCommand(), reproduceCommand(), exportCommand(), reportCommand(),
		networksCommand(), papersCommand(), siteCommand(), getCommand(), streamCommand(), scheduleCommand(), serveCommand(), uiCommand(), linkCommand(), campaignCommand(), workerCommand(), carryOutCommand(), kernelCommand(), doctorCommand(), completionCommand(), manCommand())
	complete(root)
	if err := root.Execute(); err != nil {
		os.Exit(explain(err))
	}
}

// explain prints an error and returns the exit code for it.
func explain(err error) int {
	if ended, ok := errors.AsType[commandEnded](err); ok {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return ended.ExitCode()
	}
	fmt.Fprintln(stderr, "wiretime:", err)
	if p := panics.In(err); p != nil {
		fmt.Fprintf(stderr, "Please report it with what led to it, and this stack:\n\n%s", p.Stack)
	}
	var wrong inputError
	var mistakes studyfile.Errors
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &wrong), errors.As(err, &mistakes), errors.Is(err, kernel.ErrChecksum):
		return exitInput
	case errors.Is(err, lab.ErrForbidden), errors.Is(err, lab.ErrNoTUN), errors.Is(err, sandbox.ErrUncontained), errors.Is(err, chromium.ErrMissing), errors.Is(err, firefox.ErrMissing), errors.Is(err, guest.ErrUnseen), kernelUnfit(err):
		return exitMachine
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrNotStore),
		errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrNetwork):
		return exitStore
	}
	return exitFailure
}

// interruptible returns a context that ends at the first Ctrl-C. At the second one the program exits
// at once. A program inside the lab's namespaces leaves that to the one outside.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if lab.Inside() {
		return interrupt.First(ctx)
	}
	return interrupt.Context(ctx, "wiretime")
}

// groupedFlags finds the flags in cobra's sentences about groups of flags.
var groupedFlags = regexp.MustCompile(`; (missing )?\[([^\]]*)\]( were all set)?$`)

// flagGroups is cobra's check of flags that need or exclude each other, in plain words.
func flagGroups(c *cobra.Command) error {
	err := c.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	found := groupedFlags.FindStringSubmatch(err.Error())
	if found == nil {
		return input(err)
	}
	flags := "--" + strings.Join(strings.Fields(found[2]), " and --")
	if found[1] != "" {
		return input(fmt.Errorf("%s is missing: the other flags need it; see '%s --help'", flags, c.CommandPath()))
	}
	return input(fmt.Errorf("%s exclude each other: use only one of them; see '%s --help'", flags, c.CommandPath()))
}

// arguments is cobra's check of their number, as an error in the input.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error { return input(check(c, args)) }
}
