// Package critical finds the critical path of a page load: the chain of requests
// that onLoad waited for, and what each nanosecond was spent on.
//
// # The chain
//
// [Find] goes back from onLoad, starting with the resource that ended last before
// it. From there on:
//
//   - A resource's phases are HAR's, laid end to end so that the last ends with the
//     entry. The time left over at its start is blocked.
//   - A blocked HTTP/1.1 request depends on the previous request of its connection. Any
//     other blocked request depends on the request that opened its connection or, if it
//     was held back for a millisecond or more, on one that ended within the last
//     millisecond.
//   - A request that was not blocked depends on its cause: the redirect that led to it,
//     else the resource that HAR names as its initiator, else the page's document. A
//     cause that was still arriving counts only up to that moment. If it had ended
//     earlier, and a script or style sheet has ended since, the last of these counts:
//     the parser waited for it.
//
// The time between one resource and the next is the client's.
//
// # The kinds
//
// DNS, connect and TLS are [SetUp], and so is the part of a blocked phase in which a
// name was being resolved or a connection opened. While octets of these are missing
// the time is [Loss]: from when they would have arrived on an empty path until they
// did arrive.
//
// From there on the kind follows from packets. A link's least delay is the shortest time
// that any packet took over it. The link serves packets one after the other: each from
// when it has been sent and the previous one has been served, until the least delay
// before its arrival. So a receiver sees at any moment what the link did one least delay
// earlier. An exchange takes that delay twice, up and down ([Delay]). The rest of its
// time is explained by what the link did about the octets that the exchange needs next:
//
//   - They have arrived, but earlier octets of the TCP connection have not: [HeadOfLine].
//   - Their first packet was lost: [Loss], or [HeadOfLine] if they are not the exchange's
//     own but share a TLS record with octets that are.
//   - They had not been sent: [Bandwidth] while the link served other packets; [Loss]
//     while the sender's octets on that connection, or on the QUIC handshake it needs,
//     were missing; [Window] while it had octets in flight whose arrival it could not
//     know yet; otherwise [Server], or [Client] for a request.
//   - They had been sent: [Queueing] while the link served packets of others,
//     [Bandwidth] while it served the exchange's own.
//
// The time after the last octet, and resources from a cache, are the [Client]'s.
//
// docs/explain.md says the same at more length, with a worked example.
//
// # Whose octets
//
// Captures hold the keys of TLS 1.3 and 1.2, so records and QUIC packets are decrypted, including
// those that were lost, and parsed as HTTP/1.1, SPDY, HTTP/2 or HTTP/3 as far as needed
// to assign octets to requests. Where that fails the kind follows from the phase alone,
// and [Step].Seen is false.
package critical
