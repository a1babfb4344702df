package get

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"wiretime/terminal"
)

// story reports events line by line for people: "*" for connections and times, ">" and "<"
// for heads sent and received, "}" and "{" for frames. A nil story reports nothing.
type story struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
}

func newStory(w io.Writer) *story { return &story{w: w, began: time.Now()} }

func (s *story) tell(lines ...string) {
	if s == nil {
		return
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(terminal.Line(line) + "\n")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A failure to report must not fail the fetch.
	_, _ = io.WriteString(s.w, text.String())
}

func (s *story) frame(sent bool, name string, t telling) {
	if s == nil {
		return
	}
	mark, verb := "{", "received"
	if sent {
		mark, verb = "}", "sent    "
	}
	s.tell(fmt.Sprintf("%s %9s  %s %-13s %s", mark, milliseconds(time.Since(s.began)), verb, name, strings.Join(t, ", ")))
}

// secrets are the fields whose values are not shown.
var secrets = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie"}

// blank returns a field's value as it is shown.
func blank(name, value string) string {
	if slices.Contains(secrets, http.CanonicalHeaderKey(name)) {
		return "(not shown)"
	}
	return value
}

// exchange is a request and its response, with the times between them.
type exchange struct {
	story   *story
	request *http.Request

	mu                sync.Mutex
	name              string // the protocol's
	began             time.Time
	dns, connect, tls span
	got, sent, first  time.Time // a connection; the request written; the response's first octet
	reused            bool
	told              bool
}

// span is the beginning and end of a phase.
type span struct{ from, to time.Time }

func (s span) String() string { return milliseconds(s.to.Sub(s.from)) }

func (s *story) begin(r *http.Request) *exchange {
	if s == nil {
		return nil
	}
	return &exchange{story: s, request: r, began: time.Now()}
}

func (x *exchange) over(name string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.name = name
}

// context makes net/http report times to the exchange.
func (x *exchange) context(ctx context.Context) context.Context {
	if x == nil {
		return ctx
	}
	at := func(t *time.Time) {
		x.mu.Lock()
		defer x.mu.Unlock()
		*t = time.Now()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { at(&x.dns.from) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			at(&x.dns.to)
			if i.Err == nil {
				x.story.tell(fmt.Sprintf("* resolved %s in %s: %s", x.request.URL.Hostname(), x.dns, join(i.Addrs)))
			}
		},
		ConnectStart: func(_, address string) { at(&x.connect.from) },
		ConnectDone: func(network, address string, err error) {
			at(&x.connect.to)
			if err != nil {
				x.story.tell(fmt.Sprintf("* failed to connect to %s: %v", address, err))
			} else if network != "udp" {
				x.story.tell(fmt.Sprintf("* connected to %s in %s", address, x.connect))
			} else {
				x.story.tell(fmt.Sprintf("* connected to %s/udp", address))
			}
		},
		TLSHandshakeStart: func() { at(&x.tls.from) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			at(&x.tls.to)
			if err == nil {
				x.story.tell(fmt.Sprintf("* %s, %s, in %s; by ALPN: %s", tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), x.tls, chosen(s)),
					fmt.Sprintf("* certificate for %s, issued by %s", named(s.PeerCertificates[0]), s.PeerCertificates[0].Issuer))
			}
		},
		GotConn:              x.connected,
		WroteRequest:         func(httptrace.WroteRequestInfo) { at(&x.sent) },
		GotFirstResponseByte: func() { at(&x.first) },
	})
}

func join(addresses []net.IPAddr) string {
	var words []string
	for _, a := range addresses {
		words = append(words, a.String())
	}
	return strings.Join(words, ", ")
}

func chosen(s tls.ConnectionState) string {
	if s.NegotiatedProtocol == "" {
		return "nothing"
	}
	return s.NegotiatedProtocol
}

// named returns the names that a certificate is for.
func named(c *x509.Certificate) string {
	if len(c.DNSNames) == 0 {
		return c.Subject.String()
	}
	return strings.Join(c.DNSNames, ", ")
}

// connected reports the outgoing request.
func (x *exchange) connected(i httptrace.GotConnInfo) {
	x.mu.Lock()
	x.got, x.reused = time.Now(), i.Reused
	line := fmt.Sprintf("> %s %s %s", x.request.Method, x.request.URL.RequestURI(), x.spoken())
	x.mu.Unlock()
	host := x.request.Host
	if host == "" {
		host = x.request.URL.Host
	}
	x.story.tell(slices.Concat([]string{line, "> Host: " + host}, fields(">", x.request.Header))...)
}

// spoken returns the protocol as heads name it.
func (x *exchange) spoken() string {
	switch x.name {
	case http1, https1:
		return "HTTP/1.1"
	case h2:
		return "HTTP/2"
	case h3:
		return "HTTP/3"
	}
	return strings.ToUpper(x.name)
}

// fields returns the lines of a head.
func fields(mark string, h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			lines = append(lines, fmt.Sprintf("%s %s: %s", mark, name, blank(name, value)))
		}
	}
	return lines
}

// answered reports the response.
func (x *exchange) answered(w *http.Response) {
	if x == nil {
		return
	}
	x.mu.Lock()
	if x.first.IsZero() {
		x.first = time.Now()
	}
	line := fmt.Sprintf("< %s %s", x.spoken(), w.Status)
	x.mu.Unlock()
	x.story.tell(slices.Concat([]string{line}, fields("<", w.Header))...)
}

// ended reports the phases, once.
func (x *exchange) ended(octets int64) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.told {
		return
	}
	x.told = true
	end := time.Now()
	var phases []string
	phase := func(name string, from, to time.Time) {
		phases = append(phases, name+" "+milliseconds(max(to.Sub(from), 0)))
	}
	ready := x.got
	switch {
	case x.reused || x.connect.to.IsZero():
		phases, ready = append(phases, "connection reused"), x.began
	default:
		if !x.dns.to.IsZero() {
			phase("DNS", x.dns.from, x.dns.to)
		}
		if x.name == h3 {
			phase("connect and TLS", x.connect.from, x.connect.to)
			break
		}
		phase("connect", x.connect.from, x.connect.to)
		if !x.tls.to.IsZero() {
			phase("TLS", x.tls.from, x.tls.to)
		}
	}
	if x.sent.IsZero() || x.sent.After(x.first) {
		x.sent = x.first // the response arrived before the hook was called
	}
	phase("request sent", ready, x.sent)
	phase("first byte", x.sent, x.first)
	phase("receive", x.first, end)
	phase("total", x.began, end)
	x.story.tell(fmt.Sprintf("* %s: %d octets; %s", x.request.URL.Redacted(), octets, strings.Join(phases, ", ")))
}
