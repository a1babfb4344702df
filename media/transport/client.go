package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"wiretime/media/storage"
)

// alpn is the name of our protocol in TLS handshakes (RFC 7301).
const alpn = "wiretime-media/1"

var (
	// ErrClosed says that a session has lost its connection. Open another session.
	ErrClosed = errors.New("the session's connection is closed")
	// ErrFailed says that the server has the requested piece but could not read it.
	ErrFailed = errors.New("the server failed to read the piece")
	// ErrUnread says that a session's connection was closed because a response was closed
	// before its end, for which TCP has no other way (see Response.Close).
	ErrUnread = errors.New("a response was not read to its end")
)

// ClientConfig says how a viewer reaches its server.
type ClientConfig struct {
	Transport Transport
	Server    netip.AddrPort
	// Name is the server's name in its certificate, and Verify checks the certificate:
	// protocol.Authority.Verify in a lab; nil means the machine's trusted roots. Rows without
	// encryption need neither.
	Name   string
	Verify func(tls.ConnectionState) error
	Host   Host
	// EarlyData makes sessions after the first begin with 0-RTT data, for rows that support
	// ZeroRTT. Otherwise they only resume the TLS session.
	EarlyData bool
	// Parallel is how many requests of a session may be pending over a transport without
	// streams; each has a connection to itself. 0 means 1.
	Parallel int
	// Patience is how long a request waits for octets before it fails with
	// ErrSilent; 0 is DefaultPatience.
	Patience time.Duration
	// KeyLog receives the secrets in NSS key log format; nil for none.
	KeyLog io.Writer
	// QLog opens the destination of a QUIC connection's qlog
	// (draft-ietf-quic-qlog-main-schema), named by the original destination connection ID; nil
	// for none.
	QLog func(connection string) io.WriteCloser
}

// Client is one viewer. It keeps the TLS tickets and QUIC tokens that servers issued for
// its next session.
type Client struct {
	config  ClientConfig
	tickets tls.ClientSessionCache
	tokens  quic.TokenStore
}

// NewClient makes a viewer without a session. The error wraps ErrUnsupported if the
// transport does not support the configuration, and ErrNoSCTP or ErrNoMPTCP if the host
// does not support the transport.
func NewClient(c ClientConfig) (*Client, error) {
	if c.EarlyData {
		if err := c.Transport.Supports(ZeroRTT); err != nil {
			return nil, err
		}
	}
	if err := c.Transport.Available(c.Host); err != nil {
		return nil, err
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	c.Parallel = max(c.Parallel, 1)
	return &Client{config: c, tickets: tls.NewLRUClientSessionCache(1), tokens: quic.NewLRUTokenStore(1, 4)}, nil
}

// tls returns the client's TLS configuration: TLS 1.3 only, with session resumption.
func (c *Client) tls() *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: c.config.Name, NextProtos: []string{alpn},
		ClientSessionCache: c.tickets, KeyLogWriter: c.config.KeyLog,
	}
	if c.config.Verify != nil {
		config.InsecureSkipVerify = true // VerifyConnection below verifies the certificate
		config.VerifyConnection = c.config.Verify
	}
	return config
}

// Session is a connection, or an association, to the server. Requests may be made
// by several goroutines at once.
type Session struct {
	client *Client
	link   link
	setUp  time.Duration
}

// link is a session as a row of the table implements it.
type link interface {
	// open starts an exchange for a request. Nothing has been written to it yet.
	open(ctx context.Context, r Request) (exchange, error)
	// again reports whether a request that failed with this error is to be repeated.
	again(ctx context.Context, failed error) bool
	migrate(ctx context.Context, local netip.Addr) error
	state() State
	close() error
}

// end records the end of a session's connection.
type end struct {
	came chan struct{} // closed when the connection has ended
	mu   sync.Mutex
	why  error
}

func newEnd() end { return end{came: make(chan struct{})} }

// comes records why the connection has ended, unless it has already, and returns the
// recorded cause.
func (e *end) comes(why error) (first bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first = e.why == nil; first {
		e.why = fmt.Errorf("%w: %w", ErrClosed, noEOF(why))
		close(e.came)
	}
	return first, e.why
}

// cause returns why the connection has ended, or nil.
func (e *end) cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.why
}

// exchange is one request and its response.
type exchange interface {
	io.Reader
	// Write writes the whole request, once.
	io.Writer
	// abort makes a pending Read and all later ones fail. It may be called at any time.
	abort()
	// finish ends the exchange after the last Read. left is the number of unread octets of the
	// response; negative if unknown.
	finish(left int64)
}

// State describes a session.
type State struct {
	// SetUp is how long it took to open the session: until it could take the first
	// request.
	SetUp time.Duration
	// Local is the address that packets leave from.
	Local netip.AddrPort
	// Resumed says that a TLS session was resumed, EarlyData that the server accepted 0-RTT
	// data. Both are known once the first response has arrived.
	Resumed, EarlyData bool
}

// Connect opens a session from the first of the given local addresses, with the others as
// alternatives (see Multihome), or from the address that the host's routes choose. ctx ends
// the attempt, not the session. The error wraps ErrSilent if the server does not answer
// within the client's Patience.
func (c *Client) Connect(ctx context.Context, locals ...netip.Addr) (*Session, error) {
	if len(locals) > 1 {
		if err := c.config.Transport.Supports(Multihome); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Patience, fmt.Errorf("%w for %v", ErrSilent, c.config.Patience))
	defer cancel()
	began := time.Now()
	l, err := c.config.Transport.connect(ctx, c, locals)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("open a session over %s with %v: %w", c.config.Transport.Name, c.config.Server, err)
	}
	return &Session{client: c, link: l, setUp: time.Since(began)}, nil
}

