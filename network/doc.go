// Package network emulates the path between a client and a server: packets and
// time go in, due times and fates come out.
//
// The package is pure. It reads no clock, starts no goroutine and sends no
// packet; whoever owns the packets calls [Emulation.Arrive] for each of them and
// forwards it when it is due. The same calls with the same seed give the same
// answers, so a rule of the link is tested to the nanosecond without sleeping.
//
// # Units
//
// A time is an int64 in nanoseconds since the path's epoch, which is its first
// packet. A delay is one-way and belongs to one direction. A rate is in bit/s at
// the IP layer (no Ethernet header is charged), k = 1000. A byte is an octet.
//
// # The way of a packet
//
//  1. Handover: a packet on an access link that is not the active one is dropped,
//     unless all of them carry together ([Path.Together]). What that link took in
//     before the handover is still delivered.
//  2. Loss: independent, or by the state of a Gilbert-Elliott chain.
//  3. Queue: drop-tail. What counts is every byte and packet not yet completely
//     serialised at the arrival, the packet in service included; an arrival that
//     would pass the limit is dropped.
//  4. Serialiser: first in, first out, at the link's rate or along its trace.
//     An outage that drops loses packets here. Queue and serialiser are each
//     direction's own, or one for both if the access link is shared
//     ([Access.Shared]).
//  5. Delay: the direction's own, with its jitter.
//  6. Far: the delay to and from a server that is farther away than others
//     ([Path.Far]). It is added after the access link in both directions. Packets from
//     the server meet it before the link in reality; here they find the link's queue
//     as it is now, not as it will be then. Packets of one server stay in order;
//     those of different servers may overtake each other.
//
// # Arithmetic
//
// The serialiser computes in integers. A packet of s bytes is s*8e9 bit*ns of
// work; at a rate of R bit/s it takes s*8e9/R ns, and the remainder of that
// division is carried to the packet behind it. So N packets of s bytes sent
// back to back end at N*s*8e9/R ns exactly, rounded up once to a whole
// nanosecond for the due time, never N times. Rate changes and outages lie on
// whole nanoseconds and are known in advance: a packet that meets one is walked
// over it, with the work done before it subtracted exactly.
//
// # Rate changes and outages
//
// An outage stops the serialiser. An outage that holds lets the queue fill and
// a packet cut in two goes on afterwards where it stopped. An outage that drops
// ([Event.OutageDrops]) loses every packet that arrives during it and every
// packet not completely serialised when it begins. Packets past the serialiser
// are on the wire: no event touches them.
//
// # Traces
//
// A trace is used as Mahimahi's mm-link uses it: an opportunity carries up to
// [OpportunityBytes]; several small packets share one, a large packet takes
// several; a packet uses only opportunities strictly after its arrival; what an
// opportunity could have carried while nothing waited is wasted. The trace
// repeats at its end, its last timestamp being the period. Opportunities during
// an outage are wasted.
//
// # Randomness
//
// Each direction of each access link has its own two generators (PCG of
// math/rand/v2, seeded by the path's seed): one for losses, one for jitter.
// Every arriving packet draws one loss and one jitter, whatever its fate and
// whatever the link's settings, so the n-th packet of a link meets the same luck
// in every configuration under one seed.
package network
