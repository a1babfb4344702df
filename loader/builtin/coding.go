package builtin

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"wiretime/coding"
)

// acceptEncoding are the codings that a decoder undoes.
const acceptEncoding = "gzip, deflate, br, zstd"

// decoder undoes the content codings of a response (RFC 9110 section 8.4) as its
// octets arrive. Libraries for it read where a browser is given, so it runs them in
// a coroutine that stands still whenever they have read all there is.
type decoder struct {
	next func() ([]byte, bool)
	stop func()

	input    []byte // what has arrived and was not read yet
	began    bool   // something has arrived
	complete bool   // nothing more will arrive
	err      error
}

// newDecoder makes a decoder for the value of Content-Encoding, nil if there is
// nothing to undo.
func newDecoder(contentEncoding string) *decoder {
	codings := coding.Names(contentEncoding)
	if len(codings) == 0 {
		return nil
	}
	d := &decoder{}
	d.next, d.stop = iter.Pull(func(yield func([]byte) bool) { d.run(codings, yield) })
	return d
}

// errStopped ends a coroutine that is not needed any more.
var errStopped = errors.New("the decoder was closed")

// waiting is a decoder's coroutine as its libraries see it: a source of octets. An
// empty piece given to yield asks for more of them.
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

// run undoes the codings, the last one first, for as long as there is a body.
func (d *decoder) run(codings []string, yield func([]byte) bool) {
	if len(codings) > coding.MaxCodings {
		d.err = fmt.Errorf("%d content codings, one over the other: at most %d are allowed", len(codings), coding.MaxCodings)
		return
	}
	var r io.Reader = waiting{d, yield}
	for _, name := range slices.Backward(codings) {
		undone, err := undo(name, r)
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
	return fmt.Errorf("undo the content coding %s: %w", name, err)
}

// feed takes octets in and hands out what they decode to, in pieces that are valid
// during the call.
func (d *decoder) feed(b []byte, to func([]byte)) error {
	d.input, d.began = b, d.began || len(b) > 0
	for {
		piece, ok := d.next()
		if !ok {
			return d.err
		}
		if len(piece) == 0 {
			return nil
		}
		to(piece)
	}
}

// finish hands out what is left once all octets were fed. It is an error if the
// body is not whole. One without an octet is: servers name a coding for it all the same.
func (d *decoder) finish(to func([]byte)) error {
	if !d.began {
		return nil
	}
	d.complete = true
	return d.feed(nil, to)
}
