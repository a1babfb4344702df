package protection

import "iter"

// FrameKind says what a Frame carries.
type FrameKind uint8

// The frames that carry octets or connection IDs, or that matter to flow control and loss recovery.
const (
	Crypto FrameKind = iota + 1 // octets of the TLS handshake
	Stream                      // octets of a stream
	NewConnectionID
	Ack               // Offset is the largest packet number acknowledged; AckRanges reads Data
	MaxData           // Offset is the limit on the octets of all streams together
	MaxStreamData     // Offset is the limit on the octets of the stream
	DataBlocked       // Offset is the limit on all streams that blocks the sender
	StreamDataBlocked // Offset is the limit on the stream that blocks the sender
	ResetStream       // Offset is the error code
	StopSending       // Offset is the error code
	Close             // Offset is the error code, Data the reason phrase
)

// Frame is a frame of a QUIC packet (RFC 9000 section 19).
type Frame struct {
	Kind     FrameKind
	StreamID uint64
	Offset   uint64 // of Data in its stream or handshake, or a number that depends on Kind; below 2^62
	Data     []byte // the octets, or the connection ID; it shares the payload's memory
	Fin      bool   // whether the stream ends after Data
}

// Frames yields the frames of a packet's payload that have a FrameKind. It ends before the first unknown or truncated frame,
// and after a frame that closes the connection.
func Frames(payload []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		r := NewReader(payload)
		for r.Left() > 0 {
			f, ok := r.frame()
			if !ok || r.Failed() || f.Kind != 0 && !yield(f) || f.Kind == Close {
				return
			}
		}
	}
}

// AckRanges yields the ranges of packet numbers that an ACK frame acknowledges (RFC 9000 section 19.3), both ends included,
// the highest range first. It ends before the first range that is truncated or goes below zero.
func AckRanges(f Frame) iter.Seq2[uint64, uint64] {
	return func(yield func(from, to uint64) bool) {
		r, to := NewReader(f.Data), f.Offset
		for first := true; r.Left() > 0; first = false {
			if !first {
				gap := r.Number() + 2
				if gap > to {
					return
				}
				to -= gap
			}
			length := r.Number()
			if r.Failed() || length > to || !yield(to-length, to) {
				return
			}
			to -= length
		}
	}
}

// frame reads a frame. Kind is 0 for a frame without a FrameKind. ok is false for an unknown frame, whose length is not
// known.
func (r *Reader) frame() (f Frame, ok bool) {
	switch kind := r.Number(); kind {
	case 0x00, 0x01, 0x1e: // PADDING, PING, HANDSHAKE_DONE
	case 0x02, 0x03: // ACK
		f = Frame{Kind: Ack, Offset: r.Number()}
		r.Number() // how long it was delayed
		ranges, from := r.Number(), r.at
		r.Number()
		for ; ranges > 0 && !r.Failed(); ranges-- {
			r.Skip(2)
		}
		f.Data = r.data[from:r.at]
		if kind == 0x03 {
			r.Skip(3)
		}
	case 0x04: // RESET_STREAM
		f = Frame{Kind: ResetStream, StreamID: r.Number(), Offset: r.Number()}
		r.Number()
	case 0x05: // STOP_SENDING
		f = Frame{Kind: StopSending, StreamID: r.Number(), Offset: r.Number()}
	case 0x06: // CRYPTO
		f = Frame{Kind: Crypto, Offset: r.Number()}
		f.Data = r.Take(r.Number())
	case 0x07: // NEW_TOKEN
		r.Take(r.Number())
	case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f: // STREAM
		f = Frame{Kind: Stream, StreamID: r.Number(), Fin: kind&0x01 != 0}
		if kind&0x04 != 0 {
			f.Offset = r.Number()
		}
		length := uint64(r.Left())
		if kind&0x02 != 0 {
			length = r.Number()
		}
		f.Data = r.Take(length)
	case 0x10: // MAX_DATA
		f = Frame{Kind: MaxData, Offset: r.Number()}
	case 0x11: // MAX_STREAM_DATA
		f = Frame{Kind: MaxStreamData, StreamID: r.Number(), Offset: r.Number()}
	case 0x12, 0x13, 0x16, 0x17, 0x19: // MAX_STREAMS, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
		r.Number()
	case 0x14: // DATA_BLOCKED
		f = Frame{Kind: DataBlocked, Offset: r.Number()}
	case 0x15: // STREAM_DATA_BLOCKED
		f = Frame{Kind: StreamDataBlocked, StreamID: r.Number(), Offset: r.Number()}
	case 0x1c, 0x1d: // CONNECTION_CLOSE
		f = Frame{Kind: Close, Offset: r.Number()}
		if kind == 0x1c {
			r.Number()
		}
		f.Data = r.Take(r.Number())
	case 0x18: // NEW_CONNECTION_ID
		r.Skip(2)
		f = Frame{Kind: NewConnectionID, Data: r.Take(uint64(r.Octet()))}
		r.Take(16)
	case 0x1a, 0x1b: // PATH_CHALLENGE, PATH_RESPONSE
		r.Take(8)
	default:
		return f, false
	}
	return f, true
}
