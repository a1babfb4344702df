package session

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"wiretime/spdy"
)

// streamsUntold is how many streams are opened on a connection before the server
// has announced its limit: the smallest that a server should announce (draft 3
// section 2.6.4), and what Chromium opened.
const streamsUntold = 100

// spdyConn is a SPDY connection of package spdy.
type spdyConn struct {
	session *spdy.Session
	conn    *conn
	version spdy.Version
	pushes  pushes
	first   *spdy.Stream
	opened  int
	leaving atomic.Bool // the server accepts no more streams
}

func (c *conn) establishSPDY(v spdy.Version) error {
	_, secured, err := c.dial()
	if err != nil {
		return err
	}
	s := &spdyConn{conn: c, version: v}
	// No timers: a load's limit is not the connection's.
	config := &spdy.Config{
		Window: spdy.ChromiumWindow, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1, Log: c.origin.session.frames.log,
	}
	if c.origin.session.options.PlainHeaders {
		config.Compression = spdy.CompressNone
	}
	if w := c.origin.session.options.Windows; w != nil {
		config.Window, config.AnswerSettings = w.SPDY(), w.Answers
	}
	if c.shared && c.origin.session.options.Push {
		guard := c.origin.session.running.Guard
		config.MaxStreams = mostPushes
		config.Accept, config.Arrived = func(st *spdy.Stream) { guard.Call(func() { s.accept(st) }) }, s.arrived
	}
	s.session = spdy.NewClient(secured, v, config)
	c.carrier = s
	return nil
}

// send opens a stream, once the server's limit allows it. The session writes
// pending frames at once.
func (s *spdyConn) send(x *exchange) (func() error, error) {
	if p := s.pushes.take(x.HTTP); p != nil {
		x.Pushed, x.Sending = true, time.Now()
		x.Sent = x.Sending
		return func() error {
			defer close(p.done)
			return s.receive(x, p.stream)
		}, nil
	}
	if s.opened++; s.opened == streamsUntold+1 {
		// SETTINGS precede any reply, so the arrival of one is enough.
		_, _ = s.first.Reply(x.ctx)
	}
	m := x.message()
	bare := m.Body == nil || m.Body == http.NoBody
	stream, err := s.session.Open(x.ctx, requestFields(s.version, m), spdy.OpenOptions{Priority: urgency(x.Priority), Fin: bare})
	if err != nil {
		if x.ctx.Err() == nil {
			s.leaving.Store(true)
		}
		return nil, err
	}
	if s.first == nil {
		s.first = stream
	}
	x.Sending = time.Now()
	x.Sent = x.Sending
	if !bare {
		s.conn.origin.session.running.Go(func() { sendBody(stream, stream.CloseWrite, m.Body) })
	}
	return func() error { return s.receive(x, stream) }, nil
}

// urgency maps a priority the way Chromium did.
func urgency(p Priority) spdy.Priority { return spdy.Priority(Highest - min(max(p, Idle), Highest)) }

func (s *spdyConn) receive(x *exchange, stream *spdy.Stream) error {
	s.conn.aborts(x, func() { stream.Reset(spdy.Cancel, x.ctx.Err()) })
	fields, err := stream.Reply(x.ctx)
	if err != nil {
		return err
	}
	x.Answered = time.Now()
	response, err := readReply(s.version, fields)
	if err != nil {
		return err
	}
	response.Body = stream
	// A load without its whole frame log is not one to measure.
	return cmp.Or(x.read(response), s.conn.origin.session.frames.log.Err())
}

func (s *spdyConn) usable() bool { return !s.leaving.Load() && s.session.Err() == nil }

func (s *spdyConn) close() error {
	err := s.session.Close()
	_ = s.session.Wait() // for those who keep pushes; why it ended is known
	return err
}

// pseudo returns a version's name for a part of HTTP's first lines (draft 3
// section 3.2, draft 2 "Standard Transactions").
func pseudo(v spdy.Version, name string) string {
	switch {
	case v != spdy.V2:
		return ":" + name
	case name == "path":
		return "url"
	}
	return name
}

// requestFields returns the fields of a request's SYN_STREAM.
func requestFields(v spdy.Version, r *http.Request) []spdy.Field {
	fields := []spdy.Field{
		{Name: pseudo(v, "host"), Value: r.URL.Host},
		{Name: pseudo(v, "method"), Value: r.Method},
		{Name: pseudo(v, "path"), Value: r.URL.RequestURI()},
		{Name: pseudo(v, "scheme"), Value: r.URL.Scheme},
		{Name: pseudo(v, "version"), Value: "HTTP/1.1"},
	}
	if r.ContentLength > 0 {
		fields = append(fields, spdy.Field{Name: "content-length", Value: strconv.FormatInt(r.ContentLength, 10)})
	}
	for _, p := range pairs(r.Header) {
		name := strings.ToLower(p.Name)
		if last := &fields[len(fields)-1]; last.Name == name {
			last.Value += "\x00" + p.Value // draft 3 section 2.6.10
			continue
		}
		fields = append(fields, spdy.Field{Name: name, Value: p.Value})
	}
	return fields
}

// readReply builds a response from a SYN_REPLY's fields, without its body.
func readReply(v spdy.Version, fields []spdy.Field) (*http.Response, error) {
	response := &http.Response{Proto: strings.ToUpper(v.String()), Header: http.Header{}, ContentLength: -1}
	for _, f := range fields {
		switch f.Name {
		case pseudo(v, "status"):
			response.Status = f.Value
		case pseudo(v, "version"):
		default:
			name := http.CanonicalHeaderKey(f.Name) // once: a long name may have many values
			response.Header[name] = slices.AppendSeq(response.Header[name], strings.SplitSeq(f.Value, "\x00"))
		}
	}
	digits, _, _ := strings.Cut(response.Status, " ")
	var err error
	if response.StatusCode, err = strconv.Atoi(digits); err != nil || response.StatusCode < 100 || response.StatusCode > 999 {
		return nil, fmt.Errorf("read the reply: invalid status %q", response.Status)
	}
	if length, err := strconv.ParseUint(response.Header.Get("Content-Length"), 10, 63); err == nil {
		response.ContentLength = int64(length)
	}
	return response, nil
}
