package spdy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serverConn holds what the requests of one session share.
type serverConn struct {
	server  *Server
	ctx     context.Context
	handler http.Handler
	version Version
	remote  string
	tls     *tls.ConnectionState
	// readTimeout is how long a request may take to arrive; 0 means no limit.
	readTimeout time.Duration
}

// serve answers the request on one stream.
func (c *serverConn) serve(st *Stream) {
	r, err := c.version.request(st.Fields())
	w := &responseWriter{conn: c, st: st, header: make(http.Header)}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		w.finish()
		return
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	st.s.mu.Lock()
	st.onFail = cancel
	if st.err != nil {
		cancel(st.err)
	}
	remoteDone := st.remoteDone && st.buffer.length == 0
	st.s.mu.Unlock()
	r.RemoteAddr, r.TLS = c.remote, c.tls
	r = r.WithContext(ctx)
	w.body = &requestBody{st: st, r: r, left: r.ContentLength}
	switch {
	case !remoteDone:
		r.Body = w.body
		if c.readTimeout > 0 {
			_ = st.SetReadDeadline(time.Now().Add(c.readTimeout)) // it never fails
			defer func() { _ = st.SetReadDeadline(time.Time{}) }()
		}
		if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
			w.body.proceed = w.proceed
		}
	case r.ContentLength > 0:
		w.body.wrong = true
		r.Body = w.body
	default:
		r.Body, r.ContentLength = http.NoBody, 0
	}
	w.request = r
	c.run(w, r)
}

// run calls the handler and ends the response.
func (c *serverConn) run(w *responseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			w.finish()
			return
		}
		if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			stack := make([]byte, 64<<10)
			c.server.printf("spdy: panic serving %s: %v\n%s", c.remote, p, stack[:runtime.Stack(stack, false)])
		}
		w.release()
		if w.st != nil {
			w.st.Reset(InternalError, errPanicked)
		} else {
			w.pushed.opened <- errPanicked
		}
	}()
	c.handler.ServeHTTP(w, r)
}

var errPanicked = errors.New("the handler panicked")

// requestBody reads a request's body and checks its Content-Length.
type requestBody struct {
	st      *Stream
	r       *http.Request
	left    int64  // of Content-Length; -1 if there is none
	wrong   bool   // it does not match Content-Length
	proceed func() // tells the client to continue, once
	closed  bool
}

var errContentLength = errors.New("spdy: the request's body does not match its Content-Length")

func (b *requestBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.proceed != nil {
		b.proceed()
		b.proceed = nil
	}
	if b.wrong {
		return 0, errContentLength
	}
	n, err := b.st.Read(p)
	if b.r.ContentLength >= 0 {
		if b.left -= int64(n); b.left < 0 || errors.Is(err, io.EOF) && b.left > 0 {
			b.wrong = true
			return max(0, n+int(min(b.left, 0))), errContentLength
		}
	}
	if errors.Is(err, io.EOF) {
		b.st.s.version.addTrailer(&b.r.Trailer, b.st.Trailer())
	}
	return n, err
}

// mismatch reports whether the body is known not to match Content-Length.
func (b *requestBody) mismatch() bool {
	b.st.s.mu.Lock()
	defer b.st.s.mu.Unlock()
	return b.wrong || b.r.ContentLength >= 0 && b.st.remoteDone && b.st.received != b.r.ContentLength
}

func (b *requestBody) Close() error {
	b.closed = true
	return nil
}

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// recycle returns a buffer to bodies; nil is allowed.
func recycle(buf *[]byte) {
	if buf != nil {
		*buf = (*buf)[:0]
		bodies.Put(buf)
	}
}

// responseWriter is the http.ResponseWriter of a handler. It buffers a packet or
// two.
type responseWriter struct {
	conn    *serverConn
	st      *Stream
	request *http.Request // nil if it was invalid
	body    *requestBody
	header  http.Header
	buf     *[]byte    // nil if nothing is buffered
	status  int        // 0 until WriteHeader
	fields  []Field    // of the SYN_REPLY; nil until WriteHeader
	sent    bool       // SYN_REPLY
	trailer []string   // announced
	written int64      // octets of the body
	err     error      // of the stream
	pushed  *pushedURL // of a pushed response
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	if w.status != 0 || status < 100 || status > 999 {
		return
	}
	if status < 200 {
		if status == http.StatusContinue {
			w.proceed()
		}
		return // others cannot be expressed (section 2.6.2)
	}
	if w.body != nil && w.body.mismatch() {
		status = http.StatusBadRequest // section 3.2.1
		w.header = http.Header{"Content-Length": {"0"}}
	}
	w.status = status
	if trailer := announced(w.header); trailer != nil {
		w.trailer = slices.Sorted(maps.Keys(trailer))
	}
	if w.request != nil && w.pushed == nil {
		for _, p := range associated(w.header[associatedContent], min(w.st.priority+1, Lowest)) {
			// The client requests what cannot be pushed.
			_ = w.push(p.url, p.priority, nil)
		}
	}
	header := w.replyHeader()
	w.fields = w.conn.version.replyFields(status, header)
	if _, ok := header["Date"]; !ok {
		w.fields = insertField(w.fields, Field{"date", time.Now().UTC().Format(http.TimeFormat)})
	}
}

