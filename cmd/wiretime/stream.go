package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wiretime/evidence"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/link"
	"wiretime/loader/live"
	"wiretime/media/player"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/scratch"
	"wiretime/stream"
	"wiretime/study"
	"wiretime/workload/playback"
)

type streamOptions struct {
	transport, player, strategy, manager, rebind, rate, loss, seeks, clock, congestion, output string
	server, name, cacert                                                                       string
	insecure                                                                                   bool
	delay, period, length, giveUp, patience                                                    time.Duration
	reconnections, initcwnd                                                                    int
	seed                                                                                       uint64
}

func streamCommand() *cobra.Command {
	var o streamOptions
	c := &cobra.Command{
		Use:   "stream [MEDIA]",
		Short: "Stream a video or a file over TCP, SCTP or QUIC, and show its figures",
		Long: `Stream watches a video (MEDIA: clip, the default) or fetches a file (file@1GB,
file@20MB), and shows the progress and the figures. Without --server both ends are in
a lab: the delay of the path changes, and the client moves between two access points.
The lab runs on the real clock or on the virtual one, which takes less time than the
stream lasts. With --server it streams over this machine's own network, from
'wiretime serve --media'; --delay, --period, --loss, --rate and --rebind then emulate a
link at the client, with the rest of the way behind it.

Transports: ` + strings.Join(transport.Names(), ", ") + `.
Players: ` + strings.Join(playback.Players(), ", ") + `.
Strategies for handovers: reconnect, 0-rtt, migrate, multihome.

    wiretime stream --transport quic --delay 50ms --reconnections 2 --strategy migrate
    wiretime stream --clock virtual --transport sctp --loss 1% file@100MB
    wiretime stream --server 127.0.0.1:4433 --transport tcp --insecure clip
    wiretime stream --server media.example.org:4433 --delay 50ms --loss 1% clip`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			media := "clip"
			if len(args) > 0 {
				media = args[0]
			}
			return runStream(c, media, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.transport, "transport", "quic", "transport to use")
	f.StringVar(&o.player, "player", "", "player to use (default: paper for a video, download for a file)")
	f.DurationVar(&o.length, "for", 30*time.Second, "how long to watch a video")
	f.StringVar(&o.seeks, "seeks", "0%", "probability, in each second, that the viewer seeks to a random place")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.DurationVar(&o.patience, "patience", transport.DefaultPatience, "how long an end waits for the other before it considers it gone")
	f.DurationVar(&o.giveUp, "give-up", player.DefaultGiveUp, "how long the viewer waits for an octet before it gives up")
	f.StringVarP(&o.output, "output", "o", "", "new folder for the record and the qlogs, and in a lab also for the capture with its keys")

	f.DurationVar(&o.delay, "delay", 0, "average one-way link delay, in each direction; with --server at the client")
	f.DurationVar(&o.period, "period", time.Second, "interval at which the link's delay changes; 0 for never")
	f.StringVar(&o.loss, "loss", "0%", "packet loss of the link in each direction")
	f.StringVar(&o.rate, "rate", "100mbit", "rate of each access link in each direction, in bit/s at the IP layer")
	f.IntVar(&o.reconnections, "reconnections", 0, "in a lab: how often the client moves to the other access point")
	f.StringVar(&o.strategy, "strategy", string(transport.Reconnect), "in a lab: what the client does when its address changes")
	f.StringVar(&o.manager, "manager", study.ManagerPlanned, "in a lab: the network's manager, planned or a node of its own")
	f.StringVar(&o.rebind, "rebind", study.RebindingNone, "what a NAT changes and when, such as port@2s or address@2s")
	f.StringVar(&o.clock, "clock", study.ClockReal, "in a lab: the clock, real or virtual")
	f.StringVar(&o.congestion, "congestion", "cubic", "in a lab: congestion control of TCP")
	f.IntVar(&o.initcwnd, "initcwnd", 10, "in a lab: initial congestion window of TCP, in segments")

	f.StringVar(&o.server, "server", "", "HOST:PORT of a server to stream from, instead of a lab")
	f.StringVar(&o.name, "name", "", "with --server: the server's name in its certificate (default: localhost on loopback, else its host)")
	f.StringVar(&o.cacert, "cacert", "", "with --server: file with the only certificate authorities to trust, as PEM")
	f.BoolVar(&o.insecure, "insecure", false, "with --server: trust every certificate")
	return c
}

// labFlags cannot be combined with --server, and serverFlags need it. With --server, any of linkFlags has the link emulated.
var (
	labFlags    = []string{"reconnections", "strategy", "manager", "clock", "congestion", "initcwnd"}
	linkFlags   = []string{"delay", "period", "loss", "rate", "rebind"}
	serverFlags = []string{"name", "cacert", "insecure"}
)

func runStream(c *cobra.Command, media string, o streamOptions) error {
	others, why := serverFlags, "needs --server"
	if o.server != "" {
		others, why = labFlags, "cannot be combined with --server"
	}
	for _, name := range others {
		if c.Flags().Changed(name) {
			return input(fmt.Errorf("--%s %s", name, why))
		}
	}
	order, err := o.order(media)
	if err != nil {
		return input(err)
	}
	behind := slices.ContainsFunc(linkFlags, c.Flags().Changed)
	if o.server != "" && behind {
		row, err := transport.Lookup(o.transport)
		if err == nil {
			err = stream.CheckBehind(row)
		}
		if err != nil {
			return input(fmt.Errorf("--transport: %w", err))
		}
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	switch {
	case o.server != "" && behind:
		return o.playBehind(ctx, order)
	case o.server != "":
		return o.playFrom(ctx, order)
	case o.clock == study.ClockVirtual:
		return o.playVirtual(ctx, order)
	}
	return o.playReal(ctx, order)
}

func (o streamOptions) playReal(ctx context.Context, order playback.Order) error {
	row, err := transport.Lookup(o.transport)
	if err != nil {
		return err
	}
	if err := row.Available(nil); err != nil {
		return fmt.Errorf("%w (--clock virtual)", err)
	}
	if err := lab.CheckTUN(); err != nil {
		return err
	}
	if _, err := lab.Enter(); err != nil {
		return err
	}
	return o.keep(func(dir string) (*evidence.Evidence, error) {
		line := showPlaying()
		defer line.end()
		order.Show = line.show
		return stream.PlayReal(ctx, order, dir)
	})
}

func (o streamOptions) playVirtual(ctx context.Context, order playback.Order) error {
	k, err := kernel.Find()
	if err != nil {
		return fmt.Errorf("use the virtual clock: %w", err)
	}
	return o.keep(func(dir string) (*evidence.Evidence, error) { return stream.PlayVirtual(ctx, k, order, dir) })
}

func (o streamOptions) playFrom(ctx context.Context, order playback.Order) error {
	client, err := o.client()
	if err != nil {
		return input(err)
	}
	if err := stream.TryServer(ctx, client, order); err != nil {
		return err
	}
	return o.keep(func(dir string) (*evidence.Evidence, error) {
		line := showPlaying()
		defer line.end()
		order.Show = line.show
		return stream.PlayFrom(ctx, client, order, dir)
	})
}

// playBehind plays from a server over a link that is emulated at the client.
func (o streamOptions) playBehind(ctx context.Context, order playback.Order) error {
	client, err := o.client() // outside, where names are resolved as ever
	if err != nil {
		return input(err)
	}
	if err := lab.CheckTUN(); err != nil {
		return err
	}
	if !lab.Inside() {
		if err := stream.TryServer(ctx, client, order); err != nil {
			return err
		}
	}
	if link.Depth() == 0 {
		disconnected, err := link.Enter()
		if err != nil {
			return err
		}
		if disconnected != nil {
			return disconnected
		}
	}
	return o.keep(func(dir string) (*evidence.Evidence, error) {
		line := showPlaying()
		defer line.end()
		order.Show = line.show
		return stream.PlayBehind(ctx, client, order, dir)
	})
}

// keep plays a stream into the folder of --output, or into one that it removes, and prints
// what was measured, even if the stream failed.
func (o streamOptions) keep(play func(dir string) (*evidence.Evidence, error)) (err error) {
	dir := o.output
	if dir == "" {
		folder, err := scratch.Make("", "wiretime-stream-")
		if err != nil {
			return err
		}
		defer folder.Remove()
		dir = folder.Path
	} else if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = errors.New("already exists: name a new folder")
		}
		return input(fmt.Errorf("--output %s: %w", dir, err))
	}
	l, failed := play(dir)
	if l == nil {
		return failed
	}
	if err := printStream(stdout, l); err != nil {
		return err
	}
	if o.output != "" {
		fmt.Fprintf(stdout, "\nKept in %s.\n", o.output)
	}
	return failed
}

