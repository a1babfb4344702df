package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/guest"
	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/transport"
	"wiretime/metric"
	"wiretime/protocol"
	"wiretime/runner"
	"wiretime/station"
	"wiretime/workload/playback"
)

// streamReally plays a stream in a lab on the real clock.
func streamReally(ctx context.Context, o streamOptions, order playback.Order) (err error) {
	row, err := transport.Lookup(order.Transport)
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
	dir, done, err := o.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	folder, err := os.MkdirTemp(lab.Scratch, "stream-")
	if err != nil {
		return fmt.Errorf("make a folder for the certificates' authority: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	config := streamStation()
	if config.Authority, err = protocol.OpenAuthority(filepath.Join(folder, "ca")); err != nil {
		return err
	}
	s, err := station.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	live := newLive(os.Stderr)
	order.Show = live.show
	r, err := s.Load(ctx, station.Order{Stream: &order}, nil, dir)
	live.end()
	if err != nil {
		return err
	}
	return o.tell(dir, r.Stream)
}

// streamStation is where streams are played: as by a study that says nothing of it.
func streamStation() station.Config {
	return station.Config{Lab: lab.Config{
		AccessLinks: 2, InstantDNS: true, TCPRmem: [3]int{4096, 131072, 6291456}, TCPWmem: [3]int{4096, 16384, 4194304},
	}}
}

// streamVirtually plays a stream in a guest. Nobody sees into it before it is over.
func streamVirtually(ctx context.Context, o streamOptions, order playback.Order) (err error) {
	k, err := kernel.Find()
	if err != nil {
		return fmt.Errorf("use the virtual clock: %w", err)
	}
	dir, done, err := o.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	host, err := guest.NewHost(k, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	batch := guest.Batch{Station: streamStation(), Loads: []guest.Load{{ID: "stream", Order: station.Order{Stream: &order}}}}
	batch.Station.Lab.Virtual, batch.Station.Lab.Unblocked = true, true
	machine := guest.Machine{Seed: o.seed, Memory: guestStreamMemory, Limit: guestStreamLimit}
	return host.Run(ctx, machine, batch, func(result guest.Result) error {
		if result.Failed != nil {
			return result.Failed
		}
		if err := os.CopyFS(dir, os.DirFS(result.Dir)); err != nil {
			return fmt.Errorf("keep what the stream left: %w", err)
		}
		return o.tell(dir, result.Record.Stream)
	})
}

// What a guest is given for one stream, whose capture may have keptPackets.
const (
	guestStreamMemory = 2 << 30
	guestStreamLimit  = 30 * time.Minute
)

// streamFrom streams from a server over this machine's network.
func streamFrom(ctx context.Context, o streamOptions, order playback.Order) (err error) {
	client, err := o.client()
	if err != nil {
		return input(err)
	}
	if err := answers(ctx, client); err != nil {
		return err
	}
	dir, done, err := o.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	live := newLive(os.Stderr)
	order.Show = live.show
	r, err := playback.From(ctx, client, order, dir)
	live.end()
	if err != nil {
		return err
	}
	if err := record.Write(filepath.Join(dir, playback.StreamFile), r); err != nil {
		return err
	}
	return o.tellOf(&metric.Load{Protocol: order.Transport, Stream: r, ServerLost: -1}, nil)
}

// answers tries whether sessions can be opened. A viewing would try for as long as the
// viewer does not give up.
func answers(ctx context.Context, c transport.ClientConfig) error {
	client, err := transport.NewClient(c)
	if err != nil {
		return err
	}
	session, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	return session.Close()
}

// client is the viewer of a server outside.
func (o streamOptions) client() (c transport.ClientConfig, err error) {
	if c.Transport, err = transport.Lookup(o.transport); err != nil {
		return c, err
	}
	host, _, err := net.SplitHostPort(o.server)
	if err != nil {
		return c, fmt.Errorf("--server: %q is not HOST:PORT: %w", o.server, err)
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
		pem, err := os.ReadFile(o.cacert)
		if err != nil {
			return c, fmt.Errorf("--cacert: %w", err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return c, fmt.Errorf("--cacert: %s holds no certificate in PEM", o.cacert)
		}
	}
	c.Verify = verifier(roots, o.insecure)
	return c, nil
}

// folder makes the folder for what is kept, or one that done removes.
func (o streamOptions) folder() (dir string, done func() error, err error) {
	if o.output == "" {
		dir, err = os.MkdirTemp("", "wiretime-stream-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	err = os.Mkdir(o.output, 0o755)
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("it is there already: name a new folder")
	}
	if err != nil {
		return "", nil, input(fmt.Errorf("--output %s: %w", o.output, err))
	}
	return o.output, func() error { return nil }, nil
}

// tell prints what became of a stream in a lab.
func (o streamOptions) tell(dir string, r *playback.Record) error {
	if r.Stream == nil {
		return r.LoadError
	}
	packets, err := runner.ReadPackets(filepath.Join(dir, lab.CaptureFile))
	if err != nil {
		return err
	}
	return o.tellOf(&metric.Load{
		Protocol: r.Stream.Transport, Server: r.Server, Packets: packets, ServerLost: r.ServerLost, Stream: r.Stream,
		CaptureCut: r.Emulator.Uncaptured > 0, Counted: runner.Counted(r.Emulator),
	}, r.LoadError)
}

// tellOf prints a stream's figures and handovers. That it failed is an error.
func (o streamOptions) tellOf(l *metric.Load, failed error) error {
	if err := printStream(os.Stdout, l); err != nil {
		return err
	}
	if o.output != "" {
		fmt.Printf("\nKept in %s.\n", o.output)
	}
	if why := l.Stream.Figures.Failure; failed == nil && why != "" {
		failed = errors.New(why)
	}
	return failed
}

func printStream(out io.Writer, l *metric.Load) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range metric.OfStreams() {
		if v, ok := m.Of(l); ok {
			fmt.Fprintf(w, "%s\t%s %s\n", m.Title, number(v), m.Unit)
		}
	}
	if handovers := l.Stream.Figures.Handovers; len(handovers) > 0 {
		fmt.Fprintf(w, "\nhandover at\tto\tsession ready after\toctets came again after\n")
		for _, h := range handovers {
			fmt.Fprintf(w, "%.3f s\t%s\t%s\t%s\n", h.At.Seconds(), h.Access, after(h.At, h.Ready), after(h.At, h.Recovered))
		}
	}
	return w.Flush()
}

// after is how much later something happened, if it did.
func after(began, happened time.Duration) string {
	if happened == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(happened-began)/1e6)
}

// number writes a figure with as many digits as people read.
func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// live shows a viewing while it goes on: on a terminal a line that changes, elsewhere a
// line for each second.
type live struct {
	out      *os.File
	terminal bool
	last     time.Duration
	octets   int64
	shown    bool
}

func newLive(out *os.File) *live {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return &live{out: out, terminal: err == nil}
}

func (l *live) show(at time.Duration, s player.Status, f player.Figures) {
	pace := time.Second
	if l.terminal {
		pace = 0
	}
	if at < l.last+pace || at == l.last {
		return
	}
	rate := 8 * float64(f.Received-l.octets) / 1e6 / (at - l.last).Seconds()
	l.last, l.octets = at, f.Received
	line := fmt.Sprintf("%6.1f s  %6.1f Mbit/s  %7.1f MB", at.Seconds(), rate, float64(f.Received)/1e6)
	if s.State != player.Starting || s.Buffer > 0 {
		line += fmt.Sprintf("  %-7s at %-8s %-4s buffer %4.1f s  %d stalls, %d seeks", s.State, s.Position.Truncate(time.Second), s.Resolution, s.Buffer.Seconds(), f.Stalls, f.Seeks)
	}
	if n := len(f.Handovers); n > 0 {
		line += fmt.Sprintf("  %s since %.1f s", f.Handovers[n-1].Access, f.Handovers[n-1].At.Seconds())
	}
	l.shown = true
	if l.terminal {
		fmt.Fprintf(l.out, "\r%s\x1b[K", line)
	} else {
		fmt.Fprintln(l.out, line)
	}
}

// end leaves the line that changes.
func (l *live) end() {
	if l.terminal && l.shown {
		fmt.Fprintln(l.out)
	}
}