// replyHeader returns the handler's header without what is not sent or is sent as
// the trailer.
func (w *responseWriter) replyHeader() http.Header {
	header := w.header
	special := len(w.trailer) > 0
	for key := range header {
		special = special || key == associatedContent || strings.HasPrefix(key, http.TrailerPrefix)
	}
	if special {
		header = maps.Clone(header)
		maps.DeleteFunc(header, func(key string, _ []string) bool {
			return key == associatedContent || strings.HasPrefix(key, http.TrailerPrefix) || slices.Contains(w.trailer, key)
		})
		if len(w.trailer) > 0 {
			header["Trailer"] = w.trailer
		}
	}
	return header
}

// bodyless reports whether the response has no body whatever the handler
// writes.
func (w *responseWriter) bodyless() bool {
	return w.request != nil && w.request.Method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

func (w *responseWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		if _, ok := w.header["Content-Type"]; !ok && len(p) > 0 {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.bodyless() {
		if w.request.Method == http.MethodHead {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	}
	if w.err != nil {
		return 0, w.err
	}
	w.written += int64(len(p))
	if w.buf == nil {
		w.buf = bodies.Get().(*[]byte)
	}
	if len(*w.buf)+len(p) > cap(*w.buf) {
		if w.flush(); w.err != nil {
			return 0, w.err
		}
		if len(p) >= cap(*w.buf) {
			n := 0
			n, w.err = w.send(p)
			return n, w.err
		}
	}
	*w.buf = append(*w.buf, p...)
	return len(p), nil
}

// flush sends what is buffered.
func (w *responseWriter) flush() {
	if w.buf != nil && len(*w.buf) > 0 && w.err == nil {
		_, w.err = w.send(*w.buf)
		*w.buf = (*w.buf)[:0]
	}
}

// send sends octets of the body, after the SYN_REPLY if that has not been sent.
func (w *responseWriter) send(p []byte) (int, error) {
	if err := w.reply(false); err != nil {
		return 0, err
	}
	return w.st.Write(p)
}

// reply sends the response's header, unless that has been sent.
func (w *responseWriter) reply(fin bool) error {
	if w.sent {
		return nil
	}
	fields := w.fields
	w.sent, w.fields = true, nil
	if w.pushed != nil {
		return w.pushed.open(w, fields, fin)
	}
	return w.st.SendReply(fields, fin)
}

// Flush sends what the handler has written.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError does what Flush does, and returns its error.
func (w *responseWriter) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.flush()
	if w.err == nil {
		w.err = w.reply(false)
	}
	return w.err
}

// proceed sends the reply 100 Continue.
func (w *responseWriter) proceed() {
	if w.status == 0 && w.body != nil && w.body.proceed != nil && w.pushed == nil {
		w.body.proceed = nil
		_ = w.st.SendReply(w.conn.version.replyFields(http.StatusContinue, nil), false)
	}
}

// finish ends the response.
func (w *responseWriter) finish() {
	defer w.release()
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	trailer := w.trailerFields()
	if !w.sent {
		// The response is complete, so its length is known.
		if _, ok := valueOf(w.fields, "content-length"); !ok && len(trailer) == 0 && !w.bodyless() {
			w.fields = append(w.fields, Field{"content-length", strconv.FormatInt(w.written, 10)})
		}
	}
	if w.err != nil {
		return
	}
	if w.pushed == nil {
		defer w.st.drain()
	}
	if len(trailer) > 0 {
		if w.FlushError() == nil {
			_ = w.st.SendTrailer(trailer)
		}
		return
	}
	empty := w.buf == nil || len(*w.buf) == 0
	// An error was caused by the client or the session, and is reported there.
	if sent := w.sent; w.reply(empty) != nil || empty && !sent {
		return
	}
	w.st.end(w.buf)
	w.buf = nil
}

// trailerFields returns the announced trailer fields, and those with
// http.TrailerPrefix.
func (w *responseWriter) trailerFields() []Field {
	h := make(http.Header)
	for _, key := range w.trailer {
		if values := w.header[key]; len(values) > 0 {
			h[key] = values
		}
	}
	for key, values := range w.header {
		if name, ok := strings.CutPrefix(key, http.TrailerPrefix); ok {
			h[name] = values
		}
	}
	return w.conn.version.appendHeader(nil, h)
}

func (w *responseWriter) release() {
	recycle(w.buf)
	w.buf = nil
}

// SetReadDeadline supports http.ResponseController.
func (w *responseWriter) SetReadDeadline(t time.Time) error {
	if w.st == nil {
		return http.ErrNotSupported
	}
	return w.st.SetReadDeadline(t)
}

// SetWriteDeadline supports http.ResponseController.
func (w *responseWriter) SetWriteDeadline(t time.Time) error {
	if w.st == nil {
		return http.ErrNotSupported
	}
	return w.st.SetWriteDeadline(t)
}
