// Package critical finds the critical path of a page load: the chain of requests
// that onLoad waited for, and what each nanosecond of it was spent on.
//
// # The chain
//
// [Find] goes back from onLoad. The resource that ended last before it decided it.
// From there on:
//
//   - A resource's phases are HAR's, laid end to end so that the last ends with the
//     entry; what they leave of its time, at its begin, is blocked.
//   - A request of HTTP/1.1 that was blocked depends on the one before it on its
//     connection. Any other depends on the request that opened its connection, or,
//     if it was held back for a millisecond or more, on one that ended within the last.
//   - What was not blocked depends on its cause: the redirect that led to it, else the
//     resource that HAR names as its initiator, else the page's document. A cause that
//     was still arriving counts up to that moment only. If it had ended before, and a
//     script or style sheet ended since, the last of those counts: the parser waited
//     for it.
//
// Whatever lies between one resource and the next is the client's.
//
// # The kinds
//
// DNS, connect and TLS are [SetUp], and so is the part of a blocked phase in which a
// look-up or a connection was being opened. While octets of it are missed they are
// [Loss]: from when they would have arrived, had the path been empty, until they did.
//
// From there on the kind follows from packets. A link's least delay is the least time
// that any packet took over it. The link serves packets one after the other: each from
// when it has been sent and the one before it has been served, until the least delay
// before its arrival. So what a receiver sees at a moment is what the link did the least
// delay before, and an exchange is twice that delay, up and down ([Delay]), and
// otherwise what the link did about the octets that come next for it:
//
//   - They are there, but others before them on the TCP connection are not: [HeadOfLine].
//   - Their first packet was lost: [Loss]; [HeadOfLine] if they are not the exchange's
//     own but stand in one TLS record with such.
//   - They had not been sent: [Bandwidth] while the link served other packets; [Loss]
//     while the sender's octets on that connection, or the QUIC handshake it needs, were
//     missed; [Window] while it had octets under way of which it could not yet know that
//     they had arrived; else [Server], or for a request [Client].
//   - They had been sent: [Queueing] while the link served packets of others,
//     [Bandwidth] while it served the exchange's.
//
// What comes after the last octet, and resources from a cache, are the [Client]'s.
//
// docs/explain.md says the same at more length, with a worked example.
//
// # Whose octets
//
// Captures hold the keys of TLS 1.3, so records and QUIC packets are opened, also those
// that were lost, and read as HTTP/1.1, SPDY, HTTP/2 or HTTP/3 as far as it takes to give
// octets to requests. Where that fails the kind follows from the phase alone, and
// [Step].Seen is false.
package critical
