// Command chaos shows that Wiretime survives what happens to machines. It runs studies of pages and
// of streams on both clocks, and a server beside them, while it kills (SIGKILL) and stops their
// processes, fills the disk and takes memory, all at random:
//
//	chaos [-duration 1h] [-kills N [-campaign]] [-seed N] [-wiretime FILE] [-clock]
//
// Then it checks that every planned load is in the store exactly once, that loads on the virtual clock
// have the values of a run that nothing disturbed, that no process, mount, shared memory or
// temporary file is left, and that programs that ran on have as many open files and threads, and as
// much memory, as after their first minute. It prints a table of Markdown, and exits with 1 if
// anything does not hold.
//
// With -kills it only kills the processes of runs on the virtual clock, until it has done so that
// often. With -campaign these runs are campaigns: it kills the coordinator, whose process has the NATS server, its workers and their
// guests, and compares all artefacts byte for byte as well. Ctrl-C ends it early, with a table of what it has done so far.
//
// Everything happens in namespaces of its own, with a /tmp and a /dev/shm of its own, so it needs no
// root and can harm nothing outside but its share of the machine. Only -clock reaches the machine: it
// also sets the machine's clock wrong now and then, and right again. It needs root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"wiretime/interrupt"
	"wiretime/lab"
	"wiretime/process"
)

// options are the flags.
type options struct {
	duration time.Duration
	kills    int // of processes of virtual runs; 0: all kinds of harm
	seed     uint64
	wiretime string
	clock    bool
	campaign bool
}

func main() {
	lab.Helper()
	if len(os.Args) == 2 && os.Args[1] == jumpCommand {
		jumpClock(os.Stdin)
		return
	}
	var o options
	flag.DurationVar(&o.duration, "duration", time.Hour, "how long to do harm; what is under way is then finished undisturbed")
	flag.IntVar(&o.kills, "kills", 0, "instead of -duration: kill processes of runs on the virtual clock this often")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of all that is random")
	flag.StringVar(&o.wiretime, "wiretime", "bin/wiretime", "the program under test")
	flag.BoolVar(&o.clock, "clock", false, "set the machine's clock wrong now and then (as root)")
	flag.BoolVar(&o.campaign, "campaign", false, "with -kills: kill the processes of campaigns: coordinator and NATS server, workers and guests")
	flag.Parse()
	if flag.NArg() > 0 || o.duration <= 0 || o.kills < 0 || o.campaign && o.kills == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		if errors.Is(err, context.Canceled) {
			os.Exit(interrupt.ExitCode)
		}
		os.Exit(1)
	}
}

// errUnsound says that something did not survive.
var errUnsound = errors.New("not everything survived: see the table")

func run(o options) (err error) {
	ctx, stop := interrupt.First(context.Background())
	if !lab.Inside() {
		stop()
		ctx, stop = interrupt.Context(context.Background(), "chaos")
	}
	defer stop()
	beside := func(int) *os.File { return nil }
	if o.clock {
		beside = startJumping
	}
	if _, err := lab.EnterBeside(beside); err != nil {
		return err
	}
	defer process.EndDescendants()
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	fmt.Printf("Seed %d; -seed %d draws the same harm again.\n", o.seed, o.seed)
	if o.kills > 0 {
		err = w.killVirtualRuns(ctx, o.kills, o.campaign)
	} else {
		err = w.harm(ctx, o.duration)
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	w.finish()
	fmt.Print(w.table())
	switch {
	case len(w.unsound) > 0:
		return errUnsound
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}
