// Package socket connects stream sockets in two steps, so that the thread of a network
// namespace opens many at a time: it starts each connection without waiting for any.
package socket

import (
	"context"
	"errors"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Connect opens a stream socket of a protocol (an IPPROTO_ constant) and connects it. do
// runs a function on a thread of the socket's network namespace, and returns its error.
// prepare, if not nil, gets the socket before it connects. The caller closes the socket.
// The error comes from the system, from prepare or from do, or is the cause of ctx's end.
func Connect(ctx context.Context, do func(func() error) error, protocol int, to netip.AddrPort, prepare func(fd int) error) (*os.File, error) {
	var opened *os.File
	err := do(func() (err error) {
		opened, err = begin(protocol, to, prepare)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := await(ctx, opened); err != nil {
		_ = opened.Close() // await may have done so
		return nil, err
	}
	return opened, nil
}

func begin(protocol int, to netip.AddrPort, prepare func(fd int) error) (*os.File, error) {
	fd, err := unix.Socket(Family(to.Addr()), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		err = prepare(fd)
	}
	if err == nil {
		err = unix.Connect(fd, Address(to))
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}

// await returns when the connection attempt has succeeded or failed.
func await(ctx context.Context, socket *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var outcome error
	err = raw.Write(func(fd uintptr) (done bool) {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		if err != nil {
			outcome = err
			return true
		}
		_, err = unix.Getpeername(int(fd))
		return err == nil // otherwise not connected yet
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, outcome)
}

// Family returns the address family of an address, AF_INET or AF_INET6.
func Family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// Address converts an address for system calls.
func Address(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
}
