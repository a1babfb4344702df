package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"

	_ "github.com/quic-go/quic-go/qlog" // registers the schema of the events

	"wiretime/panics"
)

// These are the error codes of our protocol over QUIC (RFC 9000 section 20.2).
const (
	codeDone   = 0 // the response is no longer needed
	codeFailed = 1 // the server failed to read the piece
)

// quicConfig makes connections write qlogs, in goroutines that run starts. Everything else
// keeps quic-go's defaults.
func quicConfig(c quic.Config, qlog func(string) io.WriteCloser, run func(func())) *quic.Config {
	if qlog != nil {
		c.Tracer = func(_ context.Context, client bool, id quic.ConnectionID) qlogwriter.Trace {
			out := qlog(id.String())
			if out == nil {
				return nil
			}
			trace := qlogwriter.NewConnectionFileSeq(out, client, id)
			run(trace.Run) // until the connection is done with it
			return trace
		}
	}
	return &c
}

// quicLink is a session over QUIC.
type quicLink struct {
	client *Client
	conn   *quic.Conn
	tidy   panics.Group // streams whose end nobody waits for, and qlogs

	mu    sync.Mutex
	shook *quic.ConnectionState // result of the handshake; nil until first queried
	way   quicWay               // the one in use
	spent []quicWay             // former and failed ways: closing them would end the connection, too
	ended bool
}

// quicWay is a local address of a session.
type quicWay struct {
	transport *quic.Transport
	socket    *net.UDPConn
	path      *quic.Path // nil for the first
}

func (w quicWay) close() error { return errors.Join(w.transport.Close(), w.socket.Close()) }

// openWay opens a socket on one address, as browsers do. A socket on all addresses would
// follow the host's routes to another address by itself.
func (c *Client) openWay(locals []netip.Addr) (quicWay, error) {
	locals, err := c.config.Host.source(c.config.Server, locals)
	if err != nil {
		return quicWay{}, err
	}
	socket, err := c.config.Host.listenUDP(netip.AddrPortFrom(locals[0], 0))
	if err != nil {
		return quicWay{}, err
	}
	return quicWay{transport: &quic.Transport{Conn: patientSocket{socket}}, socket: socket}, nil
}

func connectQUIC(ctx context.Context, c *Client, locals []netip.Addr) (link, error) {
	way, err := c.openWay(locals)
	if err != nil {
		return nil, err
	}
	l := &quicLink{client: c, way: way, tidy: panics.Group{Guard: panics.From(ctx)}}
	config := quicConfig(quic.Config{
		HandshakeIdleTimeout: 2 * c.config.Patience, // Connect's own timeout fires first
		MaxIdleTimeout:       c.config.Patience, TokenStore: c.tokens,
	}, c.config.QLog, l.tidy.Go)
	dial := way.transport.Dial
	if c.config.EarlyData {
		dial = way.transport.DialEarly
	}
	l.conn, err = dial(ctx, net.UDPAddrFromAddrPort(c.config.Server), c.tls(), config)
	if err != nil {
		l.tidy.Wait()
		return nil, errors.Join(err, way.close())
	}
	return l, nil
}

func (l *quicLink) open(ctx context.Context, _ Request) (exchange, error) {
	stream, err := l.conn.OpenStreamSync(ctx)
	if err != nil {
		if errors.Is(err, net.ErrClosed) {
			return nil, closedBy(err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return &quicExchange{link: l, stream: stream}, nil
}

// again repeats requests in 0-RTT data that the server rejected: the server has not
// processed them (RFC 9001 section 4.6.2).
func (l *quicLink) again(ctx context.Context, failed error) bool {
	if !errors.Is(failed, quic.Err0RTTRejected) {
		return false
	}
	_, err := l.conn.NextConnection(ctx)
	return err == nil
}

// migrate probes the new way (RFC 9000 section 8.2) before it switches to it.
func (l *quicLink) migrate(ctx context.Context, local netip.Addr) error {
	select {
	case <-l.conn.HandshakeComplete(): // section 9 forbids it earlier
	case <-l.conn.Context().Done():
		return closedBy(context.Cause(l.conn.Context()))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_ = l.state() // quic-go cannot report it during a migration
	way, err := l.client.openWay([]netip.Addr{local})
	if err != nil {
		return err
	}
	way.path, err = l.conn.AddPath(way.transport)
	if err == nil {
		if err = l.probe(ctx, way.path); err == nil {
			err = way.path.Switch()
		}
	}
	if err == nil {
		l.nudge()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errors.Join(ErrClosed, way.close())
	}
	if err == nil {
		way, l.way = l.way, way
	}
	l.spent = append(l.spent, way)
	if way.path != nil {
		_ = way.path.Close() // gives its connection IDs back
	}
	return err
}

// nudge sends the server a non-probing packet from the new way, because the server stays
// with the old one until it gets one (RFC 9000 section 9.3) and a viewer that only receives
// sends none. The packet opens a stream and resets it.
func (l *quicLink) nudge() {
	if stream, err := l.conn.OpenStream(); err == nil {
		stream.CancelRead(codeDone)
		stream.CancelWrite(codeDone)
	}
}

// probe calls Path.Probe and limits it by the connection's life and the client's Patience.
func (l *quicLink) probe(ctx context.Context, p *quic.Path) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.client.config.Patience, fmt.Errorf("%w for %v", ErrSilent, l.client.config.Patience))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer context.AfterFunc(l.conn.Context(), func() { end(closedBy(context.Cause(l.conn.Context()))) })()
	return p.Probe(ctx)
}

func (l *quicLink) state() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	local := addressOf(l.way.socket.LocalAddr())
	if l.shook == nil {
		select {
		case <-l.conn.HandshakeComplete():
			now := l.conn.ConnectionState()
			l.shook = &now
		default:
			return State{Local: local}
		}
	}
	return State{Local: local, Resumed: l.shook.TLS.DidResume, EarlyData: l.shook.Used0RTT}
}

func (l *quicLink) close() error {
	errs := []error{l.conn.CloseWithError(codeDone, "")}
	l.tidy.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	for _, way := range append(l.spent, l.way) {
		errs = append(errs, way.close())
	}
	return errors.Join(errs...)
}

// quicExchange has its own stream.
type quicExchange struct {
	link    *quicLink
	stream  *quic.Stream
	refused atomic.Bool // rejected with all 0-RTT data; another stream has its number by now
}

func (x *quicExchange) Write(p []byte) (int, error) {
	n, err := x.stream.Write(p)
	if err == nil {
		err = x.stream.Close()
	}
	return n, x.explain(err)
}

func (x *quicExchange) Read(p []byte) (int, error) {
	n, err := x.stream.Read(p)
	return n, x.explain(err)
}

// explain translates a stream's error to the errors of this package.
func (x *quicExchange) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if errors.Is(err, quic.Err0RTTRejected) {
		x.refused.Store(true)
		return err
	}
	if s, is := errors.AsType[*quic.StreamError](err); is && s.Remote && s.ErrorCode == codeFailed {
		return ErrFailed
	}
	if errors.Is(err, net.ErrClosed) { // quic-go's connection errors match net.ErrClosed
		return closedBy(err)
	}
	return err
}

