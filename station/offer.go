package station

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/loader/chromium"
	"wiretime/protocol"
	"wiretime/workload"
	"wiretime/workload/pageload"
)

// offer is what a load asks of a real site.
type offer struct {
	page     *url.URL
	protocol protocol.Protocol
	loader   string
}

// judge returns the error of a load: that of the loader, or an *workload.UnsupportedError if the site does not offer the
// protocol. What the load left decides. Only if it left no answer is the server asked what it offers: by a TLS handshake
// or two, and about HTTP/3 by one request over TCP.
func (s *Live) judge(ctx context.Context, o offer, record *pageload.Record) error {
	if only, ok := errors.AsType[*chromium.TLSOnlyError](record.LoadError); ok {
		return &workload.UnsupportedError{Why: only.Error()}
	}
	document := documentOf(record.HAR, o.page)
	if document != nil {
		if why := o.refusedBy(document); why != "" {
			return &workload.UnsupportedError{Why: why}
		}
		return record.LoadError
	}
	if record.LoadError == nil || ctx.Err() != nil {
		return record.LoadError
	}
	if why := s.ask(ctx, o); why != "" {
		return &workload.UnsupportedError{Why: why}
	}
	return record.LoadError
}

// documentOf returns the answer to the request for the page itself, or nil if it was not answered.
func documentOf(har *capture.HAR, page *url.URL) *capture.Entry {
	if har == nil {
		return nil
	}
	for i := range har.Log.Entries {
		e := &har.Log.Entries[i]
		if evidence.Address(e.Request.URL) == evidence.Address(page.String()) && e.Response.Status > 0 {
			return e
		}
	}
	return nil
}

// refusedBy returns why an answer shows that the site does not offer the protocol, "" if it does not show that.
func (o offer) refusedBy(document *capture.Entry) string {
	if target := document.Response.RedirectURL; o.protocol.Scheme == "http" && strings.HasPrefix(target, "https:") {
		return fmt.Sprintf("%s answers in the clear only with a redirect to %s", o.page.Host, target)
	}
	used := document.Protocol
	if used == "" || used == o.protocol.Spoken {
		return ""
	}
	if o.protocol.Name == "h3" {
		if altSvc, offered := offersHTTP3(document.Response.Headers); offered {
			return "" // a QUIC handshake has failed although HTTP/3 is offered: rule 1 says what was used
		} else if altSvc == "" {
			return fmt.Sprintf("%s answered over %s, without an Alt-Svc field, and no QUIC handshake succeeded", o.page.Host, used)
		} else {
			return fmt.Sprintf("%s answered over %s, with an Alt-Svc field without h3 (%.100q), and no QUIC handshake succeeded", o.page.Host, used, altSvc)
		}
	}
	return fmt.Sprintf("%s chose %s when the loader %s offered %s", o.page.Host, used, o.loader, o.protocol.ALPN)
}

// offersHTTP3 returns the Alt-Svc field of a response (RFC 7838), and whether it has HTTP/3.
func offersHTTP3(fields []capture.Pair) (altSvc string, offered bool) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Alt-Svc") {
			altSvc = strings.TrimPrefix(altSvc+", "+f.Value, ", ")
		}
	}
	for alternative := range strings.SplitSeq(altSvc, ",") {
		if strings.HasPrefix(strings.TrimSpace(alternative), "h3=") {
			return altSvc, true
		}
	}
	return altSvc, false
}

// askLimit is how long a server may take to say what it offers.
const askLimit = 20 * time.Second

// ask asks the server of a page that could not be loaded whether it offers the protocol. It returns why it does not, or ""
// if it does or if the server cannot be asked either.
func (s *Live) ask(ctx context.Context, o offer) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	switch {
	case o.protocol.Transport == "udp":
		return s.askHTTP3(ctx, o)
	case o.protocol.ALPN == "":
		return ""
	}
	state, err := s.handshake(ctx, o.page, o.protocol.ALPN)
	if err != nil && !refuses(err) {
		return ""
	}
	switch {
	case err == nil && state.NegotiatedProtocol == o.protocol.ALPN && state.Version < tls.VersionTLS13 && o.loader == pageload.Builtin:
		return fmt.Sprintf("%s has no TLS newer than %s, and the loader %s speaks TLS 1.3 only; use a browser", o.page.Host, tls.VersionName(state.Version), o.loader)
	case err == nil && state.NegotiatedProtocol == o.protocol.ALPN:
		return ""
	case err == nil:
		return fmt.Sprintf("%s does not choose %s by ALPN", o.page.Host, o.protocol.ALPN)
	}
	instead := "neither h2 nor http/1.1 either"
	if state, other := s.handshake(ctx, o.page, "h2", "http/1.1"); other == nil && state.NegotiatedProtocol != "" {
		instead = "chooses " + state.NegotiatedProtocol + " instead"
	}
	return fmt.Sprintf("%s refuses %s by ALPN (%v), and %s", o.page.Host, o.protocol.ALPN, err, instead)
}

// refuses reports whether an error is a server's alert in answer to a handshake, and no failure of the network.
func refuses(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "remote error"
}

// handshake makes a TLS handshake that offers protocols. It asks what a server speaks, and believes whoever answers.
func (s *Live) handshake(ctx context.Context, page *url.URL, alpn ...string) (tls.ConnectionState, error) {
	connection, err := s.dial(ctx, page)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer connection.Close()
	client := tls.Client(connection, &tls.Config{ServerName: page.Hostname(), NextProtos: alpn, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	err = client.HandshakeContext(ctx)
	return client.ConnectionState(), err
}

// dial connects to a page's server.
func (s *Live) dial(ctx context.Context, page *url.URL) (net.Conn, error) {
	port := page.Port()
	if port == "" {
		port = "443"
	}
	host := page.Hostname()
	if address, known := s.config.Addresses[host]; known {
		host = address.String()
	}
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
}

// askHTTP3 requests the page over TCP, and returns why the answer does not offer HTTP/3, "" if it does or if there is none.
func (s *Live) askHTTP3(ctx context.Context, o offer) string {
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx, o.page) },
		TLSClientConfig: &tls.Config{ServerName: o.page.Hostname(), MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, o.page.String(), http.NoBody)
	if err != nil {
		return ""
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var fields []capture.Pair
	for _, value := range response.Header.Values("Alt-Svc") {
		fields = append(fields, capture.Pair{Name: "Alt-Svc", Value: value})
	}
	if altSvc, offered := offersHTTP3(fields); offered {
		return ""
	} else if altSvc == "" {
		return fmt.Sprintf("no QUIC handshake with %s succeeded, and its answer over TCP has no Alt-Svc field", o.page.Host)
	} else {
		return fmt.Sprintf("no QUIC handshake with %s succeeded, and its answer over TCP has an Alt-Svc field without h3: %.100q", o.page.Host, altSvc)
	}
}
