package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v3"
	dtlsnet "github.com/pion/dtls/v3/pkg/net"
	"github.com/pion/logging"
	"github.com/pion/sctp"
	"github.com/pion/transport/v5/udp"
	"golang.org/x/sys/unix"
)

// These settings differ from pion's defaults.
const (
	// receiveWindow is a side's receive window in octets, the same as quic-go's stream window.
	// pion's default of 1 MB would limit long, fast paths.
	receiveWindow = 6 << 20
	// An SCTP packet fills an Ethernet frame after the headers of IPv4 and UDP, and of a DTLS
	// record if there is one.
	packetSize       = 1500 - 20 - 8
	securePacketSize = packetSize - 13 - 8 - 16
)

// silent keeps pion from writing to standard error.
var silent = &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}

func sctpOptions(conn net.Conn, secure bool) []sctp.AssociationOption {
	size := packetSize
	if secure {
		size = securePacketSize
	}
	return []sctp.AssociationOption{
		sctp.WithNetConn(conn), sctp.WithLoggerFactory(silent), sctp.WithMTU(uint32(size)),
		sctp.WithMaxReceiveBufferSize(receiveWindow), sctp.WithBlockWrite(true),
	}
}

// pionAssociation is an association over UDP, plain (RFC 6951) or in DTLS (RFC 8261).
type pionAssociation struct {
	*sctp.Association
	conn net.Conn
	over atomic.Bool // the peer is gone, so it cannot be notified
}

func connectSCTPOverUDP(ctx context.Context, c *Client, locals []netip.Addr) (link, error) {
	socket, err := c.config.Host.dialUDP(c.config.Server, locals)
	if err != nil {
		return nil, err
	}
	if err := takeWindow(socket); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	var conn net.Conn = patientSocket{socket}
	if c.config.Transport.Encrypted {
		if conn, err = c.secureDatagrams(ctx, conn); err != nil {
			return nil, errors.Join(err, socket.Close())
		}
	}
	var options []sctp.ClientOption
	for _, o := range sctpOptions(conn, c.config.Transport.Encrypted) {
		options = append(options, o)
	}
	a, err := sctp.ClientContext(ctx, options...)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newSCTPLink(&pionAssociation{Association: a, conn: conn}), nil
}

// takeWindow enlarges the socket's receive buffer to hold a full window: Linux's default is
// a thirtieth of it.
func takeWindow(socket *net.UDPConn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var taken error
	return errors.Join(raw.Control(func(fd uintptr) { taken = takeBuffer(int(fd), unix.SO_RCVBUF, receiveWindow) }), taken)
}

// secureDatagrams puts DTLS between UDP and SCTP.
func (c *Client) secureDatagrams(ctx context.Context, conn net.Conn) (net.Conn, error) {
	options := []dtls.ClientOption{
		dtls.WithLoggerFactory(silent), dtls.WithServerName(c.config.Name), dtls.WithMTU(packetSize),
	}
	if c.config.KeyLog != nil {
		options = append(options, dtls.WithKeyLogWriter(c.config.KeyLog))
	}
	if c.config.Verify != nil {
		options = append(options, dtls.WithInsecureSkipVerify(true), dtls.WithVerifyConnection(c.verifyDTLS))
	}
	secure, err := dtls.ClientWithOptions(dtlsnet.PacketConnFromConn(conn), conn.RemoteAddr(), options...)
	if err != nil {
		return nil, err
	}
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, secure.Close())
	}
	return secure, nil
}

// verifyDTLS verifies the server's certificate with the client's Verify.
func (c *Client) verifyDTLS(s *dtls.State) error {
	state := tls.ConnectionState{ServerName: c.config.Name}
	for _, der := range s.PeerCertificates {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("read the server's certificate: %w", err)
		}
		state.PeerCertificates = append(state.PeerCertificates, certificate)
	}
	return c.config.Verify(state)
}

func serveSCTPOverUDP(_ context.Context, s *Server) error {
	config := udp.ListenConfig{ReadBufferSize: receiveWindow, AcceptFilter: beginsSCTP}
	if s.config.Transport.Encrypted {
		config.AcceptFilter = beginsDTLS
	}
	var listener net.Listener
	err := s.config.Host.do(func() (err error) {
		listener, err = config.Listen("udp", net.UDPAddrFromAddrPort(s.config.Address))
		return err
	})
	if err != nil {
		return err
	}
	s.accepts(listener, s.serveDatagrams)
	return nil
}

// beginsSCTP reports whether a packet is the first of an association: its first chunk is an
// INIT (RFC 9260 section 3.3.2).
func beginsSCTP(packet []byte) bool { return len(packet) > 12 && packet[12] == 1 }

