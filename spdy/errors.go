package spdy

import (
	"errors"
	"fmt"
)

// Status says why a stream, or a session, ended: the status codes of RST_STREAM
// (draft 3 section 2.6.3) and GOAWAY (section 2.6.6).
type Status uint32

// Why a stream ended. 0 is not valid. Version 2 ends at FlowControlError.
const (
	ProtocolError       Status = 1
	InvalidStream       Status = 2
	RefusedStream       Status = 3
	UnsupportedVersion  Status = 4
	Cancel              Status = 5
	InternalError       Status = 6
	FlowControlError    Status = 7
	StreamInUse         Status = 8
	StreamAlreadyClosed Status = 9
	InvalidCredentials  Status = 10 // draft 3 only
	FrameTooLarge       Status = 11
)

// Why a session ended. Version 2's GOAWAY carries no status.
const (
	GoAwayOK            Status = 0
	GoAwayProtocolError Status = 1
	GoAwayInternalError Status = 2
	// GoAwayFlowControlError is required by draft 3.1 section 2.6.8, although
	// its section 2.6.6 does not list it.
	GoAwayFlowControlError Status = 7
)

var statusNames = [...]string{
	"OK", "PROTOCOL_ERROR", "INVALID_STREAM", "REFUSED_STREAM", "UNSUPPORTED_VERSION", "CANCEL", "INTERNAL_ERROR",
	"FLOW_CONTROL_ERROR", "STREAM_IN_USE", "STREAM_ALREADY_CLOSED", "INVALID_CREDENTIALS", "FRAME_TOO_LARGE",
}

// String returns the code's name in the drafts' list for RST_STREAM.
func (c Status) String() string {
	if int(c) < len(statusNames) {
		return statusNames[c]
	}
	return fmt.Sprintf("status %d", uint32(c))
}

// StreamError ends one stream, but not the others of its session (draft 3 section
// 2.4.2).
type StreamError struct {
	StreamID uint32
	Status   Status
	Remote   bool   // the peer reset the stream
	Cause    string // what was wrong, and the rule that was broken
}

func (e *StreamError) Error() string {
	if e.Remote {
		return fmt.Sprintf("spdy: stream %d: reset by the peer: %s", e.StreamID, e.Status)
	}
	return fmt.Sprintf("spdy: stream %d: %s: %s", e.StreamID, e.Status, e.Cause)
}

// SessionError ends a session with all its streams (draft 3 section 2.4.1).
type SessionError struct {
	// Status is GoAwayOK, GoAwayProtocolError, GoAwayInternalError or
	// GoAwayFlowControlError.
	Status Status
	Remote bool   // the peer sent the GOAWAY
	Cause  string // what was wrong, and the rule that was broken
	Err    error  // the connection's error, if that is the cause
}

func (e *SessionError) Error() string {
	who := "session ended"
	if e.Remote {
		who = "the peer ended the session"
	}
	if e.Err != nil {
		return fmt.Sprintf("spdy: %s: %s: %v", who, e.Cause, e.Err)
	}
	status := e.Status.String()
	if e.Status == GoAwayInternalError {
		status = "INTERNAL_ERROR"
	}
	return fmt.Sprintf("spdy: %s: %s: %s", who, status, e.Cause)
}

// Unwrap returns the connection's error.
func (e *SessionError) Unwrap() error { return e.Err }

// ErrClosed is the error on a session or stream that its own side closed.
var ErrClosed = errors.New("spdy: closed")

// ErrGoingAway is the error of opening a stream after one side has sent GOAWAY.
// Open the stream on a new session.
var ErrGoingAway = errors.New("spdy: the session accepts no new streams after GOAWAY")

// Unprocessed reports whether the peer has certainly not processed the stream
// that err ended, so that its request may be sent again (draft 3 sections 2.6.3
// and 2.6.6).
func Unprocessed(err error) bool {
	var e *StreamError
	return errors.Is(err, ErrGoingAway) || errors.As(err, &e) && e.Status == RefusedStream
}
