package spdy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Framer reads and writes the frames of one end of one connection. It is for
// tools and tests; a Session has its own way to them. Reading may run beside
// writing.
type Framer struct {
	version Version
	r       *bufio.Reader
	w       io.Writer
	enc     *encoder
	dec     *decoder
	buf     []byte
	payload []byte
}

// NewFramer makes a framer of one version. Its header blocks may inflate to
// DefaultMaxHeaderBytes.
func NewFramer(v Version, w io.Writer, r io.Reader, c Compression) *Framer {
	return &Framer{
		version: v, w: w, r: bufio.NewReader(r), enc: newEncoder(v, c),
		dec: newDecoder(v, frameLimits{DefaultMaxHeaderBytes, DefaultMaxHeaderFields}),
	}
}

// WriteFrame writes a frame. An error that a frame is not valid leaves the
// framer usable.
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

// ReadFrame reads the next frame. It, and what it holds, is good until the next
// call. A *StreamError is about that frame alone; after another error there are
// no more frames. The end of the connection between two frames is io.EOF.
func (f *Framer) ReadFrame() (Frame, error) {
	var head [frameHeaderLength]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read a frame's header: %w", err)
	}
	h := parseHeader(head[:])
	// The peer may say that much more comes than does: take it as it comes.
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
		return d, f.dec.broken(TypeData, "2.3.2", "0 is no stream's number")
	}
	return d, nil
}

// What a peer may send in a header block, unless Config says otherwise.
const (
	DefaultMaxHeaderBytes  = 64 << 10 // inflated
	DefaultMaxHeaderFields = 200
)
