// Command setup installs what Wiretime needs on this machine. The Makefile calls it in the
// repository's root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"wiretime/kernel"
	"wiretime/setup"
)

func main() {
	var o setup.Options
	flag.BoolVar(&o.PackagesOnly, "packages-only", false, "install, but build nothing")
	flag.StringVar(&o.KernelSource, "kernel-source", "", "tarball of Linux to build the virtual clock's kernel from (default: Debian's, through apt)")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: setup [flags] GOAL, where GOAL is one of %q\n", setup.Goals)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	o.Goal = setup.Goal(flag.Arg(0))
	os.Exit(run(o))
}

// run performs the set-up and returns the exit code: 3 if the machine lacks something, 130
// if the set-up was interrupted, as wiretime does.
func run(o setup.Options) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends this program at once
	err := carryOut(ctx, o)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "setup: interrupted; run the same command again to continue")
		return 130
	case errors.Is(err, setup.ErrGoal):
		fmt.Fprintln(os.Stderr, "setup:", err)
		return 2
	case errors.Is(err, setup.ErrLacking), errors.Is(err, kernel.ErrUnsupported):
		fmt.Fprintln(os.Stderr, "setup:", err)
		return 3
	case err != nil:
		if failed, ok := errors.AsType[*setup.FailedError](err); ok { // the display has said why
			err = fmt.Errorf("%s failed, as shown above, and what else was under way was stopped; once that is mended, type the same command again", failed.Step)
		}
		fmt.Fprintln(os.Stderr, "setup:", err)
		return 1
	}
	return 0
}

func carryOut(ctx context.Context, o setup.Options) error {
	d, err := setup.ReadDistribution("/etc/os-release")
	if err != nil {
		return err
	}
	steps, notes, err := setup.Plan(ctx, d, o)
	if err != nil {
		return err
	}
	for _, text := range notes {
		fmt.Fprintln(os.Stderr, "note:", text)
	}
	return setup.Run(ctx, setup.NewDisplay(os.Stderr), steps)
}
