// Package player models the viewer of a stream: what it requests, when it plays, stalls and
// seeks, and the resulting figures. It can also fetch a file, which is a stream that nobody
// watches.
//
// A Player is a pure state machine: events with their times go in, orders come out. It has
// no clock, network or goroutine of its own. Times count from the call of [New] and must
// never go back. The owner of the connections
//
//   - carries out [Player.Orders],
//   - tells of what comes of them (Connected, Answered, Received, Failed, Lost, ...)
//     and of what the network's manager says (LinkDelay, Associate),
//   - calls [Player.Advance] at the moment that [Player.Next] gives,
//
// and takes the orders after each call until [Player.Over].
//
// # Playing
//
// A video has segments of one second. The player requests [Config.Parallel] at a time, by
// default one, and the next when one is complete, while fewer than [Config.Ahead] are buffered
// or requested. A segment that is complete before one that precedes it waits for that one. Playback starts when
// StartAt segments are buffered, or all that are left. It stalls when the buffer is empty
// and resumes with ResumeAt. A segment that completes at the very moment the buffer runs
// empty is in time.
//
// In each second of the viewing, whether it plays or not, the viewer seeks with
// [Config.SeekProbability] to a random segment (30 % in Nam et al., 2021, section 4.2). The
// times and targets depend only on the seed, so all transports get the same seeks. Seeks
// lead to the beginning of a segment. The player keeps what is buffered from there on. If
// nothing is, it discards everything, cancels the pending request, and starts playback anew
// with StartAt. Past the end of the video there is nothing to play until the next seek.
//
// # Setbacks
//
// If a request fails, the received part of the segment is kept. If the rule then chooses
// the same resolution, the player requests the rest, otherwise the whole segment. The
// paper's rule chooses HD after connecting, so a reconnection in the middle of a larger
// segment discards the received part. The player retries the first failure since the last
// octet at once, and each further one after [RetryPause].
//
// # Octets
//
// Every octet received is either played, wasted (thrown away before it was played), or held
// at the end. The octets of a partly played segment are divided in proportion to its
// playing time.
package player
