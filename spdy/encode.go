package spdy

import (
	"encoding/binary"
	"fmt"
)

// encoder encodes frames. Every encoded frame must be sent, in the order of
// encoding, because header blocks refer to earlier ones.
type encoder struct {
	version Version
	z       *deflater
	pieces  []piece
}

func newEncoder(v Version, c Compression) *encoder {
	return &encoder{version: v, z: newDeflater(v, c)}
}

// append appends a frame to b. On an error it has written and compressed
// nothing.
func (e *encoder) append(b []byte, f Frame) ([]byte, error) {
	v, be, start := e.version, binary.BigEndian, len(b)
	invalid := func(section, format string, a ...any) ([]byte, error) {
		return b[:start], fmt.Errorf("encode %s: %s (%s)", f.Type(), fmt.Sprintf(format, a...), v.cite(section))
	}
	switch f := f.(type) {
	case *Data:
		if f.StreamID == 0 || f.StreamID > maxStreamID {
			return invalid("2.2.2", "invalid stream ID %d", f.StreamID)
		}
		if len(f.Payload) > maxLength {
			return invalid("2.2.2", "a payload of %d octets is too long", len(f.Payload))
		}
		return append(appendDataHeader(b, f.StreamID, f.Fin, len(f.Payload)), f.Payload...), nil
	case *SynStream:
		if f.StreamID == 0 || f.StreamID > maxStreamID {
			return invalid("2.3.2", "invalid stream ID %d", f.StreamID)
		}
		b = e.control(b, TypeSynStream, fin(f.Fin)|unidirectional(f.Unidirectional))
		b = be.AppendUint32(b, f.StreamID)
		b = be.AppendUint32(b, f.AssociatedID&maxStreamID)
		if v == V2 {
			b = append(b, v.wirePriority(f.Priority)<<6, 0)
		} else {
			b = append(b, v.wirePriority(f.Priority)<<5, f.Slot)
		}
		return e.fields(b, start, f, f.Fields)
	case *SynReply:
		if f.StreamID == 0 || f.StreamID > maxStreamID {
			return invalid("2.3.2", "invalid stream ID %d", f.StreamID)
		}
		b = e.unused(be.AppendUint32(e.control(b, TypeSynReply, fin(f.Fin)), f.StreamID))
		return e.fields(b, start, f, f.Fields)
	case *Headers:
		if f.StreamID == 0 || f.StreamID > maxStreamID {
			return invalid("2.3.2", "invalid stream ID %d", f.StreamID)
		}
		b = e.unused(be.AppendUint32(e.control(b, TypeHeaders, fin(f.Fin)), f.StreamID))
		return e.fields(b, start, f, f.Fields)
	case *RstStream:
		if f.StreamID == 0 || f.StreamID > maxStreamID {
			return invalid("2.3.2", "invalid stream ID %d", f.StreamID)
		}
		if f.Status == 0 {
			return invalid("2.6.3", "invalid status 0")
		}
		b = be.AppendUint32(e.control(b, TypeRstStream, 0), f.StreamID)
		b = be.AppendUint32(b, uint32(f.Status))
	case *Settings:
		b = e.control(b, TypeSettings, clearFlag(f.Clear))
		b = be.AppendUint32(b, uint32(len(f.Entries)))
		for _, s := range f.Entries {
			if s.ID >= 1<<24 {
				return invalid("2.6.4", "invalid setting %d", s.ID)
			}
			if v == V2 {
				// The ID is little-endian, a mistake that became the protocol.
				b = append(b, byte(s.ID), byte(s.ID>>8), byte(s.ID>>16), byte(s.Flags))
			} else {
				b = append(b, byte(s.Flags), byte(s.ID>>16), byte(s.ID>>8), byte(s.ID))
			}
			b = be.AppendUint32(b, s.Value)
		}
	case *Noop:
		if v != V2 {
			return b, fmt.Errorf("encode NOOP: %s does not have it", v)
		}
		b = e.control(b, TypeNoop, 0)
	case *Ping:
		b = be.AppendUint32(e.control(b, TypePing, 0), f.ID)
	case *GoAway:
		b = be.AppendUint32(e.control(b, TypeGoAway, 0), f.LastStreamID&maxStreamID)
		if v != V2 {
			b = be.AppendUint32(b, uint32(f.Status))
		}
	case *WindowUpdate:
		if v == V2 {
			return b, fmt.Errorf("encode WINDOW_UPDATE: %s does not have it", v)
		}
		if f.Delta == 0 || f.Delta > maxWindow {
			return invalid("2.6.8", "invalid window change of %d", f.Delta)
		}
		if f.StreamID > maxStreamID || f.StreamID == 0 && v != V31 {
			return invalid("2.6.8", "invalid stream ID %d", f.StreamID)
		}
		return appendWindowUpdate(b, f.StreamID, f.Delta), nil
	case *Credential:
		if v == V2 {
			return b, fmt.Errorf("encode CREDENTIAL: %s does not have it", v)
		}
		b = be.AppendUint16(e.control(b, TypeCredential, 0), f.Slot)
		b = append(be.AppendUint32(b, uint32(len(f.Proof))), f.Proof...)
		for _, c := range f.Certificates {
			b = append(be.AppendUint32(b, uint32(len(c))), c...)
		}
	case *Unknown:
		b = be.AppendUint16(b, 1<<15|f.Version)
		b = be.AppendUint16(b, uint16(f.Kind))
		b = append(be.AppendUint32(b, uint32(f.Flags)<<24), f.Payload...)
	default:
		return b, fmt.Errorf("encode frame: unknown type %T", f)
	}
	return e.close(b, start, f)
}

