// Package transport carries media from a server to its viewers over TCP, MPTCP,
// SCTP or QUIC: one row of the table per transport, one way to use them all. A
// viewer is a Client; it opens a Session, and requests pieces of the server's
// storage in it. To add a transport, add a row to All.
//
//	row, err := transport.Lookup("quic")
//	server, err := transport.Serve(ctx, transport.ServerConfig{Transport: row, Address: at, Storage: videos, CA: ca})
//	client, err := transport.NewClient(transport.ClientConfig{Transport: row, Server: at, Name: "media.test", Verify: ca.Verify})
//	session, err := client.Connect(ctx)
//	response, err := session.Request(ctx, transport.Request{ID: storage.ID{Item: "clip", Resolution: storage.HD, Segment: 7}})
//	_, err = io.Copy(player, response)
//
// # What is sent
//
// The protocol between viewer and server, which TLS calls wiretime-media/1, is the
// same over all transports. Numbers are unsigned, most significant octet first.
//
//	request                              response
//	 1  version, 1                        1  version, 1
//	 1  resolution: 0 plain, 1 HD,        2  status: 200, 400, 404, 416 or 500,
//	    2 FHD, 3 QHD                         as in HTTP
//	 4  segment, from 0                   4  how many segments there are
//	 8  offset of the first octet         8  size of the whole piece
//	 8  how many octets, 0 for all        8  how many octets of it follow
//	 1  length of the item's name         ...
//	1-255  the item's name
//
// A server that cannot read the rest of a piece aborts the response in the transport's own
// way.
//
//   - TCP and MPTCP carry one request after the other. To break off, the server
//     closes the connection. A session may have several connections
//     (ClientConfig.Parallel), as its requests cannot have streams.
//   - QUIC has a stream for each request. The viewer ends its side with the
//     request, the server its side with the response, or resets it with code 1.
//   - SCTP has 16 streams, four for each resolution. A request is a message on one
//     of them; the response are messages of no more than 65,536 octets on the same
//     one, and the next request may follow when it has come. Payload protocol
//     identifiers tell what is no media: 0x57544d32 asks the server to send no more,
//     which it confirms with the same; by 0x57544d33 it breaks off.
//
// # What differs between transports
//
// Comparisons must take these differences into account (from the source of quic-go 0.65,
// pion/sctp 1.11 and Linux 7.3):
//
//   - Windows. QUIC's grow to 6 MB for a stream and 15 MB for a connection, SCTP's
//     are 6 MB, those of TCP and MPTCP as the host's tcp_rmem says.
//   - Congestion control. TCP and MPTCP have what the host's route says. SCTP has
//     that of RFC 9260, the kernel's as pion's, and begins with 4,380 octets; pion
//     adds loss detection by time (RACK) and tail loss probes. QUIC has quic-go's
//     NewReno and begins with 40,960 octets.
//   - Segmentation. Kernels cut what TCP and SCTP send into packets; QUIC and SCTP
//     over UDP come from this program packet by packet. SCTP over UDP does not look
//     for the path's MTU: its packets fill 1500 octets.
//   - Retransmission. SCTP's timers wait a second at least, the kernel's as pion's,
//     TCP's 200 ms, QUIC's a probe timeout of about a round trip.
package transport
