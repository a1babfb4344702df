package spdy

import (
	"encoding/binary"
	"fmt"
)

// frameHeader is the eight octets at the start of every frame (draft 3 section
// 2.2).
type frameHeader struct {
	control  bool
	version  uint16    // of control frames
	kind     FrameType // TypeData if not control
	streamID uint32    // of DATA
	flags    uint8
	length   int
}

func parseHeader(b []byte) frameHeader {
	be := binary.BigEndian
	h := frameHeader{flags: b[4], length: int(be.Uint32(b[4:]) & maxLength)}
	if b[0]&0x80 != 0 {
		h.control, h.version, h.kind = true, be.Uint16(b)&(1<<15-1), FrameType(be.Uint16(b[2:]))
	} else {
		h.streamID = be.Uint32(b)
	}
	return h
}

// frameLimits limits what a peer may send in one frame.
type frameLimits struct {
	headerBytes  int // of an inflated header block; slightly larger ones are inflated and refused
	headerFields int
}

// decoder reads control frames. It must be given each one, in the order of
// arrival, because header blocks refer to earlier ones.
type decoder struct {
	version Version
	limits  frameLimits
	z       *inflater

	// Frames without a header block are decoded into these.
	rst    RstStream
	ping   Ping
	goAway GoAway
	window WindowUpdate
}

func newDecoder(v Version, l frameLimits) *decoder {
	return &decoder{version: v, limits: l, z: newInflater(v)}
}

// control decodes a control frame. A *StreamError leaves the decoder usable and
// comes with the frame, without its fields. Any other error is a *SessionError.
// Frames without fields are valid until the next call.
func (d *decoder) control(h frameHeader, payload []byte) (Frame, error) {
	if h.version != d.version.wire() {
		return &Unknown{Version: h.version, Kind: h.kind, Flags: h.flags, Payload: payload}, nil
	}
	switch h.kind {
	case TypeSynStream:
		return d.synStream(h, payload)
	case TypeSynReply:
		return d.synReply(h, payload)
	case TypeRstStream:
		return d.rstStream(h, payload)
	case TypeSettings:
		return d.settings(h, payload)
	case TypePing:
		return d.pingFrame(h, payload)
	case TypeGoAway:
		return d.goAwayFrame(h, payload)
	case TypeHeaders:
		return d.headers(h, payload)
	case TypeNoop:
		if d.version == V2 {
			return d.noop(h, payload)
		}
	case TypeWindowUpdate:
		if d.version != V2 {
			return d.windowUpdate(h, payload)
		}
	case TypeCredential:
		if d.version != V2 {
			return d.credential(h, payload)
		}
	}
	return &Unknown{Version: h.version, Kind: h.kind, Flags: h.flags, Payload: payload}, nil
}

// broken returns the error for a frame that breaks a rule of the framing
// itself.
func (d *decoder) broken(kind FrameType, section, format string, a ...any) error {
	return &SessionError{
		Status: GoAwayProtocolError,
		Cause:  fmt.Sprintf("%s: %s (%s)", kind, fmt.Sprintf(format, a...), d.version.cite(section)),
	}
}

// length checks the length of a fixed-length frame.
func (d *decoder) length(kind FrameType, section string, b []byte, want int) error {
	if len(b) != want {
		return d.broken(kind, section, "%d octets long, must be %d", len(b), want)
	}
	return nil
}

// id reads the ID of the stream that a frame belongs to.
func (d *decoder) id(kind FrameType, section string, b []byte, least int) (uint32, error) {
	if len(b) < least {
		return 0, d.broken(kind, section, "%d octets long, must be at least %d", len(b), least)
	}
	id := binary.BigEndian.Uint32(b) & maxStreamID
	if id == 0 {
		return 0, d.broken(kind, "2.3.2", "invalid stream ID 0")
	}
	return id, nil
}

// fields inflates and parses a header block.
func (d *decoder) fields(kind FrameType, id uint32, block []byte) ([]Field, error) {
	if len(block) == 0 && kind == TypeHeaders {
		// Drafts 2 and 3 allow a length of 4 if there are no fields.
		return nil, nil
	}
	// A block slightly too large resets its stream; one that keeps growing ends
	// the session.
	inflated, err := d.z.block(block, 4*d.limits.headerBytes)
	if err != nil {
		return nil, &SessionError{
			Status: GoAwayProtocolError,
			Cause:  fmt.Sprintf("%s of stream %d: read the header block: %v (%s)", kind, id, err, d.version.cite("2.6.10.1")),
		}
	}
	fields, stream, session := parseFields(d.version, inflated, d.limits.headerFields)
	if session != nil {
		return nil, &SessionError{Status: GoAwayProtocolError, Cause: fmt.Sprintf("%s of stream %d: %v", kind, id, session)}
	}
	if len(inflated) > d.limits.headerBytes {
		stream = fmt.Errorf("a header block of %d octets exceeds the limit of %d", len(inflated), d.limits.headerBytes)
	}
	if stream != nil {
		return nil, &StreamError{StreamID: id, Status: ProtocolError, Cause: fmt.Sprintf("%s: %v", kind, stream)}
	}
	return fields, nil
}

func (d *decoder) synStream(h frameHeader, b []byte) (Frame, error) {
	id, err := d.id(h.kind, "2.6.1", b, 10)
	if err != nil {
		return nil, err
	}
	f := &SynStream{
		StreamID:       id,
		AssociatedID:   binary.BigEndian.Uint32(b[4:]) & maxStreamID,
		Fin:            h.flags&flagFin != 0,
		Unidirectional: h.flags&flagUnidirectional != 0,
	}
	if d.version == V2 {
		f.Priority = V2.priority(b[8] >> 6)
	} else {
		f.Priority, f.Slot = d.version.priority(b[8]>>5), b[9]
	}
	f.Fields, err = d.fields(h.kind, id, b[10:])
	return f, err
}