// State returns the session's current state.
func (s *Session) State() State {
	state := s.link.state()
	state.SetUp = s.setUp
	return state
}

// Migrate moves the session to another local address and returns once the server has been
// reached from it. Pending requests continue. The error wraps ErrUnsupported if the
// transport cannot migrate.
func (s *Session) Migrate(ctx context.Context, local netip.Addr) error {
	if err := s.client.config.Transport.Supports(Migrate); err != nil {
		return err
	}
	if err := s.link.migrate(ctx, local); err != nil {
		return fmt.Errorf("migrate to %v: %w", local, err)
	}
	return nil
}

// Close ends the session. Pending responses fail. Close notifies the server if it is
// reachable, and does not wait.
func (s *Session) Close() error { return s.link.close() }

// Response is the answer to a request; its content is read with Read. The caller must close
// it or read it to its end.
type Response struct {
	Request  Request
	Size     int64  // of the whole piece, in octets
	Segments uint32 // how many the item has in the request's resolution
	Length   int64  // of the content that Read gives, in octets

	exchange exchange
	watch    *watch
	left     int64 // unread octets of the content
	forget   func() bool
	cause    atomic.Pointer[error] // why the exchange was aborted
	closed   atomic.Bool
	failed   error // the last error of Read
}

// Request asks for a piece and returns when the response begins. ctx holds until
// the response has been read: when it ends, reading fails with its cause.
//
// Over a transport with streams, up to StreamsPerResolution requests per resolution can be
// pending, and further ones wait. Without streams, as many can be pending as the client's
// Parallel says.
//
// The error wraps storage.ErrNotFound, storage.ErrPastEnd or ErrFailed if the server says
// so; past the end, the Response still has Size and Segments, and need not be closed. It
// wraps ErrClosed if the session has lost its connection, and ErrSilent if the server timed
// out.
func (s *Session) Request(ctx context.Context, r Request) (*Response, error) {
	for {
		response, err := s.request(ctx, r)
		if err == nil || !s.link.again(ctx, err) {
			if err != nil {
				err = fmt.Errorf("request %v: %w", r.ID, err)
			}
			return response, err
		}
	}
}

func (s *Session) request(ctx context.Context, r Request) (*Response, error) {
	question, err := r.octets()
	if err != nil {
		return nil, err
	}
	x, err := s.link.open(ctx, r)
	if err != nil {
		return nil, err
	}
	response := &Response{Request: r, exchange: x}
	response.watch = newWatch(s.client.config.Patience, response.abort)
	response.forget = context.AfterFunc(ctx, func() { response.abort(context.Cause(ctx)) })
	_, err = x.Write(question)
	var h header
	if err == nil {
		h, err = readHeader(x)
	}
	if err != nil {
		err = response.because(err)
		response.end(-1)
		return nil, err
	}
	response.watch.moved()
	response.Size, response.Segments, response.Length, response.left = h.size, h.segments, h.length, h.length
	if h.length == 0 {
		response.failed = io.EOF
		response.end(0)
	}
	return response, statusError(h.status)
}

// statusError returns the error of a status other than OK.
func statusError(status int) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return storage.ErrNotFound
	case http.StatusRequestedRangeNotSatisfiable:
		return storage.ErrPastEnd
	case http.StatusInternalServerError:
		return ErrFailed
	default:
		return fmt.Errorf("the server rejected the request with status %d", status)
	}
}

// Read reads content: see io.Reader. Errors other than io.EOF give the number of octets
// received. If the connection ended, they wrap io.ErrUnexpectedEOF.
func (r *Response) Read(p []byte) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	r.watch.wait()
	n, err := r.exchange.Read(p[:min(int64(len(p)), r.left)])
	r.watch.moved()
	r.left -= int64(n)
	if r.left == 0 {
		r.failed = io.EOF
		r.end(0) // the next request need not wait for Close
	} else if err != nil {
		r.failed = fmt.Errorf("receive %v: after %d of %d octets: %w", r.Request.ID, r.Length-r.left, r.Length, r.because(noEOF(err)))
	}
	return n, r.failed
}

// abort makes reading fail with a cause.
func (r *Response) abort(cause error) {
	r.cause.CompareAndSwap(nil, &cause)
	r.exchange.abort()
}

// because returns the cause of an aborted exchange, or err.
func (r *Response) because(err error) error {
	if cause := r.cause.Load(); cause != nil {
		return *cause
	}
	return err
}

// Close ends the exchange. If the content has not been read to its end, Close tells the
// server to stop: over QUIC by STOP_SENDING (RFC 9000 section 3.5), over SCTP by a message;
// data in flight still arrives. Over TCP, Close drains up to 16,384 octets, like browsers
// over HTTP/1.1 (Chromium's HttpResponseBodyDrainer). If more are left, it closes the
// connection, which ends the session. Close must not be called during a Read.
func (r *Response) Close() error {
	r.end(r.left)
	return nil
}

func (r *Response) end(left int64) {
	if r.closed.Swap(true) {
		return
	}
	r.watch.stop()
	r.forget()
	if r.failed == nil {
		r.failed = http.ErrBodyReadAfterClose
	}
	r.exchange.finish(left)
}
