package playback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"wiretime/lab"
	"wiretime/media/manager"
	"wiretime/media/manager/control"
	"wiretime/media/record"
	"wiretime/media/viewer"
	"wiretime/network"
	"wiretime/panics"
)

// managed is a stream whose network's manager is a node of its own.
type managed struct {
	p      *playing
	node   *control.Node
	orders chan viewer.Order
	ends   []*control.Interface // of roles
	work   panics.Group
	closed bool
}

// roles are in the order in which they attach, which is always the same.
var roles = [...]control.Role{control.Server, control.Client}

// controlPort is where the manager waits for control interfaces.
const controlPort = 7000

// manage attaches the manager to the lab, and the control interfaces of client and server to the manager. No path is
// emulated yet, so that costs no time of the stream.
func (p *playing) manage(ctx context.Context) (*managed, error) {
	host, err := p.hosts.Attach(ctx)
	if err != nil {
		return nil, err
	}
	at := netip.AddrPortFrom(lab.NodeAddress(), controlPort)
	listener, err := host.Listen(ctx, "tcp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("start the network's manager: %w", err)
	}
	m := &managed{p: p, node: control.Serve(ctx, listener), orders: make(chan viewer.Order), work: panics.Group{Guard: panics.From(ctx)}}
	for _, role := range roles {
		end, apply := p.hosts.Client, m.obey
		if role == control.Server {
			end = p.hosts.Server
			apply = func(_ context.Context, o control.Order) error { return p.hosts.SetDelay(network.Down, o.Delay) }
		}
		dial := func(ctx context.Context) (net.Conn, error) { return end.Connect(ctx, at) }
		i, err := control.Attach(ctx, role, dial, apply)
		if err != nil {
			return nil, errors.Join(err, m.close(nil))
		}
		m.ends = append(m.ends, i)
	}
	select {
	case <-m.node.Present():
		return m, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), m.close(nil))
	}
}

// obey carries out an order at the client.
func (m *managed) obey(ctx context.Context, o control.Order) error {
	told := viewer.Order{Delay: o.Delay, Link: -1, Seek: -1}
	if o.Seek != nil {
		told.Seek = *o.Seek
	} else if err := m.p.hosts.SetDelay(network.Up, o.Delay); err != nil {
		return err
	}
	if o.Access != "" {
		told.Link = slices.IndexFunc(m.p.path.Access, func(a network.Access) bool { return a.Name == o.Access })
		if err := m.p.hosts.HandOver(told.Link); err != nil {
			return err
		}
	}
	select {
	case m.orders <- told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends the manager and both control interfaces, and adds to the record what they did. The record may be nil.
func (m *managed) close(s *record.Stream) error {
	if m.closed {
		return nil
	}
	m.closed = true
	var errs []error
	done := map[control.Role][]control.Done{}
	for i, end := range m.ends {
		list, err := end.Close()
		done[roles[i]], errs = list, append(errs, err)
	}
	sent, err := m.node.Close()
	if s == nil {
		return errors.Join(append(errs, err)...)
	}
	s.Manager = m.p.events[:1:1]
	for _, o := range sent {
		if o.Role == control.Client && o.Order.Seek == nil {
			s.Manager = append(s.Manager, manager.Event{At: o.At, Delay: o.Order.Delay, Access: o.Order.Access})
		}
		entry := record.Order{To: string(o.Role), Number: o.Order.Number, Sent: s.Epoch + o.At}
		for _, d := range done[o.Role] {
			if d.Order.Number == o.Order.Number {
				entry.Done = d.At.Sub(s.Started)
			}
		}
		s.Orders = append(s.Orders, entry)
	}
	return errors.Join(append(errs, err)...)
}

// withoutChanges returns a path without the changes that a manager makes: as it is at its beginning. A NAT's rebindings
// stay, since no manager makes them.
func withoutChanges(path network.Path) network.Path {
	path.Events = slices.DeleteFunc(slices.Clone(path.Events), func(e network.Event) bool { return e.Rebind == "" })
	return path
}

// watch plays while the manager sends its orders.
func (m *managed) watch(ctx context.Context, epoch <-chan struct{}, watch func() (*record.Stream, error)) (*record.Stream, error) {
	running, stop := context.WithCancel(ctx)
	m.work.Go(func() {
		m.node.Run(running, epoch, m.p.events, control.Seeks{Probability: m.p.seeks, Segments: m.p.player.Segments, Seed: m.p.Seed})
	})
	s, err := watch()
	stop()
	m.work.Wait()
	return s, errors.Join(err, m.close(s))
}
