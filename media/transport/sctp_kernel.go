package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"wiretime/panics"
	"wiretime/socket"
)

// These are Linux's numbers for SCTP sockets (include/uapi/linux/sctp.h; RFC 6458 has the
// names).
const (
	sctpInitMsg         = 2
	sctpNoDelay         = 3
	sctpRecvRcvInfo     = 32
	sctpBindxAdd        = 100
	sctpStreamScheduler = 123

	sctpSndInfo = 2 // types of control messages
	sctpRcvInfo = 3

	sctpRoundRobin = 2 // a scheduler: streams take turns by messages (RFC 8260 section 3.2)
)

// sctpQueue limits the octets that a side reads from the kernel ahead of its callers. SCTP
// has one window for all streams, so an unread stream eventually stops the others.
const sctpQueue = 1 << 20

// prepareSCTP configures a socket for either side, on further local addresses if there are
// any. Other settings, such as the failover timeout, follow the host's net.sctp parameters.
func prepareSCTP(fd int, further []netip.Addr) error {
	var addresses []byte
	for _, a := range further {
		addresses = append(addresses, rawAddress(a)...)
	}
	streams := make([]byte, 8)
	binary.NativeEndian.PutUint16(streams, uint16(concurrentStreams))     // outgoing
	binary.NativeEndian.PutUint16(streams[2:], uint16(concurrentStreams)) // incoming
	scheduler := make([]byte, 8)
	binary.NativeEndian.PutUint32(scheduler[4:], sctpRoundRobin)
	for _, o := range []struct {
		name, does string
		number     int
		value      []byte
	}{
		{"SCTP_INITMSG", "ask for streams", sctpInitMsg, streams},
		{"SCTP_NODELAY", "send at once", sctpNoDelay, one},
		{"SCTP_RECVRCVINFO", "learn streams", sctpRecvRcvInfo, one},
		{"SCTP_STREAM_SCHEDULER", "let streams take turns", sctpStreamScheduler, scheduler},
		{"SCTP_SOCKOPT_BINDX_ADD", fmt.Sprint("take the addresses ", further), sctpBindxAdd, addresses},
	} {
		if len(o.value) == 0 {
			continue
		}
		if err := unix.SetsockoptString(fd, unix.IPPROTO_SCTP, o.number, string(o.value)); err != nil {
			return fmt.Errorf("%s (socket option %s): %w", o.does, o.name, err)
		}
	}
	return errors.Join(takeBuffer(fd, unix.SO_RCVBUF, receiveWindow), takeBuffer(fd, unix.SO_SNDBUF, receiveWindow))
}

// one is an int that is 1.
var one = binary.NativeEndian.AppendUint32(nil, 1)

// rawAddress is a sockaddr_in or sockaddr_in6 without a port.
func rawAddress(a netip.Addr) []byte {
	if a.Is4() {
		b := make([]byte, unix.SizeofSockaddrInet4)
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		copy(b[4:], a.AsSlice())
		return b
	}
	b := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	copy(b[8:], a.AsSlice())
	return b
}

func connectSCTP(ctx context.Context, c *Client, locals []netip.Addr) (link, error) {
	// An unbound socket would use all of the host's addresses.
	locals, err := c.config.Host.source(c.config.Server, locals)
	if err != nil {
		return nil, err
	}
	socket, err := c.config.Host.connect(ctx, unix.IPPROTO_SCTP, c.config.Server, locals, func(fd int) error {
		return prepareSCTP(fd, locals[1:])
	})
	if err != nil {
		return nil, err
	}
	a, err := newKernelAssociation(socket)
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	l := newSCTPLink(a)
	l.tidy.Guard = panics.From(ctx)
	return l, nil
}

func serveSCTP(_ context.Context, s *Server) error {
	var listener *os.File
	err := s.config.Host.do(func() (err error) {
		listener, err = listenSCTP(s.config.Address)
		return err
	})
	if err != nil {
		return err
	}
	raw, err := listener.SyscallConn()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.listens(localAddress(raw), listener)
	s.acceptAll(func() (func(), error) {
		socket, client, err := acceptSCTP(raw)
		return func() { s.serveSocket(socket, client) }, err
	})
	return nil
}

