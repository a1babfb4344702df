// Package flowcontrol reads the frames that both ends of each connection sent from a load's capture, and works out what held each
// sender back.
//
// # Frames
//
// [Read] decrypts TLS 1.3, TLS 1.2 and QUIC with the keys in the capture and parses the frames of SPDY, HTTP/2 and HTTP/3. A frame was sent
// when the first octet of its record left its sender's host for the first time, and received when all octets up to its end had
// arrived. SPDY's frames can also be read from the loader's log ([ReadLog]), which knows the client's times only.
//
// # Windows
//
// A window is the number of octets that its sender may still send: those that the peer has granted in frames that have reached the
// sender, minus the DATA that has left the sender's host. It can be negative. Octets that wait in the sender's socket do not count as
// sent. Package window sets the windows that an end announces.
//
// # What held a sender
//
// A transfer lasts from when the first octet of DATA leaves until the last has arrived. If a stream is stuck because its window never
// opens, the transfer lasts until the stream is reset or the capture ends. Each moment of it is assigned to the first [Reason] of this
// list that applies:
//
//   - [Link]: the path is serialising packets in this direction, or the last octets are on their way. A sender that may not send
//     meanwhile loses nothing by it. The link serves packets one after the other: it starts on a packet when the packet has been sent
//     and the previous one has been served, and is done with it the path's least delay before the packet arrives.
//   - [SessionWindow], [StreamWindow]: the window of the session, or of the stream that sends next, is used up.
//   - [ReceiveWindow]: the next segment does not fit TCP's receive window.
//   - [LossRecovery]: octets were lost, and the packet that brings them has not left yet.
//   - [CongestionWindow]: octets are under way, and the sender goes on when an acknowledgement arrives, or after a pause of at most an
//     eighth of the round trip (pacing).
//   - [StreamWindow] once more: another stream that has begun, and is not complete, has used up its window.
//   - [Application]: the sender has nothing to send.
//
// The congestion window is not in a capture, so it is inferred: while it holds the sender, it is as large as the flight; at other times
// it is taken to be as large as it was last, or as the flight if that is larger.
package flowcontrol
