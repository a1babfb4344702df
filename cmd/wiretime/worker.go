package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"wiretime/campaign"
	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/study"
)

type workerOptions struct {
	join     string
	access   broker.Access
	trust    string
	folder   string
	jobs     int
	core     int
	campaign string
	commands bool // a study's own servers may run commands
	programs bool // the coordinator's program and kernel may be fetched and run
	browsers runner.Browsers
	at       []string

	fitness *fitness // of this machine, if it is at a place
}

func workerCommand() *cobra.Command {
	var o workerOptions
	c := &cobra.Command{
		Use:   "worker",
		Short: "Carry out batches of campaigns",
		Long: `Worker joins the campaigns of a coordinator ('wiretime campaign run'), carries out
batches of their loads on the virtual clock, and sends back what they left. With
--at it also makes loads on the real and the live clock, of studies that name its
place (docs/places.md). It needs one outgoing connection. It works until it is interrupted, and then gives
back what it has not finished.

--join takes the invitation that 'wiretime campaign run --invite NAME' has
written. --nats, --creds and --trust join over a NATS server of your own
(docs/nats.md).

It carries out only plans that are signed with the key that it trusts, and only
where program, kernel, browsers and sites are the coordinator's, by their
checksums and versions. Sites that it lacks it fetches, and with
--accept-programs program and kernel, too.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case o.join == "" && o.access.URL == "":
				return input(errors.New("work for campaigns: name an invitation with --join, or a NATS server with --nats"))
			case o.join == "" && o.trust == "":
				return input(errors.New("work for campaigns: --trust is missing: the coordinator prints the key that its plans are signed with"))
			case o.join == "" && !nkeys.IsValidPublicUserKey(o.trust):
				return input(fmt.Errorf("work for campaigns: --trust %s: must be the key that the coordinator prints, which begins with U and has 56 characters", o.trust))
			case o.jobs < 1 || o.core < 0:
				return input(fmt.Errorf("work for campaigns: --jobs %d must be positive, and --core %d must not be negative", o.jobs, o.core))
			}
			for _, place := range o.at {
				if err := study.CheckPlace(place); err != nil {
					return input(fmt.Errorf("work for campaigns: --at: %w", err))
				}
			}
			return runWorker(o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.join, "join", "", "invitation `FILE` of a coordinator")
	accessFlags(c, &o.access)
	f.StringVar(&o.trust, "trust", "", "public `KEY` that plans must be signed with, as the coordinator prints it")
	f.StringVar(&o.folder, "folder", "", "folder for what batches leave until it is sent (default: in the cache folder)")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "`N` batches at once, each on a core of its own")
	f.IntVar(&o.core, "core", 0, "the first of these cores, from 0")
	f.StringArrayVar(&o.at, "at", nil, "`PLACE` that this machine is at: also make the loads of this place, on the real and the live clock (several times)")
	f.StringVar(&o.campaign, "campaign", "", "work for the campaign `NAME` only, and end with it (default: for all)")
	f.BoolVar(&o.programs, "accept-programs", false, "where this machine has another wiretime or another kernel of the virtual clock, fetch and run the coordinator's")
	f.BoolVar(&o.commands, "allow-commands", false, "also carry out studies that start servers of their own, by commands that they name")
	browserFlags(c, &o.browsers)
	for _, flag := range []string{"nats", "creds", "tlsca", "tlscert", "tlskey", "trust"} {
		c.MarkFlagsMutuallyExclusive("join", flag)
	}
	return c
}

func runWorker(o workerOptions) (err error) {
	ctx, stop := interruptible(context.Background())
	defer stop()
	if o.folder, err = workerFolder(o.folder); err != nil {
		return err
	}
	if o.join != "" {
		i, err := broker.ReadInvitation(o.join)
		if err != nil {
			return input(err)
		}
		if o.access, err = i.Access(o.folder); err != nil {
			return err
		}
		o.trust = i.Trust
	}
	name, err := o.access.User()
	if err != nil {
		return input(err)
	}
	if name == "" {
		return input(errors.New("work for campaigns: --creds is missing: a worker goes by the name of its NATS user"))
	}
	var environment json.RawMessage
	if len(o.at) > 0 {
		if o.fitness, environment, err = examinePlace(ctx); err != nil {
			return err
		}
	}
	conn, err := o.access.Connect(ctx, "wiretime worker "+name)
	if err != nil {
		return err
	}
	defer conn.Close()
	w, err := campaign.NewWorker(ctx, campaign.WorkerConfig{
		Conn: conn, Name: name, Jobs: o.jobs, Core: o.core, Dir: o.folder, Trust: o.trust, Campaign: o.campaign,
		At: o.at, Environment: environment,
		Prepare: func(ctx context.Context, p *campaign.Plan, inputs campaign.Inputs) (campaign.Executor, error) {
			return prepare(ctx, o, p, inputs)
		},
		Said: func(line string) { fmt.Fprintln(stderr, line) },
	})
	if err != nil {
		return err
	}
	err = w.Run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("the worker was stopped; unfinished batches are given back%w", errInterrupted)
	}
	return err
}

// workerFolder makes the folder of a worker.
func workerFolder(named string) (string, error) {
	if named == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a folder for batches: %w", err)
		}
		named = filepath.Join(cache, "wiretime", "worker")
	}
	dir, err := filepath.Abs(named)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for batches: %w", err)
	}
	return dir, nil
}
