package session

import (
	"io"
	"net/http"
)

// RoundTrip fetches with medium priority, so that a session can serve as the
// Transport of an http.Client. An unread body blocks its connection.
func (s *Session) RoundTrip(r *http.Request) (*http.Response, error) {
	body, arriving := io.Pipe()
	t := &trip{request: r, body: body, arriving: arriving, head: make(chan *http.Response, 1), failed: make(chan error, 1)}
	s.Fetch(&Request{HTTP: r, Priority: Medium, Handler: t})
	select {
	case response := <-t.head:
		return response, nil
	case err := <-t.failed:
		return nil, err
	}
}

// trip is the handler of one RoundTrip.
type trip struct {
	request  *http.Request
	body     *io.PipeReader
	arriving *io.PipeWriter
	answered bool
	head     chan *http.Response
	failed   chan error // ended without a head
}

func (t *trip) Interim(*http.Response) {}

func (t *trip) Head(response *http.Response) {
	response.Request, response.Body = t.request, t.body
	t.answered = true
	t.head <- response
}

// Data waits for the body's reader. A closed body discards the data.
func (t *trip) Data(b []byte) error {
	_, _ = t.arriving.Write(b)
	return nil
}

func (t *trip) End(_ *Exchange, err error) {
	if !t.answered {
		t.failed <- err
		return
	}
	_ = t.arriving.CloseWithError(err) // nil: the end of the body
}
