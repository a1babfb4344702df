package crowd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/loader/many"
	"wiretime/machine"
	"wiretime/protocol"
	"wiretime/server"
	"wiretime/site"
	"wiretime/workload"
)

// RunOn implements workload.Order.
func (o *Order) RunOn(ctx context.Context, s workload.Station, _ *site.Site, dir string) (workload.Outcome, error) {
	record, err := Run(ctx, s.Lab(), *o, dir)
	if err != nil {
		return nil, err
	}
	return record, nil
}

// Run measures a crowd and writes its readings to CrowdFile in the folder dir. It then renews both hosts of the
// lab (lab.Lab.Renew). It returns an error only if the lab itself failed. Record.LoadError says why a crowd
// could not be measured.
func Run(ctx context.Context, l *lab.Lab, o Order, dir string) (_ *Record, err error) {
	hosts, err := l.Prepare(loopback(), lab.TCPOptions{Congestion: o.Congestion, InitCwnd: usualWindow})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.Close()) }()
	if err := useFileLimit(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(lab.Scratch, "crowd-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the crowd: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	record := &Record{}
	record.ServerLost = -1
	record.Crowd, record.LoadError = o.measure(ctx, hosts, folder)
	if record.Crowd != nil {
		if err := record.save(dir); err != nil {
			return nil, err
		}
	}
	return record, l.Renew(context.WithoutCancel(ctx))
}

// usualWindow is Linux's initial window in segments. It is set on routes, which the loopback device does not use.
const usualWindow = 10

// readyLimit is how long a server may take to become ready. Java first compiles its program.
const readyLimit = 2 * time.Minute

// measure measures the crowd. Its files go into folder. The readings are nil if the server or the clients did not
// start, and incomplete if there is an error.
func (o *Order) measure(ctx context.Context, hosts *lab.Hosts, folder string) (*evidence.Crowd, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("timed out after %v", o.Timeout))
		defer cancel()
	}
	m, err := o.gather(ctx, hosts, folder)
	if err != nil {
		return nil, err
	}
	defer m.close()
	err = m.guarded(ctx, m.phases)
	return m.crowd, err
}

// gather starts the server and the process of the clients.
func (o *Order) gather(ctx context.Context, hosts *lab.Hosts, folder string) (*measuring, error) {
	row, err := protocol.Lookup(o.Protocol)
	if err != nil {
		return nil, err
	}
	served, err := o.Site.Over(row.Scheme)
	if err != nil {
		return nil, err
	}
	page, octets, err := list(served)
	if err != nil {
		return nil, err
	}
	m := &measuring{Order: o, row: row, served: served, hosts: hosts, folder: folder, addresses: map[string]netip.Addr{}, authority: filepath.Join(folder, "authority")}
	for i, host := range o.Site.Origins() {
		m.addresses[host] = lab.ServerAddress(i)
	}
	ca, err := protocol.OpenAuthority(m.authority)
	if err != nil {
		return nil, err
	}
	if err := m.serve(ctx, ca); err != nil {
		return nil, err
	}
	clients := many.Order{Protocol: o.Protocol, Authority: m.authority, Hosts: m.addresses, Page: page}
	if m.clients, err = start(clientsCommand, hosts.Server.Command, clients); err != nil {
		m.close()
		return nil, err
	}
	m.crowd = &evidence.Crowd{Clients: o.Clients, Idle: o.Idle, PerClient: clients.Connections(row), Asked: octets, Held: -1}
	return m, nil
}

// list returns the resources of a site, its document first, and their total size in octets.
func list(s *site.Site) (page []many.Resource, octets int64, err error) {
	for i := range s.Resources {
		r := &s.Resources[i]
		u, err := url.Parse(r.URL)
		if err != nil {
			return nil, 0, err
		}
		resource := many.Resource{Host: u.Host, Target: u.RequestURI(), Status: r.Status, Size: r.Size}
		octets += r.Size
		if r.URL == s.Page {
			page = append([]many.Resource{resource}, page...)
		} else {
			page = append(page, resource)
		}
	}
	return page, octets, nil
}

