package protocol

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// client is a connection that a server has accepted.
type client interface {
	// part tells the client that the connection is closing, in its protocol's
	// way.
	part()
	// cut ends the connection at once.
	cut()
}

// partingTime is how long a client has to close its end after it was told that
// the connection is closing.
const partingTime = 50 * time.Millisecond

// clients holds a server's open connections, in the order in which they were
// accepted.
type clients struct {
	mu   sync.Mutex
	open []accepted
}

// accepted is a client with a channel that is closed when the client is gone.
type accepted struct {
	client
	gone chan struct{}
}

func (l *clients) came(c client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, accepted{c, make(chan struct{})})
}

func (l *clients) went(c client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(a accepted) bool { return a.client == c })
	close(l.open[i].gone)
	l.open = slices.Delete(l.open, i, i+1)
}

func (l *clients) all() []accepted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

// disconnect closes all connections and returns when they are gone.
func (l *clients) disconnect() {
	all := l.all()
	for _, c := range all {
		c.part()
	}
	enough, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	for _, c := range all {
		select {
		case <-c.gone:
		case <-enough.Done():
			c.cut()
			<-c.gone
		}
	}
}

// wait returns when all connections, already closed, are gone.
func (l *clients) wait() {
	for _, c := range l.all() {
		<-c.gone
	}
}

// tcpClient is a TCP connection, with or without TLS.
type tcpClient struct{ net.Conn }

func (c tcpClient) transport() (*net.TCPConn, bool) {
	conn := c.Conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	t, ok := conn.(*net.TCPConn)
	return t, ok
}

// part sends TLS's close_notify (RFC 8446 section 6.1) and TCP's FIN. Errors are
// ignored, since the client may already have gone.
func (c tcpClient) part() {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		_ = secured.CloseWrite() // fails, too, if the handshake is not complete
	}
	if t, ok := c.transport(); ok {
		_ = t.CloseWrite()
	}
}

// cut resets the connection. A browser does not look at an idle HTTP/1.1 connection
// until it needs one; without a reset it would answer the close only then.
func (c tcpClient) cut() {
	if t, ok := c.transport(); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// quicClient is a QUIC connection.
type quicClient struct{ *quic.Conn }

// part sends CONNECTION_CLOSE (RFC 9000 section 10.2), which needs no reply.
func (c quicClient) part() {
	_ = c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
}

func (c quicClient) cut() { c.part() }