func fin(on bool) uint8 {
	if on {
		return flagFin
	}
	return 0
}

func unidirectional(on bool) uint8 {
	if on {
		return flagUnidirectional
	}
	return 0
}

func clearFlag(on bool) uint8 {
	if on {
		return flagClear
	}
	return 0
}

// control writes the header of a control frame; close fills in its length.
func (e *encoder) control(b []byte, t FrameType, flags uint8) []byte {
	b = binary.BigEndian.AppendUint16(b, 1<<15|e.version.wire())
	b = binary.BigEndian.AppendUint16(b, uint16(t))
	return binary.BigEndian.AppendUint32(b, uint32(flags)<<24)
}

// unused writes the 16 bits that precede the header blocks of SYN_REPLY and
// HEADERS in version 2.
func (e *encoder) unused(b []byte) []byte {
	if e.version == V2 {
		return append(b, 0, 0)
	}
	return b
}

// fields writes the header block of the frame that begins at start.
func (e *encoder) fields(b []byte, start int, f Frame, fields []Field) ([]byte, error) {
	pieces, err := appendPieces(e.version, e.pieces[:0], fields)
	if err != nil {
		return b[:start], fmt.Errorf("encode %s: %w", f.Type(), err)
	}
	size := 0
	for _, p := range pieces {
		size += len(p.text)
	}
	if size > maxLength/2 {
		// Nothing may be left out after it was compressed.
		return b[:start], fmt.Errorf("encode %s: a header block of %d octets (%s)", f.Type(), size, e.version.cite("2.2.1"))
	}
	b = e.z.block(b, pieces)
	clear(pieces)
	e.pieces = pieces[:0]
	return e.close(b, start, f)
}

// close fills in the length of the frame that begins at start.
func (e *encoder) close(b []byte, start int, f Frame) ([]byte, error) {
	n := len(b) - start - frameHeaderLength
	if n > maxLength {
		return b[:start], fmt.Errorf("encode %s: a payload of %d octets is too long (%s)", f.Type(), n, e.version.cite("2.2.1"))
	}
	b[start+5], b[start+6], b[start+7] = byte(n>>16), byte(n>>8), byte(n)
	return b, nil
}

func appendDataHeader(b []byte, id uint32, last bool, n int) []byte {
	b = binary.BigEndian.AppendUint32(b, id)
	return binary.BigEndian.AppendUint32(b, uint32(fin(last))<<24|uint32(n))
}

func appendWindowUpdate(b []byte, id, delta uint32) []byte {
	b = append(b, 0x80, 3, 0, byte(TypeWindowUpdate), 0, 0, 0, 8)
	b = binary.BigEndian.AppendUint32(b, id)
	return binary.BigEndian.AppendUint32(b, delta)
}
