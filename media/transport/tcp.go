package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// drained is how many unwanted octets of a response are read in order to keep the
// connection.
const drained = 16384

// tcpLink is a session over TCP or MPTCP.
type tcpLink struct {
	conn   net.Conn
	secure *tls.Conn     // TLS over conn; nil in the clear
	turn   chan struct{} // holds an element while no exchange is under way
	stale  int64         // octets to drain of an unwanted response; owned by the holder of turn

	end
}

func connectTCP(ctx context.Context, c *Client, locals []netip.Addr) (link, error) {
	if c.config.Parallel > 1 {
		return connectBundle(ctx, c, locals, c.config.Parallel)
	}
	l, err := dialTCP(ctx, c, locals)
	if err != nil {
		return nil, err // not a link that is nil
	}
	return l, nil
}

func dialTCP(ctx context.Context, c *Client, locals []netip.Addr) (*tcpLink, error) {
	if c.config.Transport.multipath() && len(locals) > 1 {
		if err := c.config.Host.do(func() error { return addEndpoints(locals) }); err != nil {
			return nil, err
		}
	}
	socket, err := c.config.Host.connect(ctx, c.config.Transport.number, c.config.Server, locals, nil)
	if err != nil {
		return nil, err
	}
	conn, err := net.FileConn(socket)
	if err = errors.Join(err, socket.Close()); err != nil {
		return nil, err
	}
	conn = abortive{conn.(*net.TCPConn)}
	l := &tcpLink{conn: conn, turn: make(chan struct{}, 1), end: newEnd()}
	l.turn <- struct{}{}
	if c.config.Transport.multipath() {
		err = checkMultipath(conn)
	}
	if err == nil && c.config.Transport.Encrypted {
		l.secure = tls.Client(conn, c.tls())
		l.conn = l.secure
		err = l.secure.HandshakeContext(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return l, nil
}

// abortive is a connection that closes with one RST, after which the kernel has no state of
// it. Otherwise the kernel would retransmit unacknowledged data and the FIN for minutes, in
// vain if the peer's address has changed.
type abortive struct{ *net.TCPConn }

func (a abortive) Close() error {
	_ = a.SetLinger(0)
	return a.TCPConn.Close()
}

// checkMultipath checks that a connection uses MPTCP: Linux silently falls back to TCP if
// the other side does not support MPTCP.
func checkMultipath(conn net.Conn) error {
	is, err := conn.(abortive).MultipathTCP()
	if err != nil {
		return fmt.Errorf("check whether the connection uses MPTCP: %w", err)
	}
	if !is {
		return errors.New("the connection fell back to TCP: the server or a middlebox does not support MPTCP")
	}
	return nil
}

func (l *tcpLink) open(ctx context.Context, _ Request) (exchange, error) {
	if err := l.cause(); err != nil {
		return nil, err
	}
	select {
	case <-l.turn:
		return &tcpExchange{link: l}, nil
	case <-l.came:
		return nil, l.cause()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (*tcpLink) again(context.Context, error) bool         { return false }
func (*tcpLink) migrate(context.Context, netip.Addr) error { return ErrUnsupported }

func (l *tcpLink) close() error {
	if first, _ := l.comes(net.ErrClosed); !first {
		return nil
	}
	return ignoreGone(l.conn.Close())
}

// breaks ends the session with a cause and returns the cause.
func (l *tcpLink) breaks(why error) error {
	first, err := l.comes(why)
	if first {
		_ = l.conn.Close()
	}
	return err
}

// ignoreGone ignores the error of closing a connection whose peer has gone.
func ignoreGone(err error) error {
	if _, is := errors.AsType[*net.OpError](err); is {
		return nil
	}
	return err
}

func (l *tcpLink) state() State {
	s := State{Local: addressOf(l.conn.LocalAddr())}
	if l.secure != nil {
		s.Resumed = l.secure.ConnectionState().DidResume
	}
	return s
}

// tcpExchange has the connection for itself while it lasts.
type tcpExchange struct {
	link *tcpLink

	mu      sync.Mutex
	done    bool
	failing bool
}

func (x *tcpExchange) Write(p []byte) (int, error) {
	n, err := x.link.conn.Write(p)
	if err != nil {
		err = x.link.breaks(err)
	}
	return n, err
}

func (x *tcpExchange) Read(p []byte) (int, error) {
	for x.link.stale > 0 {
		n, err := x.link.conn.Read(p[:min(int64(len(p)), x.link.stale)])
		x.link.stale -= int64(n)
		if err != nil {
			return 0, x.broken(err)
		}
	}
	n, err := x.link.conn.Read(p)
	if err != nil {
		err = x.broken(err)
	}
	return n, err
}

// broken ends the session with an error of its connection, unless this side caused the
// error by an abort.
func (x *tcpExchange) broken(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failing {
		return err
	}
	return x.link.breaks(err)
}

// abort makes reads fail by a deadline, which leaves the connection usable.
func (x *tcpExchange) abort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.done {
		x.failing = true
		_ = x.link.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

func (x *tcpExchange) finish(left int64) {
	x.mu.Lock()
	x.done = true
	x.mu.Unlock()
	if left < 0 || left+x.link.stale > drained {
		_ = x.link.breaks(ErrUnread)
	} else {
		x.link.stale += left
		_ = x.link.conn.SetReadDeadline(time.Time{})
	}
	x.link.turn <- struct{}{}
}

// serveTCP serves over TCP or MPTCP, one request after the other.
func serveTCP(ctx context.Context, s *Server) error {
	listener, err := s.config.Host.listen(ctx, s.config.Address, s.config.Transport.multipath())
	if err != nil {
		return err
	}
	s.accepts(listener, func(conn net.Conn) { s.serveConn(conn.(*net.TCPConn)) })
	return nil
}

func (s *Server) serveConn(socket *net.TCPConn) {
	conn, connection := net.Conn(socket), abortive{socket}
	number, leave := s.joins(connection)
	defer leave()
	defer func() {
		if s.ctx.Err() == nil { // unread data is still delivered
			_ = socket.Close()
		}
	}()
	p := peer{number: number, client: addressOf(conn.RemoteAddr())}
	if s.config.Transport.Encrypted {
		secure := tls.Server(conn, s.tls)
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Patience)
		err := secure.HandshakeContext(ctx)
		cancel()
		if err != nil {
			return
		}
		state := secure.ConnectionState()
		conn, p.tls = secure, &state
	}
	rest := s.newRest(socket) // what the kernel has not sent yet is still delivered
	defer rest.stop()
	for {
		r, err := readRequest(conn)
		if err != nil {
			if errors.Is(err, errMalformed) {
				_, _ = conn.Write(refusal)
			}
			return
		}
		rest.begins()
		err = s.answer(s.ctx, p, r, conn, connection)
		rest.ends()
		if err != nil {
			return
		}
	}
}
