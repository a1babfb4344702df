package playback

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"wiretime/lab"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/record"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/media/viewer"
	"wiretime/network"
)

// playing holds the state of a load that is being carried out.
type playing struct {
	Load
	transport transport.Transport
	player    player.Config
	path      network.Path
	events    []manager.Event
	seeks     float64  // probability in each second that the manager has the viewer seek
	managed   *managed // nil unless the manager is a node of its own
	qlogs     qlogs

	hosts  *lab.Hosts
	server *transport.Server // nil if it did not start

	slowStart atomic.Int64 // the server's first congestion window after slow start, in octets
}

// Run carries out a load. Then both hosts of the lab are made anew (lab.Lab.Renew). An error
// means that the lab itself failed and no record could be made, or that the order is invalid. A
// stream that did not go well is no error: Record.LoadError says why.
func Run(ctx context.Context, l *lab.Lab, load Load) (_ *Record, err error) {
	p := &playing{Load: load, qlogs: qlogs{dir: load.Dir}}
	if p.transport, err = transport.Lookup(load.Transport); err != nil {
		return nil, err
	}
	if p.player, err = load.player(); err != nil {
		return nil, err
	}
	m := load.Manager
	m.Seed, m.Together = load.Seed, load.Strategy == transport.Multihome
	if p.path, p.events, err = manager.Plan(m); err != nil {
		return nil, err
	}
	if load.ManagerNode {
		p.path = withoutChanges(p.path)
		p.seeks, p.player.SeekProbability = p.player.SeekProbability, 0
		p.player.SeeksFromOutside = p.player.Mode == player.View
	}
	if p.hosts, err = l.Prepare(p.path, load.TCP); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.hosts.Close()) }()
	if load.ManagerNode {
		if p.managed, err = p.manage(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.managed.close(nil)) }()
	}
	record := &Record{}
	report, err := p.hosts.Run(ctx, lab.Task{Seed: load.Seed, Keep: load.Keep, Comment: load.Comment, Do: func(ctx context.Context, path lab.Progress) (err error) {
		record.Stream, err = p.play(ctx, path)
		return err
	}})
	// The path has no delay any more: both ends hear at once of what is closed.
	if p.server != nil {
		err = errors.Join(err, p.server.Close(), p.qlogs.err())
		record.Server = p.server.Log()
		if record.Stream != nil {
			record.Stream.SlowStart = int(p.slowStart.Load())
		}
	}
	if err != nil {
		return nil, err
	}
	record.Report, record.ServerLost = *report, -1
	if record.Stream != nil {
		record.Stream.ControlPackets = report.Emulator.Control
	}
	if err := p.hosts.SaveCapture(load.Dir); err != nil {
		return nil, err
	}
	if err := record.save(load.Dir); err != nil {
		return nil, err
	}
	return record, l.Renew(context.WithoutCancel(ctx))
}

// mediaPort is where media are served.
const mediaPort = 4433

// play serves the stream and watches it.
func (p *playing) play(ctx context.Context, path lab.Progress) (*record.Stream, error) {
	const name = "media.test"
	at := netip.AddrPortFrom(lab.ServerAddress(0), mediaPort)
	server, err := transport.Serve(ctx, transport.ServerConfig{
		Transport: p.transport, Address: at, Host: p.hosts.Server.Do, Storage: storage.MakeAll(p.Seed),
		CA: p.Authority, Patience: p.Patience, KeyLog: p.hosts.Keys,
		SlowStart: func(octets int) { p.slowStart.CompareAndSwap(0, int64(octets)) },
	})
	if err != nil {
		return nil, err
	}
	p.server = server
	client, err := transport.NewClient(transport.ClientConfig{
		Transport: p.transport, Server: at, Name: name, Verify: p.Authority.Verify, Host: p.hosts.Client.Do,
		EarlyData: p.Strategy == transport.ZeroRTT, Parallel: p.Parallel, Patience: p.Patience, QLog: p.qlogs.begin,
	})
	if err != nil {
		return nil, err
	}
	var links []viewer.Link
	for i, local := range p.hosts.Locals {
		links = append(links, viewer.Link{Name: p.path.Access[i].Name, Address: local})
	}
	config := viewer.Config{
		Rebindings: rebindings(p.path), Client: client, Player: p.player, Links: links, Handovers: path.Handovers, Epoch: path.Epoch, Events: p.events,
	}
	watch := func() (*record.Stream, error) { return p.watch(ctx, config) }
	if p.managed != nil {
		config.Handovers, config.Events, config.Orders = nil, nil, p.managed.orders
		unmanaged := watch
		watch = func() (*record.Stream, error) { return p.managed.watch(ctx, path.Epoch, unmanaged) }
	}
	stream, err := watch()
	if err == nil && stream.Figures.Failure != "" {
		err = errors.New(stream.Figures.Failure)
	}
	return stream, err
}

// watch plays the order's media, for the order's timeout at most.
func (o *Order) watch(ctx context.Context, c viewer.Config) (*record.Stream, error) {
	if limit := o.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("timed out after %v", limit))
		defer cancel()
	}
	c.Media, c.Show = o.Media, o.Show
	out, err := viewer.Watch(ctx, c)
	if err != nil {
		return nil, err
	}
	out.Media, out.Player = o.Media, o.Player
	out.Transport, out.Strategy = o.Transport, string(o.Strategy)
	if o.Parallel > 1 {
		out.Parallel = o.Parallel
	}
	return out, nil
}

// rebindings returns the moments of a path's rebindings.
func rebindings(path network.Path) (list []time.Duration) {
	for _, r := range path.Rebindings() {
		list = append(list, r.At)
	}
	return list
}

// Over is the link at the client over which a stream comes from a server outside of any lab. The zero value says that nothing
// is emulated.
type Over struct {
	Epoch  <-chan struct{} // has a value, or is closed, when the first packet has been sent
	Events []manager.Event // what the network's manager tells the client
	Path   network.Path
}

// From plays a stream from a server outside of any lab. The qlogs are put into the folder
// dir. An error means that the stream could not begin. A stream that did not go well is no error:
// the record's figures say why.
func From(ctx context.Context, c transport.ClientConfig, o Order, dir string, over Over) (*record.Stream, error) {
	config, err := o.player()
	if err != nil {
		return nil, err
	}
	logs := qlogs{dir: dir}
	c.QLog, c.Parallel = logs.begin, o.Parallel
	client, err := transport.NewClient(c)
	if err != nil {
		return nil, err
	}
	out, err := o.watch(ctx, viewer.Config{Client: client, Player: config, Epoch: over.Epoch, Events: over.Events, Rebindings: rebindings(over.Path)})
	return out, errors.Join(err, logs.err())
}
