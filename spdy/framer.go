package spdy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Framer reads and writes the frames of one end of a connection. It is for
// tools and tests; Session does not use it. Reading and writing may run
// concurrently.
type Framer struct {
	version Version
	r       *bufio.Reader
	w       io.Writer
	enc     *encoder
	dec     *decoder
	buf     []byte
	payload []byte
}

// NewFramer returns a framer of one version. Its header blocks may inflate to
// DefaultMaxHeaderBytes.
func NewFramer(v Version, w io.Writer, r io.Reader, c Compression) *Framer {
	return &Framer{
		version: v, w: w, r: bufio.NewReader(r), enc: newEncoder(v, c),
		dec: newDecoder(v, frameLimits{DefaultMaxHeaderBytes, DefaultMaxHeaderFields}),
	}
}

// WriteFrame writes a frame. The framer stays usable after the error of an
// invalid frame.
func (f *Framer) WriteFrame(frame Frame) error {
	var err error
	if f.buf, err = f.enc.append(f.buf[:0], frame); err != nil {
		return err
	}
	if _, err := f.w.Write(f.buf); err != nil {
		return fmt.Errorf("write %s: %w", frame.Type(), err)
	}
	return nil
}

// ReadFrame reads the next frame, which is valid until the next call. A
// *StreamError concerns only that frame; any other error ends the reading. The
// end of the connection between two frames is io.EOF.
func (f *Framer) ReadFrame() (Frame, error) {
	var head [frameHeaderLength]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read a frame's header: %w", err)
	}
	h := parseHeader(head[:])
	// The announced length may exceed what arrives, so the buffer grows with
	// the data.
	f.payload = f.payload[:0]
	for len(f.payload) < h.length {
		n := min(h.length-len(f.payload), max(4096, len(f.payload)))
		have := len(f.payload)
		f.payload = append(f.payload, make([]byte, n)...)
		if _, err := io.ReadFull(f.r, f.payload[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read a frame of %d octets: %w", h.length, err)
		}
	}
	if h.control {
		return f.dec.control(h, f.payload)
	}
	d := &Data{StreamID: h.streamID, Fin: h.flags&flagFin != 0, Payload: f.payload}
	if d.StreamID == 0 {
		return d, f.dec.broken(TypeData, "2.3.2", "invalid stream ID 0")
	}
	return d, nil
}

// Default limits of the header blocks that a peer may send.
const (
	DefaultMaxHeaderBytes  = 64 << 10 // inflated
	DefaultMaxHeaderFields = 200
)
