// Package protocol holds one row per web protocol: how a page is served over
// it, on which port and with what in the handshake.
//
// Every row serves the same bytes through the same handler, so the server is
// never the difference between two protocols. To add a protocol, add a row to
// All and the function that serves it.
//
// TCP rows run on the kernel's TCP, whose congestion control and initial window
// a study chooses. HTTP/3 runs on quic-go, which brings its own in user space:
// CUBIC with an initial window of 32 packets and pacing; a study cannot change
// them.
package protocol

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"wiretime/network"
)

// Protocol is one row of the table.
type Protocol struct {
	// Name is what studies call it.
	Name string
	// Title is for people.
	Title string
	// Scheme is that of its URLs, "http" or "https".
	Scheme string
	// Port is the server's, the scheme's default.
	Port int
	// ALPN is the protocol's name in the TLS handshake (RFC 7301); empty
	// without TLS.
	ALPN string
	// Transport is "tcp" or "udp".
	Transport string
	// Spoken is how a browser names the protocol of a response (the CDP's
	// Network.Response.protocol).
	Spoken string

	serve func(context.Context, *Server) error
}

// All returns the table, in the order in which results are shown.
func All() []Protocol {
	return []Protocol{
		{Name: "http/1.1", Title: "HTTP/1.1 in the clear", Scheme: "http", Port: 80, Transport: "tcp", Spoken: "http/1.1", serve: serveTCP},
		{Name: "https/1.1", Title: "HTTP/1.1 over TLS 1.3", Scheme: "https", Port: 443, ALPN: "http/1.1", Transport: "tcp", Spoken: "http/1.1", serve: serveTCP},
		{Name: "h2", Title: "HTTP/2 over TLS 1.3", Scheme: "https", Port: 443, ALPN: "h2", Transport: "tcp", Spoken: "h2", serve: serveTCP},
		{Name: "h3", Title: "HTTP/3 over QUIC", Scheme: "https", Port: 443, ALPN: "h3", Transport: "udp", Spoken: "h3", serve: serveQUIC},
	}
}

// Names returns the names of all rows.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Lookup returns the row called name. The error names the nearest row there is.
func Lookup(name string) (Protocol, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Protocol{}, fmt.Errorf("unknown protocol %q: did you mean %q? There are %s",
		name, network.Nearest(name, Names()), strings.Join(Names(), ", "))
}

// URL is the address of a page over this protocol. Sites store every URL as
// https; the protocol decides.
func (p Protocol) URL(page string) (string, error) {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("make the address of page %q over %s: it is not an absolute URL", page, p.Name)
	}
	u.Scheme = p.Scheme
	return u.String(), nil
}
