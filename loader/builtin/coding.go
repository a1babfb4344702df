package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"wiretime/coding"
)

// acceptEncoding lists the codings that a decoder supports.
const acceptEncoding = "gzip, deflate, br, zstd"

// decoder decodes the content codings of a response (RFC 9110 section 8.4) as its
// octets arrive. The decoding libraries read from a blocking source, so they run in
// a coroutine that pauses whenever it has read everything there is.
type decoder struct {
	ctx    context.Context // ends it
	limits Limits
	next   func() ([]byte, bool)
	stop   func()

	input    []byte // arrived and not yet read
	began    bool   // something has arrived
	complete bool   // nothing more will arrive
	err      error
}

// newDecoder returns a decoder for the value of Content-Encoding, or nil if
// there is nothing to decode. It fails when ctx ends, and when the data between
// two codings exceeds the limit of a body: the caller limits the content.
func newDecoder(ctx context.Context, contentEncoding string, limits Limits) *decoder {
	codings := coding.Names(contentEncoding)
	if len(codings) == 0 {
		return nil
	}
	d := &decoder{ctx: ctx, limits: limits}
	d.next, d.stop = iter.Pull(func(yield func([]byte) bool) { d.run(codings, yield) })
	return d
}

// errStopped ends a coroutine that is no longer needed.
var errStopped = errors.New("the decoder was closed")

// waiting is the source of octets that the decoding libraries read. Yielding an
// empty piece asks for more octets.
type waiting struct {
	d     *decoder
	yield func([]byte) bool
}

func (w waiting) Read(p []byte) (int, error) {
	for len(w.d.input) == 0 {
		if w.d.complete {
			return 0, io.EOF
		}
		if !w.yield(nil) {
			return 0, errStopped
		}
	}
	n := copy(p, w.d.input)
	w.d.input = w.d.input[n:]
	return n, nil
}

// run removes the codings, the last one first, until the body ends.
func (d *decoder) run(codings []string, yield func([]byte) bool) {
	if len(codings) > coding.MaxCodings {
		d.err = fmt.Errorf("%d nested content codings: want at most %d", len(codings), coding.MaxCodings)
		return
	}
	var r io.Reader = waiting{d, yield}
	for _, name := range slices.Backward(codings) {
		undone, err := undo(name, &between{Reader: r, d: d})
		if err != nil {
			d.err = explainCoding(name, err)
			return
		}
		r = undone
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		if n > 0 && !yield(buffer[:n]) {
			return
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			d.err = explainCoding(strings.Join(codings, ", "), err)
			return
		}
	}
}

// between is the data between two codings, or from the network to the first. A few octets of it may decode to nothing
// at all for hours.
type between struct {
	io.Reader
	d *decoder
	n int64
}

func (b *between) Read(p []byte) (int, error) {
	if b.d.ctx.Err() != nil {
		return 0, context.Cause(b.d.ctx)
	}
	n, err := b.Reader.Read(p)
	if b.n += int64(n); b.n > b.d.limits.Body {
		return 0, b.d.limits.bodyError()
	}
	return n, err
}

// undo undoes one coding. Those that are DEFLATE inside are not undone by [coding.NewReader], which
// keeps octets back (see inflater).
func undo(name string, r io.Reader) (io.Reader, error) {
	switch name {
	case "gzip":
		return newGunzip(r)
	case "deflate":
		return newUnzlib(r)
	}
	return coding.NewReader(name, r)
}

func explainCoding(name string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the body ends too early")
	}
	return fmt.Errorf("decode content coding %s: %w", name, err)
}

// feed adds octets and passes on what they decode to, in pieces that are valid
// during the call. It ends with the first error of to.
func (d *decoder) feed(b []byte, to func([]byte) error) error {
	d.input, d.began = b, d.began || len(b) > 0
	for {
		piece, ok := d.next()
		if !ok {
			return d.err
		}
		if len(piece) == 0 {
			return nil
		}
		if err := to(piece); err != nil {
			return err
		}
	}
}

// finish passes on the rest once all octets were fed. It fails if the body is
// incomplete, except for an empty body, for which servers may name a coding too.
func (d *decoder) finish(to func([]byte) error) error {
	if !d.began {
		return nil
	}
	d.complete = true
	return d.feed(nil, to)
}
