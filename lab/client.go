package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
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
	var socket *os.File
	// The host's thread only begins to connect: it may be asked for the next
	// connection before this one is there.
	err = l.client.Do(func() (err error) {
		socket, err = beginConnect(to)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	defer socket.Close()
	if err := awaitConnected(ctx, socket); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return net.FileConn(socket)
}

func beginConnect(to netip.AddrPort) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
	if err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "tcp"), nil
}

// awaitConnected returns when the handshake is done, one way or the other.
func awaitConnected(ctx context.Context, socket *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var outcome error
	err = raw.Write(func(fd uintptr) (done bool) {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			outcome = err
			return true
		}
		if code != 0 {
			outcome = unix.Errno(code)
			return true
		}
		_, err = unix.Getpeername(int(fd))
		return err == nil // not there yet otherwise
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return outcome
}

// ListenPacket opens a UDP socket on the client's host.
func (l *Lab) ListenPacket(ctx context.Context, network, address string) (conn net.PacketConn, err error) {
	err = l.client.Do(func() (err error) {
		conn, err = new(net.ListenConfig).ListenPacket(ctx, network, address)
		return err
	})
	return conn, err
}
