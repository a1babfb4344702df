// Package protocol holds one row per web protocol: how it serves a page, on
// which port and with which handshake.
//
// Every row serves the same bytes through the same handler, so the server is
// never the difference between two protocols. (HTTP/3 adds one field to its
// responses, Alt-Svc, without which browsers do not use all of it.) To add a
// protocol, add a row to All and the function that serves it.
//
// Differences that remain come with a protocol's own stack, and a study cannot
// change them (as read in the source of quic-go 0.65 and its qpack 0.6):
//
//   - Congestion control. TCP rows run on the kernel's TCP, whose congestion
//     control and initial window a study chooses. HTTP/3 runs on quic-go, which
//     brings its own in user space: NewReno with a back-off to 0.7 instead of
//     0.5 of the window, HyStart, an initial window of 32 packets of 1280 octets
//     (40,960; Linux' TCP begins with 10 segments), and pacing at 2 windows per
//     round trip in slow start and 1.25 after it, in bursts of at most 10
//     packets. Its CUBIC is there but never used.
//   - The order of responses. quic-go obeys the client's priorities (RFC 9218);
//     net/http's HTTP/2 of Go 1.26 gives every response under way an equal turn,
//     whatever the client asks, and so does golang.org/x/net's 0.62 with that Go.
//     Of two responses of 1 MB over loopback, one urgent (u=0) and one not (u=7),
//     the urgent one was complete over h3 when 0 to 46 % of the other had come
//     (12 runs; 91 to 100 % without priorities, 6 runs), over h2 when all of the
//     other but a frame had (12 runs). On a page with few critical resources
//     among many others a part of the difference between h2 and h3 may be this.
//   - Header compression. quic-go has no dynamic table in QPACK: its SETTINGS
//     leave QPACK_MAX_TABLE_CAPACITY at 0 (RFC 9204 section 5), so a client may
//     not use one in requests, and it uses none in responses. What the static
//     table lacks is sent as a literal, Huffman coded, every time. HPACK in the h2
//     row does have its table: of Chromium's 197 requests for one page each
//     costs about 470 octets over h3 and 100 over h2.
//
// The SPDY rows run on package spdy, over TLS 1.3 like the others, so that the
// handshake is not the difference; in SPDY's time it was TLS 1.2, a round trip
// more ([ServerConfig].TLS12), and NPN in place of ALPN (see package spdy). Their server obeys the
// client's priorities, keeps the drafts' windows for what clients send, and has
// none of the library's timeouts: a load's limit is the study's.
package protocol

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"wiretime/network"
	"wiretime/spdy"
)

// Protocol is one row of the table.
type Protocol struct {
	// Name is the protocol's name in studies.
	Name string
	// Title is the name for people.
	Title string
	// Scheme is the scheme of its URLs, "http" or "https".
	Scheme string
	// Port is the server's port: the scheme's default.
	Port int
	// ALPN is the protocol's name in the TLS handshake (RFC 7301); empty
	// without TLS.
	ALPN string
	// Transport is "tcp" or "udp".
	Transport string
	// Spoken is the browser's name for the protocol of a response (the CDP's
	// Network.Response.protocol).
	Spoken string
	// NoBrowser says why no browser can load pages over the protocol; it is
	// empty if browsers can.
	NoBrowser string

	serve func(context.Context, *Server, Protocol) error
}

// All returns the table in the order in which results are shown.
func All() []Protocol {
	return []Protocol{
		{Name: "http/1.1", Title: "HTTP/1.1 in the clear", Scheme: "http", Port: 80, Transport: "tcp", Spoken: "http/1.1", serve: serveTCP},
		{Name: "https/1.1", Title: "HTTP/1.1 over TLS 1.3", Scheme: "https", Port: 443, ALPN: "http/1.1", Transport: "tcp", Spoken: "http/1.1", serve: serveTCP},
		spdyRow(spdy.V2, "SPDY/2"),
		spdyRow(spdy.V3, "SPDY/3"),
		spdyRow(spdy.V31, "SPDY/3.1"),
		{Name: "h2", Title: "HTTP/2 over TLS 1.3", Scheme: "https", Port: 443, ALPN: "h2", Transport: "tcp", Spoken: "h2", serve: serveTCP},
		{Name: "h3", Title: "HTTP/3 over QUIC", Scheme: "https", Port: 443, ALPN: "h3", Transport: "udp", Spoken: "h3", serve: serveQUIC},
	}
}

// spdyRow returns the row of a SPDY version.
func spdyRow(v spdy.Version, title string) Protocol {
	return Protocol{
		Name: v.String(), Title: title + " over TLS 1.3", Scheme: "https", Port: 443, ALPN: v.String(), Transport: "tcp", Spoken: v.String(),
		NoBrowser: "Chromium dropped SPDY in version 51 (2016), Firefox in version 50; use the loader builtin, or fetch for uploads",
		serve:     serveTCP,
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

// Lookup returns the row called name. The error lists the rows and suggests the
// nearest one, if any is near.
func Lookup(name string) (Protocol, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	meant := ""
	if nearest := network.Nearest(name, Names()); nearest != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return Protocol{}, fmt.Errorf("unknown protocol %q%s; write one of %s", name, meant, strings.Join(Names(), ", "))
}

// URL returns the address of a page over this protocol. Sites store every URL
// as https; the protocol decides the scheme.
func (p Protocol) URL(page string) (string, error) {
	u, err := url.Parse(page)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("build the address of page %q over %s: not an absolute URL", page, p.Name)
	}
	u.Scheme = p.Scheme
	return u.String(), nil
}
