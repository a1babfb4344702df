package protection

import "iter"

// FrameKind says what a Frame carries.
type FrameKind uint8

// The frames that carry octets or connection IDs.
const (
	Crypto FrameKind = iota + 1 // octets of the TLS handshake
	Stream                      // octets of a stream
	NewConnectionID
)

// Frame is a frame of a QUIC packet (RFC 9000 section 19).
type Frame struct {
	Kind     FrameKind
	StreamID uint64
	Offset   uint64 // of Data in its stream or handshake; below 2^62
	Data     []byte // the octets, or the connection ID; it shares the payload's memory
	Fin      bool   // whether the stream ends after Data
}

// Frames yields the frames of a packet's payload that carry octets or connection IDs, up to the first
// frame that is unknown, truncated or closes the connection.
func Frames(payload []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		r := NewReader(payload)
		for r.Left() > 0 {
			f, ok := r.frame()
			if !ok || r.Failed() || f.Kind != 0 && !yield(f) {
				return
			}
		}
	}
}

// frame reads a frame. Its Kind is 0 if it carries neither octets nor a connection ID; ok is false if
// what follows it cannot be read.
func (r *Reader) frame() (f Frame, ok bool) {
	switch kind := r.Number(); kind {
	case 0x00, 0x01, 0x1e: // PADDING, PING, HANDSHAKE_DONE
	case 0x02, 0x03: // ACK
		r.Skip(2)
		ranges := r.Number()
		r.Number()
		for ; ranges > 0 && !r.Failed(); ranges-- {
			r.Skip(2)
		}
		if kind == 0x03 {
			r.Skip(3)
		}
	case 0x04: // RESET_STREAM
		r.Skip(3)
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
	case 0x10, 0x12, 0x13, 0x14, 0x16, 0x17, 0x19: // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
		r.Number()
	case 0x05, 0x11, 0x15: // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
		r.Skip(2)
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
