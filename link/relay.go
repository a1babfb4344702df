package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
)

// Outside returns where the current namespace reaches a server of the machine's own networks. One on the machine's loopback
// device is reached at the address of the gateway.
func Outside(server netip.AddrPort) (netip.AddrPort, error) {
	if !server.Addr().IsLoopback() {
		return server, nil
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return server, fmt.Errorf("find the gateway: %w", err)
	}
	for _, r := range routes {
		if gateway, ok := netip.AddrFromSlice(r.Gw); ok && prefixLength(r.Dst) == 0 {
			return netip.AddrPortFrom(gateway.Unmap(), server.Port()), nil
		}
	}
	return server, fmt.Errorf("%w: there is no gateway, at whose address the machine's loopback services would be", ErrNoOutside)
}

// Relay carries TCP connections from the link's far end on to a server, until Close.
type Relay struct {
	Address  netip.AddrPort // where it listens
	listener net.Listener
	cancel   context.CancelFunc
	done     chan struct{}
}

// Relay starts one. pasta ends TCP's connections and has no congestion control of its own, so a connection that
// it had opened would not behave like TCP on the emulated path. The relay ends them too, but by Linux's TCP.
func (l *Link) Relay(ctx context.Context, server netip.AddrPort) (*Relay, error) {
	listener, err := net.Listen("tcp", netip.AddrPortFrom(l.Far, 0).String())
	if err != nil {
		return nil, fmt.Errorf("relay connections to %v: %w", server, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Relay{Address: listener.Addr().(*net.TCPAddr).AddrPort(), listener: listener, cancel: cancel, done: make(chan struct{})}
	go r.serve(ctx, server)
	return r, nil
}

func (r *Relay) serve(ctx context.Context, server netip.AddrPort) {
	ended, open := make(chan struct{}), 0
	for {
		near, err := r.listener.Accept()
		if err != nil {
			break // it was closed
		}
		open++
		go func() {
			carry(ctx, near.(*net.TCPConn), server)
			ended <- struct{}{}
		}()
	}
	for range open {
		<-ended
	}
	close(r.done)
}

// carry opens a connection to the server and copies both ways. An end of one direction is passed on; an error ends both.
func carry(ctx context.Context, near *net.TCPConn, server netip.AddrPort) {
	defer near.Close()
	opened, err := new(net.Dialer).DialContext(ctx, "tcp", server.String())
	if err != nil {
		_ = near.SetLinger(0) // a reset, as the server's host would have sent
		return
	}
	far := opened.(*net.TCPConn)
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { pass(near, far) })
	both.Go(func() { pass(far, near) })
	both.Wait()
}

// pass copies one direction. After an error it closes both connections, which ends the other direction as well.
func pass(to, from *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err = errors.Join(err, to.CloseWrite()); err != nil {
		_, _ = to.Close(), from.Close()
	}
}

// Close ends the relay and its connections, and waits for them.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.cancel()
	<-r.done
	return err
}