// order returns the order that the flags describe. The error says which flag is wrong.
func (o streamOptions) order(media string) (playback.Order, error) {
	c := stream.Config{
		Media: media, Outside: o.server != "", Player: o.player, Transport: o.transport, Strategy: transport.Strategy(o.strategy),
		Duration: o.length, Patience: o.patience, GiveUp: o.giveUp, Seed: o.seed,
		Delay: o.delay, Period: o.period, Reconnections: o.reconnections, TCP: lab.TCPOptions{Congestion: o.congestion, InitCwnd: o.initcwnd},
	}
	row, err := transport.Lookup(o.transport)
	if err != nil {
		return playback.Order{}, fmt.Errorf("--transport: %w", err)
	}
	if err := row.Supports(c.Strategy); err != nil {
		return playback.Order{}, fmt.Errorf("--strategy: %w", err)
	}
	if o.clock != study.ClockReal && o.clock != study.ClockVirtual {
		return playback.Order{}, fmt.Errorf("--clock: unknown clock %q: want %s or %s", o.clock, study.ClockReal, study.ClockVirtual)
	}
	if o.manager != study.ManagerPlanned && o.manager != study.ManagerNode {
		return playback.Order{}, fmt.Errorf("--manager: unknown manager %q: want %s or %s", o.manager, study.ManagerPlanned, study.ManagerNode)
	}
	if c.ManagerNode = o.manager == study.ManagerNode; c.ManagerNode && c.Strategy == transport.Multihome {
		return playback.Order{}, errors.New("--manager node cannot be combined with --strategy multihome: the node moves clients that have one access link at a time")
	}
	if o.rebind != study.RebindingNone {
		r, err := network.ParseRebinding(o.rebind)
		if err != nil {
			return playback.Order{}, fmt.Errorf("--rebind: %w", err)
		}
		c.Rebinding = &r
	}
	if o.length <= 0 || o.length > stream.Longest {
		return playback.Order{}, fmt.Errorf("--for: %v is out of range: want a positive duration up to %v, such as 30s", o.length, stream.Longest)
	}
	if c.Seeks, err = percentage(o.seeks); err != nil {
		return playback.Order{}, fmt.Errorf("--seeks: %w", err)
	}
	if c.Rate, err = network.ParseBitRate(o.rate); err != nil {
		return playback.Order{}, fmt.Errorf("--rate: %w", err)
	}
	if c.Loss, err = percentage(o.loss); err != nil {
		return playback.Order{}, fmt.Errorf("--loss: %w", err)
	}
	return c.Order()
}

// client returns the client of a server outside that the flags describe.
func (o streamOptions) client() (c transport.ClientConfig, err error) {
	if c.Transport, err = transport.Lookup(o.transport); err != nil {
		return c, err
	}
	host, _, err := net.SplitHostPort(o.server)
	if err != nil {
		return c, fmt.Errorf("--server: invalid address %q: want HOST:PORT: %w", o.server, err)
	}
	address, err := net.ResolveUDPAddr("udp", o.server)
	if err != nil {
		return c, fmt.Errorf("--server: %w", err)
	}
	at := address.AddrPort()
	c.Server, c.Name, c.Patience = netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), o.name, o.patience
	if c.Name == "" {
		if c.Name = host; c.Server.Addr().IsLoopback() {
			c.Name = "localhost"
		}
	}
	var roots *x509.CertPool
	if o.cacert != "" {
		if roots, err = readRoots(o.cacert); err != nil {
			return c, fmt.Errorf("--cacert: %w", err)
		}
	}
	c.Verify = live.Verify(roots, o.insecure)
	return c, nil
}
