package fetch

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"wiretime/protocol"
)

// Upload prepares a visit whose Load posts content of the given length, at least one octet, to the page's URL. It
// fetches nothing, so the POST is the only entry of the HAR. Load returns an error unless the response has status 200.
func (l *Loader) Upload(p protocol.Protocol, octets int64, t Terms) *Visit {
	v := l.Open(p, nil, t)
	v.upload = &upload{octets: octets}
	return v
}

// upload is the content of a POST.
type upload struct {
	octets int64
	handed atomic.Int64 // octets that the connection has taken in the last attempt
}

// attach turns a request into a POST of the upload.
func (u *upload) attach(r *http.Request) {
	r.Method, r.ContentLength = http.MethodPost, u.octets
	r.GetBody = func() (io.ReadCloser, error) {
		u.handed.Store(0)
		return &content{protocol.UploadContent(u.octets), u}, nil
	}
	r.Body, _ = r.GetBody()
}

// content counts the octets that are read from an upload.
type content struct {
	io.Reader
	of *upload
}

func (c *content) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.of.handed.Add(int64(n))
	return n, err
}

// Close implements io.Closer.
func (c *content) Close() error { return nil }

// outcome returns why the upload failed, or nil. The error says how many octets the connection took, which may be more
// than the server received: some are still in buffers.
func (u *upload) outcome(r *request) error {
	cause := r.err
	if cause == nil && r.response.StatusCode != http.StatusOK {
		cause = fmt.Errorf("the server answered %s", r.response.Status)
	}
	if cause == nil {
		return nil
	}
	return fmt.Errorf("upload to %s: %w, after the connection had taken %d of %d octets", r.http.URL, cause, u.handed.Load(), u.octets)
}
