package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"wiretime/socket"
)

// Host runs a function on a thread in a host's network namespace (lab's Namespace.Do) and
// returns its error. Sockets stay in the namespace in which they were opened. The function
// must not wait for the network. A nil Host is the host that this program runs on.
type Host func(f func() error) error

func (h Host) do(f func() error) error {
	if h == nil {
		return f()
	}
	return h(f)
}

// connect opens a stream socket of a protocol and connects it, from the first of
// the local addresses if there is one.
func (h Host) connect(ctx context.Context, protocol int, to netip.AddrPort, locals []netip.Addr, prepare func(fd int) error) (*os.File, error) {
	opened, err := socket.Connect(ctx, h.do, protocol, to, func(fd int) error {
		if len(locals) > 0 {
			if err := unix.Bind(fd, socket.Address(netip.AddrPortFrom(locals[0], 0))); err != nil {
				return fmt.Errorf("from %v: %w", locals[0], err)
			}
		}
		if prepare == nil {
			return nil
		}
		return prepare(fd)
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", to, err)
	}
	return opened, nil
}

// listen opens a TCP listener, or an MPTCP listener if multipath is set.
func (h Host) listen(ctx context.Context, at netip.AddrPort, multipath bool) (listener net.Listener, err error) {
	var config net.ListenConfig
	config.SetMultipathTCP(multipath)
	err = h.do(func() (err error) {
		listener, err = config.Listen(ctx, "tcp", at.String())
		return err
	})
	return listener, err
}

// listenUDP opens a UDP socket.
func (h Host) listenUDP(at netip.AddrPort) (socket *net.UDPConn, err error) {
	err = h.do(func() (err error) {
		socket, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	return socket, err
}

// takeBuffer sets a socket's buffer to so many octets by SO_RCVBUF or SO_SNDBUF. Without
// the privilege for more, the kernel caps it at the machine's limit.
func takeBuffer(fd, option, octets int) error {
	force := map[int]int{unix.SO_RCVBUF: unix.SO_RCVBUFFORCE, unix.SO_SNDBUF: unix.SO_SNDBUFFORCE}[option]
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, octets) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, octets); err != nil {
		return fmt.Errorf("ask for a buffer of %d octets: %w", octets, err)
	}
	return nil
}

// dialUDP opens a UDP socket with one peer.
func (h Host) dialUDP(to netip.AddrPort, locals []netip.Addr) (socket *net.UDPConn, err error) {
	var local *net.UDPAddr
	if len(locals) > 0 {
		local = net.UDPAddrFromAddrPort(netip.AddrPortFrom(locals[0], 0))
	}
	err = h.do(func() (err error) {
		socket, err = net.DialUDP("udp", local, net.UDPAddrFromAddrPort(to))
		return err
	})
	return socket, err
}

// source returns the given local addresses or, without any, the address that the host's
// routes choose.
func (h Host) source(to netip.AddrPort, locals []netip.Addr) ([]netip.Addr, error) {
	if len(locals) > 0 {
		return locals, nil
	}
	socket, err := h.dialUDP(to, nil) // connecting a UDP socket sends nothing
	if err != nil {
		return nil, err
	}
	return []netip.Addr{addressOf(socket.LocalAddr()).Addr()}, socket.Close()
}

// patientSocket is a UDP socket that ignores a missing route to the peer: the packet is
// lost, and a later one may find a route. Otherwise a session would end between the loss of
// an address and the migration to another.
type patientSocket struct{ *net.UDPConn }

func (s patientSocket) Write(b []byte) (int, error) {
	n, err := s.UDPConn.Write(b)
	return s.lost(n, len(b), err)
}

func (s patientSocket) WriteTo(b []byte, to net.Addr) (int, error) {
	n, err := s.UDPConn.WriteTo(b, to)
	return s.lost(n, len(b), err)
}

func (s patientSocket) WriteMsgUDP(b, oob []byte, to *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = s.UDPConn.WriteMsgUDP(b, oob, to)
	n, err = s.lost(n, len(b), err)
	return n, oobn, err
}

func (patientSocket) lost(n, all int, err error) (int, error) {
	for _, noWay := range []syscall.Errno{
		unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EHOSTDOWN, unix.EADDRNOTAVAIL,
		unix.EINVAL, // the host has lost the socket's address
	} {
		if errors.Is(err, noWay) {
			return all, nil
		}
	}
	return n, err
}

// addressOf converts an address of package net. It returns the zero value for other kinds.
func addressOf(a net.Addr) netip.AddrPort {
	out, _ := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(out.Addr().Unmap(), out.Port())
}