// beginsDTLS reports whether a packet is a record with a handshake message (RFC 6347
// section 4.1).
func beginsDTLS(packet []byte) bool { return len(packet) > 0 && packet[0] == 22 }

// datagramPeer holds a client's packets and later its association. Closing it closes
// either.
type datagramPeer struct {
	mu     sync.Mutex
	now    func() error
	closed bool
}

func (p *datagramPeer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.now()
}

func (p *datagramPeer) becomes(now func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now = now; p.closed {
		_ = now()
	}
}

func (s *Server) serveDatagrams(conn net.Conn) {
	open := &datagramPeer{now: conn.Close}
	number, leave := s.joins(open)
	defer leave()
	a, err := s.acceptAssociation(conn)
	if err != nil {
		return
	}
	open.becomes(a.Close)
	s.serveAssociation(a, peer{number: number, client: addressOf(conn.RemoteAddr())})
}

// acceptAssociation performs the handshakes with a client.
func (s *Server) acceptAssociation(conn net.Conn) (*pionAssociation, error) {
	w := newWatch(s.config.Patience, func(error) { _ = conn.Close() })
	defer w.stop()
	if s.config.Transport.Encrypted {
		var err error
		if conn, err = s.secureDatagrams(conn); err != nil {
			return nil, err
		}
	}
	var options []sctp.ServerOption
	for _, o := range sctpOptions(conn, s.config.Transport.Encrypted) {
		options = append(options, o)
	}
	a, err := sctp.ServerWithOptions(options...)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &pionAssociation{Association: a, conn: conn}, nil
}

func (s *Server) secureDatagrams(conn net.Conn) (net.Conn, error) {
	options := []dtls.ServerOption{
		dtls.WithLoggerFactory(silent), dtls.WithMTU(packetSize),
		dtls.WithGetCertificate(func(hello *dtls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.config.CA.Certificate(hello.ServerName)
		}),
	}
	if s.config.KeyLog != nil {
		options = append(options, dtls.WithKeyLogWriter(s.config.KeyLog))
	}
	secure, err := dtls.ServerWithOptions(dtlsnet.PacketConnFromConn(conn), conn.RemoteAddr(), options...)
	if err != nil {
		return nil, err
	}
	if err := secure.HandshakeContext(s.ctx); err != nil {
		return nil, errors.Join(err, secure.Close())
	}
	return secure, nil
}

func (a *pionAssociation) stream(number uint16) (messages, error) {
	stream, err := a.OpenStream(number, sctp.PayloadProtocolIdentifier(ppidMedia))
	if err != nil {
		return nil, err
	}
	return pionStream{stream, a}, nil
}

func (a *pionAssociation) accept() (messages, error) {
	stream, err := a.AcceptStream()
	if err != nil {
		return nil, a.ends(err)
	}
	// pion accepts as many streams as there are numbers, each of which costs a buffer. The
	// kernel keeps to what both sides have agreed on.
	if n := stream.StreamIdentifier(); int(n) >= concurrentStreams {
		return nil, errors.Join(fmt.Errorf("the peer opened stream %d, want 0 to %d", n, concurrentStreams-1), a.Close())
	}
	return pionStream{stream, a}, nil
}

// ends records an error after which the peer is unreachable.
func (a *pionAssociation) ends(err error) error {
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		a.over.Store(true)
	}
	return err
}

func (a *pionAssociation) local() netip.AddrPort { return addressOf(a.conn.LocalAddr()) }

// Close sends an ABORT: a SHUTDOWN would first send queued data that is no longer needed.
func (a *pionAssociation) Close() error {
	if !a.over.Swap(true) {
		a.Abort("closed")
	}
	return ignoreGone(a.Association.Close())
}

// pionStream is one stream of a pionAssociation.
type pionStream struct {
	*sctp.Stream
	association *pionAssociation
}

func (s pionStream) receive(p []byte) (int, uint32, error) {
	n, ppid, err := s.ReadSCTP(p)
	if errors.Is(err, io.ErrShortBuffer) {
		return 0, 0, fmt.Errorf("a message of more than %d octets", len(p))
	}
	return n, uint32(ppid), s.association.ends(err)
}

func (s pionStream) send(p []byte, ppid uint32) error {
	_, err := s.WriteSCTP(p, sctp.PayloadProtocolIdentifier(ppid))
	return s.association.ends(err)
}

// portion returns messageSize, because chunks of all streams interleave (RFC 8260).
func (pionStream) portion() int { return messageSize }

func (s pionStream) interrupt() { _ = s.SetReadDeadline(time.Unix(1, 0)) }
func (s pionStream) resume()    { _ = s.SetReadDeadline(time.Time{}) }
