package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/network"
)

// NodeAddress is the address of a third node.
func NodeAddress() netip.Addr {
	p := emulator.NodePrefix
	return netip.AddrFrom4([4]byte{p[0], p[1], p[2], 2})
}

// Attach adds a third node to the lab, such as a network's manager, at whose end of its own link nothing is emulated: what
// it sends arrives at once. What the hosts send to it passes the client's active access link in their own
// direction. The node is there until the lab is renewed. Attach must be called before Run, once.
func (h *Hosts) Attach(ctx context.Context) (*Namespace, error) {
	if err := h.lab.attach(ctx); err != nil {
		return nil, fmt.Errorf("attach a third node to the lab: %w", err)
	}
	return h.lab.node, nil
}

func (l *Lab) attach(ctx context.Context) (err error) {
	if l.node != nil {
		return errors.New("it has one")
	}
	if l.node, err = NewNamespace(); err != nil {
		return err
	}
	if err := l.node.Do(l.setKernelParameters); err != nil {
		return err
	}
	address := net.IP(NodeAddress().AsSlice())
	own := &net.IPNet{IP: address, Mask: net.CIDRMask(32, 32)}
	err = l.node.Do(func() (err error) {
		if l.wire != nil {
			err = addPort(l.wire, tunName(0), own)
		} else {
			l.nodeTUN, err = AddTUN(tunName(0), own)
		}
		if err != nil {
			return err
		}
		return route{to: anywhere, from: address, table: unix.RT_TABLE_MAIN}.replace(l.tcp)
	})
	if err != nil {
		return err
	}
	err = l.server.Do(func() error {
		// The server's devices have no addresses, of which Linux could choose one.
		return route{to: own, from: ServerAddress(0).AsSlice(), table: unix.RT_TABLE_MAIN}.replace(l.tcp)
	})
	if err != nil {
		return err
	}
	return l.emulator.Attach(ctx, l.nodeTUN)
}

// detach takes the third node away with the rest of the lab.
func (l *Lab) detach() error {
	var errs []error
	if l.nodeTUN != nil {
		errs = append(errs, l.nodeTUN.Close())
	}
	if l.node != nil {
		errs = append(errs, l.node.Close())
	}
	return errors.Join(errs...)
}

// SetDelay changes the one-way delay of one direction of all access links from now on, as tc does at the host that sends
// there. A task of Run may call it, and HandOver, also concurrently, once the path's first packet has been sent.
func (h *Hosts) SetDelay(d network.Direction, delay time.Duration) error {
	h.orders.Lock()
	defer h.orders.Unlock()
	// An emulator that was not waited for could not be used any more.
	return h.lab.emulator.Order(context.Background(), emulator.Order{Direction: d, Delay: &delay})
}

// HandOver moves the client to another access link, by its index in the path, from now on.
func (h *Hosts) HandOver(to int) error {
	if h.path.Together || len(h.path.Handovers()) > 0 {
		return fmt.Errorf("hand the client over on path %s: its access links work together, or it has handovers of its own", h.path.Name)
	}
	h.orders.Lock()
	defer h.orders.Unlock()
	if err := h.lab.emulator.Order(context.Background(), emulator.Order{HandOver: &to}); err != nil {
		return err
	}
	return h.lab.useAccess(to)
}