// closedBy translates the cause of a connection's end.
func closedBy(err error) error {
	_, idle := errors.AsType[*quic.IdleTimeoutError](err)
	_, shaking := errors.AsType[*quic.HandshakeTimeoutError](err)
	if idle || shaking {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	} else if a, is := errors.AsType[*quic.ApplicationError](err); is && a.Remote {
		err = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

func (x *quicExchange) abort() {
	if x.refused.Load() {
		return
	}
	x.stream.CancelRead(codeDone)
	x.stream.CancelWrite(codeDone)
}

func (x *quicExchange) finish(left int64) {
	if left != 0 {
		x.abort()
		return
	}
	// quic-go releases a stream when its end has been read.
	x.link.tidy.Go(func() { _, _ = io.Copy(io.Discard, x.stream) })
}

// serveQUIC serves over QUIC, each request on the stream that it comes on.
func serveQUIC(_ context.Context, s *Server) error {
	socket, err := s.config.Host.listenUDP(s.config.Address)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: patientSocket{socket}}
	if s.config.MaxConnections > 0 {
		verify, join := s.limitQUIC()
		transport.VerifySourceAddress = func(net.Addr) bool { return verify() }
		transport.ConnContext = func(ctx context.Context, _ *quic.ClientInfo) (context.Context, error) { return join(ctx) }
	}
	config := quicConfig(quic.Config{
		HandshakeIdleTimeout: s.config.Patience, MaxIdleTimeout: s.config.Patience, Allow0RTT: true,
		MaxIncomingStreams: int64(concurrentStreams), MaxIncomingUniStreams: -1,
	}, s.config.QLog, s.serving.Go)
	if s.config.QLog == nil && s.config.SlowStart != nil {
		watchSlowStart(config, s.config.SlowStart)
	}
	listener, err := transport.ListenEarly(s.tls, config)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	s.listens(addressOf(socket.LocalAddr()), closer(func() error { return errors.Join(transport.Close(), socket.Close()) }))
	s.acceptAll(func() (func(), error) {
		conn, err := listener.Accept(s.ctx)
		return func() { s.serveQUICConn(conn) }, err
	})
	return nil
}

// closer is a function that closes something.
type closer func() error

func (c closer) Close() error { return c() }

func (s *Server) serveQUICConn(conn *quic.Conn) {
	connection := &connCloser{conn}
	number, leave := s.joins(connection)
	defer leave()
	rest := s.newRest(connection)
	defer rest.stop()
	for {
		stream, err := conn.AcceptStream(s.ctx)
		if err != nil {
			return
		}
		s.serving.Go(func() { s.serveQUICStream(conn, number, stream, rest) })
	}
}

type connCloser struct{ conn *quic.Conn }

func (c *connCloser) Close() error { return c.conn.CloseWithError(codeDone, "") }

func (s *Server) serveQUICStream(conn *quic.Conn, number int64, stream *quic.Stream, rest *rest) {
	broken := closer(func() error { stream.CancelWrite(codeFailed); return nil })
	stop := context.AfterFunc(conn.Context(), func() { stream.CancelRead(codeDone) })
	defer stop()
	r, err := readRequest(stream)
	if err != nil {
		if errors.Is(err, errMalformed) || errors.Is(err, io.ErrUnexpectedEOF) {
			_, _ = stream.Write(refusal)
		}
		_ = stream.Close()
		stream.CancelRead(codeDone)
		return
	}
	rest.begins()
	defer rest.ends()
	state := conn.ConnectionState()
	p := peer{number: number, client: addressOf(conn.RemoteAddr()), tls: &state.TLS}
	if state.Used0RTT {
		select {
		case <-conn.HandshakeComplete():
			// Viewers connect when they have a request, so the first request arrives in 0-RTT
			// packets, even if this goroutine sees it after the handshake.
			p.early = stream.StreamID() == 0
		default:
			p.early = true
		}
	}
	if s.answer(s.ctx, p, r, stream, broken) != nil {
		_ = broken.Close()
		return
	}
	_ = stream.Close()
}
