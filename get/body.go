package get

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// body reads a response to its promised end.
type body struct {
	io.ReadCloser
	exchange *exchange
	read     int64
	left     int64 // octets that are still to come; negative: not known
}

// expected is how long a response's body must be; -1 for not known.
func expected(r *http.Request, w *http.Response) int64 {
	if r.Method == http.MethodHead || w.StatusCode == http.StatusNotModified {
		return 0
	}
	return w.ContentLength
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	if errors.Is(err, io.EOF) {
		if b.left > 0 {
			return n, fmt.Errorf("the body ends %d octets before its Content-Length: %w", b.left, io.ErrUnexpectedEOF)
		}
		b.exchange.ended(b.read)
	}
	return n, err
}

func (b *body) Close() error {
	b.exchange.ended(b.read)
	return b.ReadCloser.Close()
}
