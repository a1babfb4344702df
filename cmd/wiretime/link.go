package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/lab"
	"wiretime/link"
	"wiretime/network"
)

type linkOptions struct {
	profile, rate, up, down, loss, trace, traceUp, queue, pcap string
	rtt, delay, jitter                                         time.Duration
	seed                                                       uint64
}

func linkCommand() *cobra.Command {
	var o linkOptions
	c := &cobra.Command{
		Use:   "link [flags] [--] [COMMAND [ARGUMENT...]]",
		Short: "Run a command behind an emulated link",
		Long: `Link runs a command (default: a shell) in a network namespace of its own. The
only way out is an emulated link. It needs no root. Links can be nested: a packet
then passes through all of them.

The far end of the link has the address 100.64.N.1, where N is 1 for the outermost
link and one more for each nested link. Programs that listen outside are reachable
there. The outside world is reachable through it if pasta (Debian's package passt)
is installed.

    wiretime link --rate 5mbit --rtt 100ms --loss 1% -- curl -O https://example.org/
    wiretime link --profile lte -- wiretime link --loss 2% -- ping 100.64.1.1`,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := o.path()
			if err != nil {
				return input(err)
			}
			return runLink(c.Context(), path, o, args)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.profile, "profile", "", "named network to start from ('wiretime networks' lists them); other flags override its values")
	f.StringVar(&o.rate, "rate", "", "rate of both directions in bit/s at the IP layer, such as 5mbit")
	f.StringVar(&o.up, "up", "", "rate of the direction towards the outside")
	f.StringVar(&o.down, "down", "", "rate of the direction towards the command")
	f.DurationVar(&o.rtt, "rtt", 0, "round-trip time; half of it is the one-way delay of each direction")
	f.DurationVar(&o.delay, "delay", 0, "one-way delay of each direction, in place of --rtt")
	f.DurationVar(&o.jitter, "jitter", 0, "standard deviation of the one-way delay; packets keep their order")
	f.StringVar(&o.loss, "loss", "", "packet loss in each direction, such as 1%")
	f.StringVar(&o.queue, "queue", "", "drop-tail queue of each direction, such as 64kB or 50packets")
	f.StringVar(&o.trace, "trace", "", "file with the delivery trace of the direction towards the command, in Mahimahi's format")
	f.StringVar(&o.traceUp, "trace-up", "", "the same for the direction towards the outside (default: the file of --trace)")
	f.StringVar(&o.pcap, "pcap", "", "pcapng file that receives every packet and its fate")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the random loss and jitter")
	return c
}

// path returns the path that the flags describe.
func (o linkOptions) path() (network.Path, error) {
	p := network.Path{Name: "link", Access: []network.Access{{Name: "link"}}}
	if o.profile != "" {
		var err error
		if p, err = network.Profile(o.profile); err != nil {
			return p, fmt.Errorf("--profile: %w", err)
		}
	}
	access := &p.Access[0]
	for _, d := range []struct {
		link       *network.Link
		own, trace string
		flag       string
	}{{&access.Up, o.up, cmp.Or(o.traceUp, o.trace), "--up"}, {&access.Down, o.down, o.trace, "--down"}} {
		if err := o.shape(d.link, d.own, d.flag, d.trace); err != nil {
			return p, err
		}
	}
	return p, p.Validate()
}

func (o linkOptions) shape(l *network.Link, own, ownFlag, trace string) error {
	for _, rate := range []struct{ flag, value string }{{"--rate", o.rate}, {ownFlag, own}} {
		if rate.value == "" {
			continue
		}
		r, err := network.ParseBitRate(rate.value)
		if err != nil {
			return fmt.Errorf("%s: %w", rate.flag, err)
		}
		l.Rate, l.Queue = r, network.DefaultQueue(r)
	}
	if o.rtt != 0 && o.delay != 0 {
		return errors.New("--rtt and --delay cannot be combined")
	}
	if o.rtt != 0 {
		l.Delay = o.rtt / 2
	}
	if o.delay != 0 {
		l.Delay = o.delay
	}
	if o.jitter != 0 {
		l.Jitter = o.jitter
	}
	if o.loss != "" {
		share, err := percentage(o.loss)
		if err != nil {
			return fmt.Errorf("--loss: %w", err)
		}
		l.Loss = network.Loss{Rate: share}
	}
	if trace != "" {
		t, err := readTrace(trace)
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		l.Trace, l.Rate = t, 0
	}
	if o.queue != "" {
		q, err := parseQueue(o.queue)
		if err != nil {
			return fmt.Errorf("--queue: %w", err)
		}
		l.Queue = q
	}
	return nil
}

func percentage(s string) (float64, error) {
	number, ok := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || v < 0 || v > 100 {
		return 0, fmt.Errorf("invalid percentage %q: want 0%% to 100%%, such as 1%%", s)
	}
	return v / 100, nil
}

func parseQueue(s string) (network.Queue, error) {
	if number, ok := strings.CutSuffix(s, "packets"); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && n > 0 {
			return network.Queue{Packets: n}, nil
		}
	}
	if number, ok := strings.CutSuffix(s, "kB"); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && n > 0 {
			return network.Queue{Bytes: n * 1000}, nil
		}
	}
	return network.Queue{}, fmt.Errorf("invalid queue %q: want a size such as 64kB or 50packets", s)
}

func readTrace(name string) (*network.Trace, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return network.ParseTrace(filepath.Base(name), file)
}

// runLink runs the command behind the path.
func runLink(ctx context.Context, path network.Path, o linkOptions, args []string) error {
	if len(args) == 0 {
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		args = []string{shell}
	}
	program, err := exec.LookPath(args[0])
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return input(fmt.Errorf("run %s behind a link: program not found", args[0]))
	}
	if err != nil {
		return input(fmt.Errorf("run %s behind a link: %w", args[0], err))
	}
	if err := lab.CheckTUN(); err != nil {
		return err
	}
	if link.Depth() == 0 {
		disconnected, err := link.Enter()
		if err != nil {
			return err
		}
		if disconnected != nil {
			fmt.Fprintln(stderr, "wiretime: note:", disconnected)
		}
	}
	command := exec.Command(program, args[1:]...)
	command.Args[0] = args[0]
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = link.Run(ctx, link.Config{Path: path, Seed: o.seed, Capture: o.pcap, Comment: "wiretime link"}, command)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return commandEnded{ended}
	}
	return err
}

// commandEnded is how the command behind a link ended. It has said itself what there is to say.
type commandEnded struct{ *exec.ExitError }
