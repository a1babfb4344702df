// Package spdy implements SPDY/2, SPDY/3 and SPDY/3.1, the predecessors of
// HTTP/2: framing, header compression, sessions with flow control, and HTTP on
// top, for servers and clients.
//
// To serve HTTP, give an http.Handler to a Server; to fetch, use a Transport:
//
//	server := &http.Server{Handler: handler, TLSConfig: config}
//	err := (&spdy.Server{Handler: handler}).Configure(server) // then ServeTLS
//
//	client := &http.Client{Transport: &spdy.Transport{}}
//	response, err := client.Get("https://localhost:8443/")
//
// Session and Stream are for other uses of multiplexed streams, Framer for tools
// that inspect frames.
//
// # Drafts
//
// The rules are those of the drafts that the Chromium project published: "SPDY
// Protocol", draft 2, draft 3 and draft 3.1 (Belshe and Peon). Errors name the
// draft and the section of the broken rule. Where implementations agree on
// something other than the draft, this package accepts both and sends what the
// draft says:
//
//   - FIN is sent in a DATA frame after a trailer, never in HEADERS, where some
//     peers ignore it.
//   - Chromium counted the priorities of version 2 downwards; draft 2 counts
//     upwards.
//   - A pushed stream counts as unidirectional, even if its flag is missing.
//   - 100 Continue, which the drafts do not mention, is a SYN_REPLY; the final reply is
//     then sent as HEADERS, since a second SYN_REPLY would be an error. A second
//     SYN_REPLY is accepted after one of 100.
//
// # Choosing the protocol
//
// Servers and clients of the time negotiated SPDY by NPN, a TLS extension that
// crypto/tls does not have. This package uses its successor, ALPN. With NPN the server
// lists its protocols, and the client answers in a separate encrypted message,
// NextProtocol, between ChangeCipherSpec and Finished; with ALPN the client lists, and
// the server chooses in its ServerHello. Both take the same number of round trips:
// NextProtocol is part of the client's last flight. A connection differs by that
// message (some 50 octets from the client) and by the position of the lists. NPN exists
// only in TLS 1.2 and earlier, whose handshake takes one round trip more than that of
// TLS 1.3: to measure SPDY as it was, set MaxVersion to tls.VersionTLS12.
//
// # Hostile peers
//
// A peer can end its own session, but no other. Header blocks have a limit of size
// and of compression ratio; fields are counted; control frames have a maximum
// length. Frames that cost this side something without advancing the peer's work
// are counted against a budget of some thousands, refilled by 200 a second
// (SETTINGS, PING, streams opened and reset, empty DATA, frames of streams that do
// not exist). A session runs at most twice Config.MaxStreams handlers. Timeouts
// end whatever waits for a peer, and whatever moves less than 1,024 octets in a
// minute inside a frame or a response. A handler that reads a request's body sets a
// deadline itself, or http.Server's ReadTimeout does. Memory is bounded by the windows times the
// streams, in version 2 by 16 MiB. Fields that hold secrets are not compressed,
// unless Compression says otherwise.
//
// # Responses before the request's end
//
// A handler may answer without reading the request's body, as a server of static
// files does. HTTP/2 servers then send RST_STREAM with NO_ERROR, which SPDY does not
// have: clients that are still sending take any RST_STREAM for a failure, although
// the response is complete. So a Server reads on and discards up to 16 MiB, for as
// long as ReadTimeout, before it resets the stream.
//
// # Determinism
//
// What is sent depends only on what is requested and on what arrives, and when:
// there is no randomness, and no map order shows on the wire.
package spdy
