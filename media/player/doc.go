// Package player is the viewer of a stream: what it asks a server for, when it
// plays, stalls and seeks, and what became of it all. It also fetches a file, which
// is a stream that nobody watches.
//
// It is pure: moments and what happens go in, orders come out. It has no clock, no
// network and no goroutine of its own. Moments are since the viewing began, which
// is when [New] is called, and must never go back. Whoever has the connections
//
//   - carries out [Player.Orders],
//   - tells of what comes of them (Connected, Answered, Received, Failed, Lost, ...)
//     and of what the network's manager says (LinkDelay, Associate),
//   - calls [Player.Advance] at the moment that [Player.Next] gives,
//
// and takes the orders after each call, until [Player.Over].
//
// # Playing
//
// A video has segments of a second. One is asked for at a time, the next when it is
// whole, as long as fewer than [Config.Ahead] are buffered. Playback starts when
// StartAt are buffered, or all that are left; it stalls when the buffer is empty and
// resumes with ResumeAt. A segment that becomes whole at the very moment at which
// the buffer is empty comes in time.
//
// In each second of the viewing, whether it plays or not, the viewer seeks with
// [Config.SeekProbability] to a random segment (30 % in Nam et al., 2021, section
// 4.2). When and where to follows from the seed alone, so that all transports meet
// the same seeks. Seeks lead to the beginning of a segment. What is buffered from
// there on is kept; if nothing is, everything is thrown away, the request under way is
// cancelled, and playback starts anew with StartAt. Past the end of the video there
// is nothing to play until the next seek.
//
// # Setbacks
//
// What has come of a segment when its request fails is kept. If the rule chooses
// the same resolution again, the rest is asked for, otherwise the segment anew: the
// paper's rule asks for HD after connecting, so that a reconnection in the middle of
// a larger segment throws it away. The first failure since an octet came is
// repaired at once, each further one after [RetryPause].
//
// # Octets
//
// Every octet received is either played, wasted (thrown away before it was played),
// or held at the end. Those of a segment that is left in the middle are divided in
// proportion to how long it has played.
package player
