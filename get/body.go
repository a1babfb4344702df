package get

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"wiretime/spdy"
)

// body reads a response to its promised end.
type body struct {
	io.ReadCloser
	exchange *exchange
	read     int64
	left     int64 // octets still expected; negative: unknown
	most     int   // octets to read at a time; 0: any number
}

// piece returns how many octets of a body are read at a time. Window updates follow reads,
// so updates by eighths need reads no larger than an eighth.
func (c *Client) piece() int {
	if _, ok := spdy.ParseVersion(c.config.Protocol); !ok {
		return 0
	}
	const usual = 64 << 10 // draft 3 section 2.6.8
	return max(cmp.Or(c.config.Window.Stream, usual)/8, 1)
}

// expected returns the length that a response's body must have, or -1 if it is unknown.
func expected(r *http.Request, w *http.Response) int64 {
	if r.Method == http.MethodHead || w.StatusCode == http.StatusNotModified {
		return 0
	}
	return w.ContentLength
}

func (b *body) Read(p []byte) (int, error) {
	if b.most > 0 && len(p) > b.most {
		p = p[:b.most]
	}
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
