package fetch

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"wiretime/protocol"
)

// Upload prepares a visit whose Load posts so many octets, at least one, to the page's URL and fetches nothing else. Its
// only HAR entry is the POST. Any answer but one of status 200 is an error.
func (l *Loader) Upload(p protocol.Protocol, octets int64, w Windows) *Visit {
	v := l.Open(p, nil, w)
	v.upload = &upload{octets: octets}
	return v
}

// upload is the content of a POST.
type upload struct {
	octets int64
	handed atomic.Int64 // octets that the connection has taken; of the last attempt, if there were several
}

// attach makes a request one that posts the upload.
func (u *upload) attach(r *http.Request) {
	r.Method, r.ContentLength = http.MethodPost, u.octets
	r.GetBody = func() (io.ReadCloser, error) {
		u.handed.Store(0)
		return &content{protocol.UploadContent(u.octets), u}, nil
	}
	r.Body, _ = r.GetBody()
}

// content counts what is read of an upload.
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

// outcome returns why the upload failed, or nil. It names the octets that the connection took, which may be more than
// the server got: some wait in buffers.
func (u *upload) outcome(r *request) error {
	cause := r.err
	if cause == nil && r.response.StatusCode != http.StatusOK {
		cause = fmt.Errorf("the server answered %s", r.response.Status)
	}
	if cause == nil {
		return nil
	}
	return fmt.Errorf("upload to %s: %w, when the connection had taken %d of %d octets", r.http.URL, cause, u.handed.Load(), u.octets)
}
