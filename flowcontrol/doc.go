// Package flowcontrol reads from a load's capture what both ends of each connection told each other, frame by frame, and works out
// what held each sender back.
//
// # Frames
//
// [Read] decrypts TLS 1.3 and QUIC with the keys in the capture and parses the frames of SPDY, HTTP/2 and HTTP/3. A frame was sent
// when the first octet of its record left its sender's host for the first time, and received when all octets up to its end had
// arrived. SPDY's frames can also be read from the loader's log ([ReadLog]), which knows the client's times only.
//
// # Windows
//
// A window is what its sender may still send: what the peer has granted, by what had reached the sender by then, minus the DATA that had
// left the sender's host. It can be negative. Octets that wait in the sender's socket are not counted as sent. Which windows an end
// announces is set by package window.
//
// # What held a sender
//
// A transfer lasts from when its first octet of DATA leaves its sender until the last has arrived; if a stream is stuck for want of a
// window, until the stream is reset or the capture ends. Each moment of it goes to the first [Reason] of these that applies:
//
//   - [Link]: the path is serialising packets in this direction, or the last octets are on their way. A sender that may not send
//     meanwhile loses nothing by it. The link serves packets one after the other: each from when it has been sent and the previous one
//     has been served, until the least delay of the link before its arrival.
//   - [SessionWindow], [StreamWindow]: the session's window, or that of the stream that sends next, is used up.
//   - [ReceiveWindow]: the next segment does not fit TCP's receive window.
//   - [LossRecovery]: octets were lost and have not been sent again.
//   - [CongestionWindow]: octets are under way, and the sender goes on when an acknowledgement arrives, or after a pause of at most an
//     eighth of the round trip (pacing).
//   - [StreamWindow] once more: another stream that has begun has used up its window.
//   - [Application]: the sender has nothing to send.
//
// The congestion window itself is not in a capture. It is inferred: while it holds the sender, it is as large as what is under way; at other
// times it is at least that, and taken to be what it was.
package flowcontrol