// skipUnused skips the 16 bits that precede header blocks in version 2.
func (d *decoder) skipUnused(b []byte) []byte {
	if d.version == V2 && len(b) >= 2 {
		return b[2:]
	}
	return b
}

func (d *decoder) synReply(h frameHeader, b []byte) (Frame, error) {
	id, err := d.id(h.kind, "2.6.2", b, 4)
	if err != nil {
		return nil, err
	}
	f := &SynReply{StreamID: id, Fin: h.flags&flagFin != 0}
	f.Fields, err = d.fields(h.kind, id, d.skipUnused(b[4:]))
	return f, err
}

func (d *decoder) headers(h frameHeader, b []byte) (Frame, error) {
	id, err := d.id(h.kind, "2.6.7", b, 4)
	if err != nil {
		return nil, err
	}
	f := &Headers{StreamID: id, Fin: h.flags&flagFin != 0}
	f.Fields, err = d.fields(h.kind, id, d.skipUnused(b[4:]))
	return f, err
}

func (d *decoder) rstStream(h frameHeader, b []byte) (Frame, error) {
	if err := d.length(h.kind, "2.6.3", b, 8); err != nil {
		return nil, err
	}
	id, err := d.id(h.kind, "2.6.3", b, 8)
	if err != nil {
		return nil, err
	}
	d.rst = RstStream{StreamID: id, Status: Status(binary.BigEndian.Uint32(b[4:]))}
	if d.rst.Status == 0 {
		// What it asks for is clear nevertheless.
		d.rst.Status = ProtocolError
	}
	return &d.rst, nil
}

func (d *decoder) settings(h frameHeader, b []byte) (Frame, error) {
	if len(b) < 4 || (len(b)-4)%8 != 0 || binary.BigEndian.Uint32(b) != uint32((len(b)-4)/8) {
		return nil, d.broken(h.kind, "2.6.4", "%d octets do not match the number of entries", len(b))
	}
	f := &Settings{Clear: h.flags&flagClear != 0}
	for b = b[4:]; len(b) > 0; b = b[8:] {
		s := Setting{Value: binary.BigEndian.Uint32(b[4:])}
		if d.version == V2 {
			s.ID, s.Flags = SettingID(b[0])|SettingID(b[1])<<8|SettingID(b[2])<<16, SettingFlags(b[3])
		} else {
			s.ID, s.Flags = SettingID(binary.BigEndian.Uint32(b)&(1<<24-1)), SettingFlags(b[0])
		}
		f.Entries = append(f.Entries, s)
	}
	return f, nil
}

func (d *decoder) noop(h frameHeader, b []byte) (Frame, error) {
	if err := d.length(h.kind, "2.6.5", b, 0); err != nil {
		return nil, err
	}
	return &Noop{}, nil
}

func (d *decoder) pingFrame(h frameHeader, b []byte) (Frame, error) {
	if err := d.length(h.kind, "2.6.5", b, 4); err != nil {
		return nil, err
	}
	d.ping = Ping{ID: binary.BigEndian.Uint32(b)}
	return &d.ping, nil
}

func (d *decoder) goAwayFrame(h frameHeader, b []byte) (Frame, error) {
	want := 8
	if d.version == V2 {
		want = 4
	}
	if err := d.length(h.kind, "2.6.6", b, want); err != nil {
		return nil, err
	}
	d.goAway = GoAway{LastStreamID: binary.BigEndian.Uint32(b) & maxStreamID}
	if d.version != V2 {
		d.goAway.Status = Status(binary.BigEndian.Uint32(b[4:]))
	}
	return &d.goAway, nil
}

func (d *decoder) windowUpdate(h frameHeader, b []byte) (Frame, error) {
	if err := d.length(h.kind, "2.6.8", b, 8); err != nil {
		return nil, err
	}
	be := binary.BigEndian
	d.window = WindowUpdate{StreamID: be.Uint32(b) & maxStreamID, Delta: be.Uint32(b[4:]) & maxWindow}
	if d.window.StreamID == 0 && d.version != V31 {
		return nil, d.broken(h.kind, "2.6.8", "invalid stream ID 0")
	}
	if d.window.Delta == 0 {
		if d.window.StreamID == 0 {
			return nil, d.broken(h.kind, "2.6.8", "the session's window must not change by 0")
		}
		return &d.window, &StreamError{
			StreamID: d.window.StreamID, Status: ProtocolError,
			Cause: fmt.Sprintf("WINDOW_UPDATE: the window must not change by 0 (%s)", d.version.cite("2.6.8")),
		}
	}
	return &d.window, nil
}

func (d *decoder) credential(h frameHeader, b []byte) (Frame, error) {
	short := func() (Frame, error) {
		return nil, d.broken(h.kind, "2.6.9", "an inner length exceeds the frame")
	}
	be := binary.BigEndian
	if len(b) < 6 {
		return short()
	}
	f := &Credential{Slot: be.Uint16(b)}
	if f.Slot == 0 {
		return nil, d.broken(h.kind, "2.6.9", "invalid slot 0, slots count from 1")
	}
	b = b[2:]
	part := func() ([]byte, bool) {
		if len(b) < 4 || uint64(be.Uint32(b)) > uint64(len(b)-4) {
			return nil, false
		}
		p := append([]byte(nil), b[4:4+be.Uint32(b)]...)
		b = b[4+len(p):]
		return p, true
	}
	var ok bool
	if f.Proof, ok = part(); !ok {
		return short()
	}
	for len(b) > 0 {
		c, ok := part()
		if !ok {
			return short()
		}
		f.Certificates = append(f.Certificates, c)
	}
	return f, nil
}