func listenSCTP(at netip.AddrPort) (*os.File, error) {
	fd, err := unix.Socket(socket.Family(at.Addr()), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
	if err != nil {
		return nil, err
	}
	if err = prepareSCTP(fd, nil); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, socket.Address(at))
	}
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %v/sctp: %w", at, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}

func acceptSCTP(raw syscall.RawConn) (socket *os.File, client netip.AddrPort, err error) {
	var from unix.Sockaddr
	fd := -1
	if stopped := raw.Read(func(listener uintptr) bool {
		fd, from, err = unix.Accept4(int(listener), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		return !again(err)
	}); stopped != nil {
		return nil, client, stopped
	}
	if err != nil {
		return nil, client, err
	}
	return os.NewFile(uintptr(fd), "socket"), addressFrom(from), nil
}

func (s *Server) serveSocket(socket *os.File, client netip.AddrPort) {
	a, err := newKernelAssociation(socket)
	if err != nil {
		_ = socket.Close()
		return
	}
	number, leave := s.joins(a)
	defer leave()
	s.serveAssociation(a, peer{number: number, client: client})
}

// kernelAssociation is an association of the kernel on a one-to-one style socket (RFC 6458
// section 4). One goroutine receives the messages and sorts them by stream. It ignores
// message boundaries: everything that must stay whole is shorter than a packet.
type kernelAssociation struct {
	socket *os.File
	raw    syscall.RawConn
	ended  chan struct{} // closed when receiving has ended

	mu      sync.Mutex
	changed *sync.Cond // broadcast when any of these change
	streams map[uint16]*kernelStream
	fresh   []*kernelStream // opened by the peer, not yet accepted
	queued  int             // octets, in all streams
	failed  error           // why receiving has ended
}

// kernelStream is one stream of a kernelAssociation.
type kernelStream struct {
	association *kernelAssociation
	number      uint16
	queue       []message
	stopped     bool
}

type message struct {
	ppid   uint32
	octets []byte
}

func newKernelAssociation(socket *os.File) (*kernelAssociation, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
	if err = errors.Join(err, set); err != nil {
		return nil, fmt.Errorf("end abortively (socket option SO_LINGER): %w", err)
	}
	a := &kernelAssociation{socket: socket, raw: raw, ended: make(chan struct{}), streams: map[uint16]*kernelStream{}}
	a.changed = sync.NewCond(&a.mu)
	go a.run()
	return a, nil
}

// run sorts messages until the association ends.
func (a *kernelAssociation) run() {
	defer close(a.ended)
	buffer, control := make([]byte, messageSize), make([]byte, unix.CmsgSpace(sizeofRcvInfo))
	for {
		var number uint16
		var m message
		err := panics.Do(func() (err error) {
			number, m, err = a.next(buffer, control)
			return err
		})
		a.mu.Lock()
		if a.failed = err; err == nil {
			s := a.streams[number]
			if s == nil {
				s = a.add(number)
				a.fresh = append(a.fresh, s)
			}
			s.queue = append(s.queue, m)
			a.queued += len(m.octets)
		}
		a.changed.Broadcast()
		for a.queued > sctpQueue {
			a.changed.Wait()
		}
		a.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// add makes a stream; the caller holds the lock.
func (a *kernelAssociation) add(number uint16) *kernelStream {
	s := &kernelStream{association: a, number: number}
	a.streams[number] = s
	return s
}

// sizeofRcvInfo is the size of struct sctp_rcvinfo.
const sizeofRcvInfo = 28

// next receives a message, or a part of one, from the kernel.
func (a *kernelAssociation) next(buffer, control []byte) (number uint16, m message, err error) {
	n, controls, flags := 0, 0, 0
	if stopped := a.raw.Read(func(fd uintptr) bool {
		n, controls, flags, _, err = unix.Recvmsg(int(fd), buffer, control, 0)
		return !again(err)
	}); stopped != nil {
		err = stopped
	}
	if err != nil {
		return 0, m, err
	}
	if n == 0 {
		return 0, m, io.EOF
	}
	list, err := unix.ParseSocketControlMessage(control[:controls])
	if err != nil {
		return 0, m, err
	}
	for _, c := range list {
		if c.Header.Level == unix.IPPROTO_SCTP && c.Header.Type == sctpRcvInfo && len(c.Data) >= sizeofRcvInfo {
			number = binary.NativeEndian.Uint16(c.Data)
			return number, message{binary.BigEndian.Uint32(c.Data[8:]), bytes.Clone(buffer[:n])}, nil
		}
	}
	return 0, m, fmt.Errorf("a message of %d octets without the number of its stream (flags %#x)", n, flags)
}

// again reports whether to retry a system call when the socket is ready.
func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }

func (a *kernelAssociation) stream(number uint16) (messages, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.streams[number]; s != nil {
		return s, nil
	}
	return a.add(number), nil
}

func (a *kernelAssociation) accept() (messages, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.fresh) == 0 {
		if a.failed != nil {
			return nil, a.failed
		}
		a.changed.Wait()
	}
	s := a.fresh[0]
	a.fresh = a.fresh[1:]
	return s, nil
}

func (a *kernelAssociation) local() netip.AddrPort { return localAddress(a.raw) }

// Close sends one ABORT, after which the kernel has no state of the association, like
// pionAssociation.Close.
func (a *kernelAssociation) Close() error {
	err := a.socket.Close()
	a.mu.Lock()
	a.queued = 0
	a.changed.Broadcast()
	a.mu.Unlock()
	<-a.ended
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (s *kernelStream) receive(p []byte) (int, uint32, error) {
	a := s.association
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(s.queue) == 0 && !s.stopped {
		if a.failed != nil {
			return 0, 0, a.failed
		}
		a.changed.Wait()
	}
	if s.stopped {
		return 0, 0, os.ErrDeadlineExceeded
	}
	m := s.queue[0]
	s.queue = s.queue[1:]
	a.queued -= len(m.octets)
	a.changed.Broadcast()
	return copy(p, m.octets), m.ppid, nil
}

func (s *kernelStream) send(p []byte, ppid uint32) (err error) {
	const sizeofSndInfo = 16
	control := make([]byte, unix.CmsgSpace(sizeofSndInfo))
	binary.NativeEndian.PutUint64(control, uint64(unix.CmsgLen(sizeofSndInfo)))
	binary.NativeEndian.PutUint32(control[8:], unix.IPPROTO_SCTP)
	binary.NativeEndian.PutUint32(control[12:], sctpSndInfo)
	info := control[unix.CmsgLen(0):]
	binary.NativeEndian.PutUint16(info, s.number)
	binary.BigEndian.PutUint32(info[4:], ppid)
	if stopped := s.association.raw.Write(func(fd uintptr) bool {
		_, err = unix.SendmsgN(int(fd), p, control, nil, unix.MSG_NOSIGNAL)
		return !again(err)
	}); stopped != nil {
		return stopped
	}
	return err
}

// portion returns 16 kB, because streams take turns by whole messages.
func (*kernelStream) portion() int { return 1 << 14 }

func (s *kernelStream) interrupt() { s.stop(true) }
func (s *kernelStream) resume()    { s.stop(false) }

func (s *kernelStream) stop(stopped bool) {
	s.association.mu.Lock()
	defer s.association.mu.Unlock()
	s.stopped = stopped
	s.association.changed.Broadcast()
}

// localAddress returns the address that a socket is bound to.
func localAddress(raw syscall.RawConn) (at netip.AddrPort) {
	_ = raw.Control(func(fd uintptr) {
		if a, err := unix.Getsockname(int(fd)); err == nil {
			at = addressFrom(a)
		}
	})
	return at
}

func addressFrom(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}
