package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/study"
	"wiretime/workload/playback"
)

type streamOptions struct {
	transport, player, strategy, rate, loss, seeks, clock, congestion, output string
	server, name, cacert                                                      string
	insecure                                                                  bool
	delay, period, length, giveUp, patience                                   time.Duration
	reconnections, initcwnd                                                   int
	seed                                                                      uint64
}

func streamCommand() *cobra.Command {
	var o streamOptions
	c := &cobra.Command{
		Use:   "stream [MEDIA]",
		Short: "Stream a video or a file over TCP, SCTP or QUIC, and tell how it goes",
		Long: `Stream watches a video (MEDIA: clip, the default) or fetches a file (file@1GB,
file@20MB), and tells how that goes, as it goes. Without --server both ends are in a
lab, with a path between them whose delay changes and two access points that the
client moves between; on the real clock or, in a moment, on the virtual one. With
--server it streams over this machine's own network, from 'wiretime serve --media'.

Transports: ` + strings.Join(transport.Names(), ", ") + `.
Players: ` + strings.Join(playback.Players(), ", ") + `.
Strategies for handovers: reconnect, 0-rtt, migrate, multihome.

    wiretime stream --transport quic --delay 50ms --reconnections 2 --strategy migrate
    wiretime stream --clock virtual --transport sctp --loss 1% file@100MB
    wiretime stream --server 127.0.0.1:4433 --transport tcp --insecure clip`,
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
	f.StringVar(&o.transport, "transport", "quic", "what carries the stream")
	f.StringVar(&o.player, "player", "", "what plays it (default: paper for a video, download for a file)")
	f.DurationVar(&o.length, "for", 30*time.Second, "how long a video is watched")
	f.StringVar(&o.seeks, "seeks", "0%", "probability, in each second, that the viewer seeks to a random place")
	f.Uint64Var(&o.seed, "seed", 1, "of all that is random")
	f.DurationVar(&o.patience, "patience", transport.DefaultPatience, "how long an end waits for the other before it takes it for gone")
	f.DurationVar(&o.giveUp, "give-up", player.DefaultGiveUp, "how long nothing may come before the viewer gives up")
	f.StringVarP(&o.output, "output", "o", "", "new folder that receives the record and the qlogs, in a lab also the capture with its keys")

	f.DurationVar(&o.delay, "delay", 0, "in a lab: average one-way link delay, in each direction")
	f.DurationVar(&o.period, "period", time.Second, "in a lab: how often the link's delay is drawn anew; 0 for never")
	f.StringVar(&o.loss, "loss", "0%", "in a lab: share of packets lost in each direction")
	f.StringVar(&o.rate, "rate", "100mbit", "in a lab: rate of each access link, each way, in bit/s at the IP layer")
	f.IntVar(&o.reconnections, "reconnections", 0, "in a lab: how often the client moves to the other access point")
	f.StringVar(&o.strategy, "strategy", string(transport.Reconnect), "in a lab: what the client does when its address changes")
	f.StringVar(&o.clock, "clock", study.ClockReal, "in a lab: the clock, real or virtual")
	f.StringVar(&o.congestion, "congestion", "cubic", "in a lab: congestion control of TCP")
	f.IntVar(&o.initcwnd, "initcwnd", 10, "in a lab: initial congestion window of TCP, in segments")

	f.StringVar(&o.server, "server", "", "HOST:PORT to stream from, instead of a lab")
	f.StringVar(&o.name, "name", "", "with --server: the server's name in its certificate (default: localhost on loopback, else its host)")
	f.StringVar(&o.cacert, "cacert", "", "with --server: file with the only certificate authorities to trust, as PEM")
	f.BoolVar(&o.insecure, "insecure", false, "with --server: trust every certificate")
	return c
}

// Flags that mean nothing with a server, and those that mean nothing without.
var (
	labFlags    = []string{"delay", "period", "loss", "rate", "reconnections", "strategy", "clock", "congestion", "initcwnd"}
	serverFlags = []string{"name", "cacert", "insecure"}
)

func runStream(c *cobra.Command, media string, o streamOptions) error {
	others, why := serverFlags, "goes with --server: without it the server is the lab's own"
	if o.server != "" {
		others, why = labFlags, "is of a lab, and with --server there is none"
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
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.server != "":
		return streamFrom(ctx, o, order)
	case o.clock == study.ClockVirtual:
		return streamVirtually(ctx, o, order)
	}
	return streamReally(ctx, o, order)
}

// order is what the flags describe. The error says which of them is wrong.
func (o streamOptions) order(media string) (playback.Order, error) {
	order := playback.Order{
		Media: media, Transport: o.transport, Seed: o.seed, TCP: lab.TCPOptions{Congestion: o.congestion, InitCwnd: o.initcwnd}, Timeout: longestStream,
		Comment: fmt.Sprintf("%s over %s, seed %d", media, o.transport, o.seed),
	}
	item, err := storage.ParseMedia(media)
	elsewhere := err != nil && o.server != ""
	if err != nil && !elsewhere {
		return order, err
	}
	_, isFile := item.Sizes[storage.Plain]
	if o.player == "" {
		o.player = string(player.Paper)
		if isFile {
			o.player = playback.Download
		}
	}
	row, err := transport.Lookup(o.transport)
	if err != nil {
		return order, fmt.Errorf("--transport: %w", err)
	}
	if err := row.Supports(transport.Strategy(o.strategy)); err != nil {
		return order, fmt.Errorf("--strategy: %w", err)
	}
	if o.clock != study.ClockReal && o.clock != study.ClockVirtual {
		return order, fmt.Errorf("--clock: %q is neither %s nor %s", o.clock, study.ClockReal, study.ClockVirtual)
	}
	if o.length <= 0 || o.length > longestStream {
		return order, fmt.Errorf("--for: %v is no time to watch: write it like 30s, up to %v", o.length, longestStream)
	}
	order.Elsewhere, order.Player, order.Strategy = elsewhere, o.player, transport.Strategy(o.strategy)
	order.For, order.GiveUp, order.Patience = o.length, o.giveUp, o.patience
	order.Keep = emulator.Keep{Octets: keptOctets, Packets: keptPackets}
	if order.Seeks, err = percentage(o.seeks); err != nil {
		return order, fmt.Errorf("--seeks: %w", err)
	}
	if order.Manager, err = o.manager(item.Sizes[storage.Plain]); err != nil {
		return order, err
	}
	return order, order.Check()
}

const (
	// longestStream is how long a stream may last.
	longestStream = time.Hour
	// Of each packet what is not media is kept, headers and handshakes; of packets as many
	// as fit into the memory of most machines.
	keptOctets  = 128
	keptPackets = 1_000_000
)

// manager is what the network's does. size is that of a file; 0 of a video.
func (o streamOptions) manager(size int64) (manager.Config, error) {
	s := study.Stream{Access: manager.AccessPoints(), Period: o.period, Duration: o.length}
	var err error
	if s.Rate, err = network.ParseBitRate(o.rate); err != nil {
		return manager.Config{}, fmt.Errorf("--rate: %w", err)
	}
	loss, err := percentage(o.loss)
	if err != nil {
		return manager.Config{}, fmt.Errorf("--loss: %w", err)
	}
	options := study.Options{Timeout: longestStream, Stream: &s}
	return options.Manager(study.Link{Delay: o.delay, Loss: loss, Reconnections: o.reconnections}, size, o.seed), nil
}
