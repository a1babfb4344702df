// Package difference says why one load of a page takes longer than another, and why the loads of one cell take longer than
// those of another: it attributes the difference of onLoad to causes.
//
// The time of each load's critical path (package critical) is divided among the causes. The difference at a cause is what
// the path of B spends on it less what the path of A does. Both paths are laid end to end from navigationStart to onLoad, so
// the differences add up to that of onLoad exactly, in ns. Sides with several loads are compared by their means, since means
// add up and medians do not.
//
//   - [SetUp], [Server], [Windows], [LossRecovery], [HeadOfLine] and [Client] are the path's kinds of these names, and
//     [Distance] is its path delay.
//   - [Bandwidth] is the time in which the link served packets of the page that are not less urgent than what the path waited
//     for, whether that had been sent (and stood in a queue) or not.
//   - [Bytes] is taken out of [Bandwidth]: the octets that one path waited for and the other did not, at the mean of
//     what an octet took in both. It has the same sign as the difference between all octets that arrived before onLoad in that
//     direction, and counts no more octets.
//   - [Priorities] is the time in which the link served only responses that the HAR says are less urgent, and that the
//     server sent although it had the more urgent request.
//   - [Queue] is the time in which the link served less urgent responses sent before that, or traffic that is none of the page's.
//   - [NotAttributed] is time of which the packets say nothing: they are missing, or cannot be decrypted.
//
// Resources are aligned by URL, without the scheme. docs/explain.md says the same at more length.
package difference
