// Package get fetches URLs over any of the web protocols, over one connection per origin,
// and reports phases, heads and frames.
//
// Protocols have the names of package protocol. The handshake must yield the requested
// protocol; otherwise the error says what the server offers. For an http URL, SPDY and
// HTTP/2 are spoken in the clear, with prior knowledge (RFC 9113 section 3.3).
package get

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"wiretime/network"
	"wiretime/spdy"
)

// Config says how to fetch. The zero value is usable.
type Config struct {
	// Protocol is one of Names. If it is empty, http URLs are fetched over HTTP/1.1, and https
	// URLs over HTTP/2 if the server offers it, otherwise over HTTP/1.1.
	Protocol string
	// Roots are the trusted certificate authorities; nil means the machine's.
	Roots *x509.CertPool
	// Insecure trusts every certificate.
	Insecure bool
	// Addresses maps "host:port" to an address that replaces DNS resolution.
	Addresses map[string]netip.Addr
	// Window is the receive window of SPDY; the zero value is that of
	// spdy.Transport.
	Window spdy.Window
	// Frames receives the frames of SPDY, as spdy.FrameLog writes them; nil for none.
	Frames io.Writer
	// QLog receives the qlog of the first QUIC connection; nil for none. Values of secret
	// fields are blanked.
	QLog io.Writer
	// Story receives a readable report of each connection, request, response and frame; nil
	// for none. Values of secret fields are blanked.
	Story io.Writer
}

// Names returns the protocols that can be requested.
func Names() []string {
	return []string{http1, https1, spdy.V2.String(), spdy.V3.String(), spdy.V31.String(), h2, h3}
}

const (
	http1  = "http/1.1"
	https1 = "https/1.1"
	h2     = "h2"
	h3     = "h3"
)

// CheckProtocol returns an error if no protocol has that name; the empty name means any.
// The error names the nearest protocol.
func CheckProtocol(name string) error {
	if name == "" || slices.Contains(Names(), name) {
		return nil
	}
	meant := ""
	if nearest := network.Nearest(name, Names()); nearest != "" {
		meant = fmt.Sprintf("did you mean %q? ", nearest)
	}
	return fmt.Errorf("unknown protocol %q: %swant one of %s", name, meant, strings.Join(Names(), ", "))
}

// CheckURL returns an error if a URL cannot be fetched over a protocol.
func CheckURL(protocol string, u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("invalid URL %q: want http://HOST/PATH or https://HOST/PATH", u.Redacted())
	case u.Scheme == "https" && protocol == http1:
		return fmt.Errorf("%s has no TLS, but %s requires it: use --protocol %s, or an http URL", http1, u.Redacted(), https1)
	case u.Scheme == "http" && (protocol == https1 || protocol == h3):
		return fmt.Errorf("%s requires TLS, but %s has none: use an https URL", protocol, u.Redacted())
	}
	return nil
}

// Client fetches, as an http.RoundTripper. It is safe for concurrent use.
type Client struct {
	config Config
	story  *story
	frames *spdy.FrameLog // nil for none

	mu      sync.Mutex
	origins map[string]*origin
	closed  bool
	qlogged bool           // a connection already writes the qlog
	qlog    sync.WaitGroup // its writer
}

// New makes a client. It opens no connections.
func New(c Config) (*Client, error) {
	if err := CheckProtocol(c.Protocol); err != nil {
		return nil, err
	}
	client := &Client{config: c, origins: make(map[string]*origin)}
	var logs []io.Writer
	if c.Frames != nil {
		logs = append(logs, c.Frames)
	}
	if c.Story != nil {
		client.story = newStory(c.Story)
		logs = append(logs, spdyFrames{client.story})
	}
	if len(logs) > 0 {
		client.frames = spdy.NewFrameLog(io.MultiWriter(logs...), "client")
	}
	return client, nil
}

// origin is one scheme, host and port.
type origin struct {
	client  *Client
	scheme  string
	host    string
	address string // host:port

	mu      sync.Mutex
	name    string // the protocol's; empty until it is known
	carrier carrier
}

// carrier fetches over one protocol from one origin.
type carrier interface {
	http.RoundTripper
	// Close closes its connections.
	Close() error
}

func (c *Client) origin(u *url.URL) (*origin, error) {
	if err := CheckURL(c.config.Protocol, u); err != nil {
		return nil, err
	}
	o := &origin{client: c, scheme: u.Scheme, host: u.Hostname(), address: address(u)}
	key := o.scheme + "://" + o.address
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the client is closed")
	}
	if known := c.origins[key]; known != nil {
		return known, nil
	}
	c.origins[key] = o
	return o, nil
}

// RoundTrip sends a request and returns the response, whose body follows. Reading a body
// fails if it ends before its Content-Length.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	x := c.story.begin(r)
	response, err := c.roundTrip(r, x)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	x.answered(response)
	response.Body = &body{ReadCloser: response.Body, exchange: x, left: expected(r, response), most: c.piece()}
	return response, nil
}

func (c *Client) roundTrip(r *http.Request, x *exchange) (*http.Response, error) {
	o, err := c.origin(r.URL)
	if err != nil {
		return nil, err
	}
	ctx := x.context(r.Context())
	carrier, err := o.open(ctx)
	if err == nil {
		x.over(o.name)
		var response *http.Response
		if response, err = carrier.RoundTrip(r.WithContext(ctx)); err == nil {
			return response, nil
		}
	}
	return nil, o.explain(r.Context(), err)
}

// open determines the protocol and returns a carrier for it.
func (o *origin) open(ctx context.Context) (carrier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.carrier != nil {
		return o.carrier, nil
	}
	name, ready := o.client.config.Protocol, (*tls.Conn)(nil)
	switch {
	case name == "" && o.scheme == "http":
		name = http1
	case name == "":
		conn, err := o.secure(ctx, h2, alpn(https1))
		if err != nil {
			return nil, err
		}
		name, ready = https1, conn
		if conn.ConnectionState().NegotiatedProtocol == h2 {
			name = h2
		}
	}
	o.name = name
	if v, ok := spdy.ParseVersion(name); ok {
		o.carrier = o.overSPDY(v)
	} else if name == h3 {
		o.carrier = o.overHTTP3()
	} else {
		o.carrier = o.overHTTP(ready)
	}
	return o.carrier, nil
}

// Close closes all connections and waits until their logs are written.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	var errs []error
	for _, o := range c.origins {
		o.mu.Lock()
		if o.carrier != nil {
			errs = append(errs, o.carrier.Close())
		}
		o.mu.Unlock()
	}
	c.mu.Unlock()
	c.qlog.Wait()
	return errors.Join(append(errs, c.frames.Err())...)
}
