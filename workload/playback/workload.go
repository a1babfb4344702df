package playback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/player"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/metric"
	"wiretime/network"
	"wiretime/site"
	"wiretime/study"
	"wiretime/workload"
)

// Workload is the workload of media streams.
type Workload struct{}

// Kind implements workload.Workload.
func (Workload) Kind() workload.Kind {
	return workload.Kind{Name: "Stream", Study: study.Streams(), Set: metric.Streams()}
}

// Network implements workload.Workload.
func (Workload) Network(c study.Cell, _ *site.Site, _ study.Options) network.Path { return c.Network }

// NewOrder implements workload.Workload.
func (Workload) NewOrder() workload.Order { return &Order{} }

// NewOutcome implements workload.Workload.
func (Workload) NewOutcome() workload.Outcome { return &Record{} }

// bound is a planned load with what its cell names.
type bound struct {
	options   study.Options
	cell      study.Cell
	seed      uint64
	media     storage.Item
	transport transport.Transport
}

// Bind implements workload.Workload.
func (Workload) Bind(c study.Cell, seed uint64, s workload.Setting) (j workload.Job, err error) {
	b := &bound{options: s.Options, cell: c, seed: seed}
	if s.Options.Stream == nil {
		return j, errors.New("the load is a stream, but the study has no stream options")
	}
	if b.media, err = storage.ParseMedia(c.Subject()); err != nil {
		return j, err
	}
	if b.transport, err = transport.Lookup(c.Over()); err != nil {
		return j, err
	}
	j = workload.Job{
		Order: b.order, Unsupported: b.unsupported(), Estimate: estimate(c.Clock(), b.media, c.Network, s.Options.Stream),
		Capture: captureSize(expectedOctets(b.media, s.Options.Stream), s.Options.Stream.Capture), Guest: b.guest(),
		Evidence: evidence.Evidence{Protocol: c.Over(), NoSACK: b.noSACK()}, Headline: "ttd",
	}
	if b.file() == 0 {
		j.Headline, j.Lasts = "loading_delay", s.Options.Stream.Duration
	}
	return j, nil
}

// file returns the size of the medium in octets if it is a file, and 0 if it is a video.
func (b *bound) file() int64 { return b.media.Sizes[storage.Plain] }

func (b *bound) order(id string) workload.Order {
	c, s := b.cell, b.options.Stream
	o := &Order{
		Media: c.Subject(), Transport: c.Over(), Player: c.By(), Strategy: transport.Strategy(c.On(study.AxisStrategy)),
		Manager: b.options.Manager(c.Link(), b.file(), b.seed),
		Seed:    b.seed,
		TCP:     lab.TCPOptions{Congestion: c.On(study.AxisCongestion), InitCwnd: c.InitCwnd(), NoSACK: b.noSACK()},
		Timeout: b.options.Timeout,
		Comment: fmt.Sprintf("load %s, %s, seed %d", id, c.Key(), b.seed),
		Keep:    emulator.Keep(s.Capture),
		Seeks:   s.Seeks, StartAt: s.StartAt, ResumeAt: s.ResumeAt, Ahead: s.Ahead,
		Patience: s.Patience, GiveUp: s.GiveUp,
	}
	if r, ok := c.Rebinding(); ok {
		o.Manager.Rebinding = &r
	}
	o.ManagerNode = c.On(study.AxisManager) == study.ManagerNode
	if c.By() != Download {
		o.For = s.Duration
	}
	if n := c.Parallel(); n > 1 {
		o.Parallel = n
	}
	return o
}

// unsupported returns why the load cannot run on this machine, "" if it can.
func (b *bound) unsupported() string {
	c := b.cell
	switch {
	case c.By() == Download && b.file() == 0:
		return fmt.Sprintf("a download of %s: it is a video, which is played segment by segment; use %s, or one of the players %s",
			c.Subject(), "file@1GB", strings.Join(viewers(), ", "))
	case c.By() != Download && b.file() > 0:
		return fmt.Sprintf("the player %s plays videos, and %s is a file; use the player %s, or clip", c.By(), c.Subject(), Download)
	}
	if why := b.alone(); why != "" {
		return why
	}
	if c.On(study.AxisManager) == study.ManagerNode && c.On(study.AxisStrategy) == study.StrategyMultihome {
		return "a manager that is a node of its own moves clients that have one access link at a time; use the manager planned, or another strategy"
	}
	err := b.transport.Supports(transport.Strategy(c.On(study.AxisStrategy)))
	if err == nil && c.Clock() == study.ClockReal {
		err = b.transport.Available(nil)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// noSACK reports whether the cell switches TCP's selective acknowledgements off.
func (b *bound) noSACK() bool { return b.cell.On(study.AxisTCPSACK) == study.SACKOff }

// alone returns why the cell's values cannot be combined, "" if they can.
func (b *bound) alone() string {
	c := b.cell
	switch {
	case b.noSACK() && b.transport.Streams:
		return fmt.Sprintf("tcp_sack over %s: it does not run over TCP, and its acknowledgements are always selective", b.transport.Name)
	case c.Parallel() > 1 && c.By() == string(player.Throughput):
		return fmt.Sprintf("%d requests at once: the player %s measures how fast one request at a time is answered; use %s or %s", c.Parallel(), c.By(), player.Paper, player.BOLA)
	case c.Parallel() > 1 && !b.transport.Streams && c.On(study.AxisStrategy) == study.StrategyMultihome:
		return fmt.Sprintf("%d requests at once over %s with strategy %s: each has a connection, and only one connection takes part in a fail-over here",
			c.Parallel(), b.transport.Name, study.StrategyMultihome)
	case b.file() > 0 && b.file() < int64(c.Parallel()):
		return fmt.Sprintf("a file of %d octets in %d parts: there is not an octet for each", b.file(), c.Parallel())
	}
	return ""
}

// viewers returns the players of videos.
func viewers() []string {
	return slices.DeleteFunc(Players(), func(name string) bool { return name == Download })
}

// Workload implements workload.Order.
func (*Order) Workload() workload.Workload { return Workload{} }

// RunOn implements workload.Order.
func (o *Order) RunOn(ctx context.Context, s workload.Station, _ *site.Site, dir string) (workload.Outcome, error) {
	record, err := Run(ctx, s.Lab(), Load{Order: *o, Authority: s.Authority(), Dir: dir})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Workload implements workload.Outcome.
func (*Record) Workload() workload.Workload { return Workload{} }

// Collect implements workload.Outcome.
func (r *Record) Collect(left *evidence.Evidence) { left.Stream = r.Stream }

// Values implements workload.Outcome. All figures of streams come from the evidence.
func (*Record) Values() map[string]float64 { return nil }