// measuring holds the server and the clients of a crowd while it is measured.
type measuring struct {
	*Order
	row       protocol.Protocol
	served    *site.Site // over the protocol's scheme
	hosts     *lab.Hosts
	folder    string
	authority string
	addresses map[string]netip.Addr

	own     *helper        // Wiretime's own server, or nil
	foreign *server.Server // a third-party one, or nil
	clients *helper
	crowd   *evidence.Crowd
	done    many.Done // by the clients so far
}

// serve starts the server.
func (m *measuring) serve(ctx context.Context, ca *protocol.Authority) error {
	if m.Server == server.Own {
		archive := filepath.Join(m.folder, "site")
		if err := m.Site.Save(archive); err != nil {
			return fmt.Errorf("save the site for the server: %w", err)
		}
		var err error
		m.own, err = start(serverCommand, m.hosts.Server.ServerCommand,
			serving{Site: archive, Authority: m.authority, Protocol: m.Protocol, Hosts: m.addresses})
		return err
	}
	kind, err := m.kind()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(lab.Scratch, "server-")
	if err != nil {
		return fmt.Errorf("make a folder for the server: %w", err)
	}
	m.foreign, err = server.Start(ctx, server.Config{
		Kind: kind, Protocol: m.row, Site: m.served, Hosts: m.addresses, Authority: ca, Folder: folder,
		Do: m.hosts.Server.Do, Command: m.hosts.Server.ServerCommand, Contained: true, ReadyLimit: readyLimit,
		Connections: m.Clients * len(m.addresses) * many.PerHost(m.row), Unlogged: true,
	})
	return err
}

// kind returns the third-party server.
func (o *Order) kind() (server.Kind, error) {
	if o.Template.Name != "" {
		return o.Template.Kind(), nil
	}
	return server.Lookup(o.Server)
}

// close ends the processes that have been started.
func (m *measuring) close() {
	if m.clients != nil {
		m.clients.stop()
	}
	if m.own != nil {
		m.own.stop()
	}
	if m.foreign != nil {
		_ = m.foreign.Stop() // it keeps no log, and its folder is in memory
	}
}

// server returns the PIDs of the server.
func (m *measuring) server() []int {
	if m.own != nil {
		return []int{m.own.pid()}
	}
	return m.foreign.Processes()
}

// memoryFloor is how many octets of memory a crowd leaves to all other programs.
const memoryFloor = 512 << 20

// serverDied returns a channel that is closed when the server has exited unexpectedly, and a function that
// says how it did.
func (m *measuring) serverDied() (<-chan struct{}, func() error) {
	if m.foreign != nil {
		return m.foreign.Died(), m.foreign.Err
	}
	return m.own.watch(), func() error {
		return errors.New("the server exited unexpectedly; standard error has what it printed")
	}
}

// guarded calls do, and kills the clients if ctx ends, the server exits or the machine runs out of memory. It
// then returns that as the cause, in place of the error of do.
func (m *measuring) guarded(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	died, why := m.serverDied()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		look := time.NewTicker(100 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				if !errors.Is(context.Cause(ctx), errOver) {
					m.clients.kill()
				}
				return
			case <-died:
				cancel(why())
			case <-look.C:
				if free := machine.Available(); free > 0 && free < memoryFloor {
					cancel(fmt.Errorf("the machine ran out of memory: %d MiB are available, and a crowd must leave %d MiB; use fewer clients", free>>20, memoryFloor>>20))
				}
			}
		}
	}()
	err := do(ctx)
	cancel(errOver)
	<-watched
	if cause := context.Cause(ctx); !errors.Is(cause, errOver) {
		return cause
	}
	return err
}

// errOver is the cause with which the context of a measured crowd ends.
var errOver = errors.New("the crowd has been measured")
