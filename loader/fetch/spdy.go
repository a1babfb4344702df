package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"wiretime/spdy"
)

// streamsUntold is how many streams the loader opens on a connection before the
// server has told it how many it takes: the fewest that a server should take
// (draft 3 section 2.6.4), and what Chromium opened.
const streamsUntold = 100

// spdyCarrier is SPDY by package spdy.
type spdyCarrier struct {
	*origin
	version spdy.Version
	session *spdy.Session
	opened  *connection
	told    bool // the server's settings have arrived, if it has sent any
}

// carry sends requests one after the other over the one connection.
func (s *spdyCarrier) carry(requests []*request) {
	if s.session == nil {
		if err := s.connect(); err != nil {
			s.fail(requests, err)
			return
		}
	}
	var first *spdy.Stream
	for i, r := range requests {
		r.over(s.opened)
		if i == streamsUntold && first != nil && !s.told {
			// Settings come before any reply. That one comes is all that counts.
			_, _ = first.Reply(s.visit.ctx)
		}
		stream, err := s.send(r)
		if err != nil {
			s.end(r, err)
			continue
		}
		if first == nil {
			first = stream
		}
		s.visit.running.Go(func() { s.end(r, s.receive(r, stream)) })
	}
	s.told = true // who asks for more has had its answers
}

func (s *spdyCarrier) connect() error {
	c, opened, err := s.dial()
	if err != nil {
		return err
	}
	// No timers: a load's limit is not the connection's.
	session := spdy.NewClient(c, s.version, &spdy.Config{
		Window: spdy.ChromiumWindow, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1, Log: s.visit.frames.log,
	})
	if err := s.visit.keep(session.Close); err != nil {
		return fmt.Errorf("connect to %s: %w", s.host, err)
	}
	s.session, s.opened = session, opened
	return nil
}

// send opens a stream, once the server's limit allows it. The session writes at
// once what it has to.
func (s *spdyCarrier) send(r *request) (*spdy.Stream, error) {
	priority := spdy.Middle
	if r.kind == "document" {
		priority = spdy.Highest
	}
	stream, err := s.session.Open(s.visit.ctx, requestFields(s.version, r.http), spdy.OpenOptions{Priority: priority, Fin: true})
	if err != nil {
		return nil, err
	}
	r.sending = s.visit.now()
	r.sent = r.sending
	return stream, nil
}

func (s *spdyCarrier) receive(r *request, stream *spdy.Stream) error {
	fields, err := stream.Reply(s.visit.ctx)
	if err != nil {
		return err
	}
	r.answered = s.visit.now()
	response, err := readReply(s.version, fields)
	if err != nil {
		return err
	}
	response.Body = stream
	return r.read(response)
}

// pseudo is what a version calls a part of HTTP's first lines (draft 3 section
// 3.2, draft 2 "Standard Transactions").
func pseudo(v spdy.Version, name string) string {
	switch {
	case v != spdy.V2:
		return ":" + name
	case name == "path":
		return "url"
	}
	return name
}

// requestFields are the fields of a request's SYN_STREAM.
func requestFields(v spdy.Version, r *http.Request) []spdy.Field {
	fields := []spdy.Field{
		{Name: pseudo(v, "host"), Value: r.URL.Host},
		{Name: pseudo(v, "method"), Value: r.Method},
		{Name: pseudo(v, "path"), Value: r.URL.RequestURI()},
		{Name: pseudo(v, "scheme"), Value: r.URL.Scheme},
		{Name: pseudo(v, "version"), Value: "HTTP/1.1"},
	}
	for _, p := range pairs(r.Header) {
		fields = append(fields, spdy.Field{Name: strings.ToLower(p.Name), Value: p.Value})
	}
	return fields
}

// readReply makes a response of a SYN_REPLY's fields, without its body.
func readReply(v spdy.Version, fields []spdy.Field) (*http.Response, error) {
	response := &http.Response{Proto: strings.ToUpper(v.String()), Header: http.Header{}}
	for _, f := range fields {
		switch f.Name {
		case pseudo(v, "status"):
			response.Status = f.Value
		case pseudo(v, "version"):
		default:
			for value := range strings.SplitSeq(f.Value, "\x00") {
				response.Header.Add(f.Name, value)
			}
		}
	}
	digits, _, _ := strings.Cut(response.Status, " ")
	var err error
	if response.StatusCode, err = strconv.Atoi(digits); err != nil {
		return nil, fmt.Errorf("read the reply: its status is %q", response.Status)
	}
	return response, nil
}

// frames is a visit's frame log.
type frames struct {
	log *spdy.FrameLog // nil where the protocol has none

	mu   sync.Mutex
	text []byte
}

func (f *frames) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, b...)
	return len(b), nil
}

// FrameLog is every frame of the visit's connections so far, as package spdy
// writes them down; nil where the protocol is not SPDY.
func (v *Visit) FrameLog() []byte {
	v.frames.mu.Lock()
	defer v.frames.mu.Unlock()
	return bytes.Clone(v.frames.text)
}
