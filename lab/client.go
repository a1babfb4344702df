package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"wiretime/socket"
)

// Resolver is the address and port of the lab's DNS server.
const Resolver = resolverAddress + ":53"

// Dial opens a connection from the client's host, as net.Dialer does, for
// loaders that are part of this program. network is "tcp4" or "udp4", address an
// IP address and a port.
func (l *Lab) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	if network != "tcp4" {
		err = l.client.Do(func() (err error) {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Is4() {
		return nil, fmt.Errorf("connect to %s: want an IPv4 address and a port", address)
	}
	return l.client.Connect(ctx, to)
}

// Connect opens a TCP connection from the namespace.
func (n *Namespace) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	opened, err := socket.Connect(ctx, n.Do, unix.IPPROTO_TCP, to, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	defer opened.Close()
	return net.FileConn(opened)
}

// ListenPacket opens a UDP socket on the client's host.
func (l *Lab) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	return l.client.ListenPacket(ctx, network, address)
}
