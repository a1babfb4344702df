package spdy

import (
	"io"
	"strconv"
	"sync"
	"time"
)

// FrameLog logs the frames of sessions in qlog's form: a sequence of JSON texts
// (RFC 7464), the first of which describes the rest. A nil FrameLog writes
// nothing and costs nothing. Sessions may share one; it is safe for concurrent
// use.
//
// Each event has a name, "spdy:frame_sent" or "spdy:frame_received", a time in
// milliseconds since the reference time of the first record, and data:
//
//	session      number of the session within the log, from 1
//	version      "spdy/3.1"
//	frame        frame_type ("data", "syn_stream", ...), stream_id where the frame
//	             has one, length of the payload in octets, and fin, where set
//	window       what is left of the flow-control windows after the frame, in
//	             octets: stream, session. In frame_sent of DATA and in
//	             frame_received of WINDOW_UPDATE they are those to send with, in
//	             the other two those that the peer has to send with. Left out
//	             where the version has none
//
// and what the frame's type carries: status, delta, associated, priority, ping,
// last_stream_id, settings.
type FrameLog struct {
	mu       sync.Mutex
	w        io.Writer
	start    time.Time
	sessions int
	buf      []byte
	err      error
}

// NewFrameLog starts a log. The vantage point is "client" or "server". Nothing
// is buffered: pass a bufio.Writer if writes are expensive.
func NewFrameLog(w io.Writer, vantage string) *FrameLog {
	l := &FrameLog{w: w, start: time.Now()}
	b := append(l.buf, "\x1e"+`{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","title":"SPDY frames","trace":{"event_schemas":["urn:wiretime:qlog:events:spdy"],"vantage_point":{"type":`...)
	b = strconv.AppendQuote(b, vantage)
	b = append(b, `},"common_fields":{"time_format":"relative_to_epoch","reference_time":{"clock_type":"monotonic","epoch":"unknown","wall_clock_time":"`...)
	b = l.start.UTC().AppendFormat(b, time.RFC3339Nano)
	l.buf = append(b, "\"}}}}\n"...)
	_, l.err = l.w.Write(l.buf)
	return l
}

// Err returns the first error of the log's writer. Frames after it are lost.
func (l *FrameLog) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// session assigns a number to a new session.
func (l *FrameLog) session() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions++
	return l.sessions
}

// event is one sent or received frame.
type event struct {
	sent     bool
	kind     FrameType
	streamID uint32
	length   int
	fin      bool
	frame    Frame // for types that carry more
	delta    uint32
	// windows is how many of the two windows apply.
	windows         int
	stream, session int64
}

// add writes an event. l must not be nil.
func (l *FrameLog) add(session int, v Version, e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	b := append(l.buf[:0], "\x1e"+`{"time":`...)
	b = strconv.AppendFloat(b, float64(time.Since(l.start))/float64(time.Millisecond), 'f', 6, 64)
	if e.sent {
		b = append(b, `,"name":"spdy:frame_sent","data":{"session":`...)
	} else {
		b = append(b, `,"name":"spdy:frame_received","data":{"session":`...)
	}
	b = strconv.AppendInt(b, int64(session), 10)
	b = append(b, `,"version":"`...)
	b = append(b, v.String()...)
	b = append(b, `","frame":{"frame_type":"`...)
	b = appendLower(b, e.kind.String())
	b = append(b, '"')
	if e.streamID != 0 || e.kind == TypeWindowUpdate {
		b = appendNumber(b, "stream_id", int64(e.streamID))
	}
	b = appendNumber(b, "length", int64(e.length))
	if e.fin {
		b = append(b, `,"fin":true`...)
	}
	if e.kind == TypeWindowUpdate {
		b = appendNumber(b, "delta", int64(e.delta))
	}
	b = appendDetails(b, e.frame)
	b = append(b, '}')
	if e.windows > 0 {
		b = append(b, `,"window":{`...)
		if e.kind != TypeWindowUpdate || e.streamID != 0 {
			b = append(b, `"stream":`...)
			b = strconv.AppendInt(b, e.stream, 10)
			if e.windows > 1 {
				b = append(b, ',')
			}
		}
		if e.windows > 1 {
			b = append(b, `"session":`...)
			b = strconv.AppendInt(b, e.session, 10)
		}
		b = append(b, '}')
	}
	l.buf = append(b, "}}\n"...)
	_, l.err = l.w.Write(l.buf)
}

func appendNumber(b []byte, name string, n int64) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, n, 10)
}

func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// appendDetails writes the frame's fields beyond those that all frames have.
func appendDetails(b []byte, f Frame) []byte {
	switch f := f.(type) {
	case *SynStream:
		b = appendNumber(b, "priority", int64(f.Priority))
		if f.AssociatedID != 0 {
			b = appendNumber(b, "associated", int64(f.AssociatedID))
		}
	case *RstStream:
		b = append(b, `,"status":"`...)
		b = append(appendLower(b, f.Status.String()), '"')
	case *GoAway:
		b = appendNumber(b, "last_stream_id", int64(f.LastStreamID))
		b = append(b, `,"status":"`...)
		b = append(appendLower(b, f.Status.String()), '"')
	case *Ping:
		b = appendNumber(b, "ping", int64(f.ID))
	case *Settings:
		b = append(b, `,"settings":{`...)
		for i, s := range f.Entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(s.ID), 10)
			b = append(b, `":`...)
			b = strconv.AppendInt(b, int64(s.Value), 10)
		}
		b = append(b, '}')
	}
	return b
}
