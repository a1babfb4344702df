// Command simulate shows what a campaign costs its coordinator. The coordinator, the NATS server and the store are the real ones; the workers
// are real as well, with a connection each, but answer with made records after drawn times instead of measuring anything.
//
//	simulate [-workers N -loads N [-artefacts N] [-rate N] [-seed N] [-profile FILE]]
//
// Each campaign has a process of its own, whose processor time and memory are those of coordinator, NATS and store together. All its
// workers share another process. At the end every load must be in the store exactly once, with the figures that its worker made.
//
// Without -workers and -loads it simulates the campaigns that docs/campaign-simulation.md shows, and writes their tables there. What came out
// of each is kept in .cache/campaign-simulation: delete a file there to have that campaign simulated anew.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"wiretime/interrupt"
)

// The process of a campaign starts another one, which begins with workersRole and then has the folder of the invitations.
const workersRole = "workers"

func main() {
	if len(os.Args) > 1 && os.Args[1] == workersRole {
		if err := work(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "simulate: workers:", err)
			os.Exit(1)
		}
		return
	}
	var p point
	var profile string
	flag.IntVar(&p.Workers, "workers", 0, "simulate one campaign with so many workers")
	flag.IntVar(&p.Loads, "loads", 0, "and so many loads")
	flag.IntVar(&p.Artefacts, "artefacts", 0, "how many artefacts each attempt leaves")
	flag.IntVar(&p.Rate, "rate", usualRate, "how many loads a minute all workers together make, as long as there is work for each; 0: as many as they can")
	flag.Uint64Var(&p.Seed, "seed", 1, "seed of all that is drawn")
	flag.StringVar(&profile, "profile", "", "write a profile of the coordinator's processor time to a file (pprof)")
	flag.Parse()
	one := p.Workers != 0 || p.Loads != 0
	if flag.NArg() > 0 || one && (p.Workers <= 0 || p.Loads <= 0) || p.Artefacts < 0 || p.Rate < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := interrupt.Context(context.Background(), "simulate")
	defer stop()
	var err error
	if one {
		err = simulateOne(ctx, p, profile)
	} else {
		err = simulateAll(ctx)
	}
	switch {
	case errors.Is(err, context.Canceled):
		os.Exit(interrupt.ExitCode)
	case err != nil:
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// simulateOne simulates a campaign in this process and prints what came out as JSON.
func simulateOne(ctx context.Context, p point, profile string) error {
	dir, err := os.MkdirTemp("", "simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	said := time.Now()
	out, err := simulate(ctx, p, dir, profile, func(line string) { fmt.Fprintln(os.Stderr, line) }, func(done int) {
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d loads\n", done, p.Loads)
		}
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", text)
	return err
}
