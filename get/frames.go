package get

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	h3log "github.com/quic-go/quic-go/http3/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"golang.org/x/net/http2"
)

// spdyFrames reports the frames of a spdy.FrameLog, which writes one record at a time.
type spdyFrames struct{ story *story }

func (s spdyFrames) Write(record []byte) (int, error) {
	var e struct {
		Name string
		Data struct {
			Session int
			Frame   struct {
				Type       string `json:"frame_type"`
				Stream     *int64 `json:"stream_id"`
				Length     int64
				Fin        bool
				Delta      *int64
				Associated *int64
				Priority   *int64
				Ping       *int64
				Last       *int64 `json:"last_stream_id"`
				Status     string
				Settings   json.RawMessage
			}
			Window struct{ Stream, Session *int64 }
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(record, []byte("\x1e")), &e); err != nil {
		return 0, fmt.Errorf("read the frame log: %w", err)
	}
	f, w := e.Data.Frame, e.Data.Window
	if f.Type == "" { // the log's head
		return len(record), nil
	}
	t := telling{}
	t.number("stream ", f.Stream)
	t.add("%d octets", f.Length)
	if f.Fin {
		t.add("fin")
	}
	t.number("priority ", f.Priority)
	t.number("for stream ", f.Associated)
	t.number("delta ", f.Delta)
	t.number("id ", f.Ping)
	t.number("last stream ", f.Last)
	if f.Status != "" {
		t.add("%s", strings.ToUpper(f.Status))
	}
	if f.Settings != nil {
		t.add("settings %s", f.Settings)
	}
	t.number("window of the stream ", w.Stream)
	t.number("window of the session ", w.Session)
	if e.Data.Session > 1 {
		t.add("session %d", e.Data.Session)
	}
	s.story.frame(strings.HasSuffix(e.Name, "_sent"), strings.ToUpper(f.Type), t)
	return len(record), nil
}

// telling collects the parts of a frame's description.
type telling []string

func (t *telling) add(format string, values ...any) { *t = append(*t, fmt.Sprintf(format, values...)) }

func (t *telling) number(name string, n *int64) {
	if n != nil {
		t.add("%s%d", name, *n)
	}
}

// tap makes the story report the frames of an HTTP/2 connection.
func (o *origin) tap(c net.Conn) net.Conn {
	if o.name != h2 {
		return opaque{c}
	}
	if o.client.story == nil {
		return opaque{c}
	}
	return &tapped{
		Conn: c, received: h2Frames{story: o.client.story},
		sent: h2Frames{story: o.client.story, sent: true, skip: len(http2.ClientPreface)},
	}
}

// opaque hides the TLS connection, so that net/http does not repeat the handshake.
type opaque struct{ net.Conn }

type tapped struct {
	net.Conn
	sent, received h2Frames
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	t.received.pass(b[:n])
	return n, err
}

func (t *tapped) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	t.sent.pass(b[:n])
	return n, err
}

// h2Frames reports the frames of one direction.
type h2Frames struct {
	story *story
	sent  bool
	skip  int    // octets before the next frame
	head  []byte // received part of the next frame: its header and the described part of its payload
	lost  bool   // the octets are not HTTP/2
}

// toldOctets is how much of a payload is described: at most eight settings of 6 octets.
const toldOctets = 48

func (f *h2Frames) pass(b []byte) {
	for len(b) > 0 && !f.lost {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			f.skip -= n
			b = b[n:]
			continue
		}
		n := min(f.missing(), len(b))
		f.head = append(f.head, b[:n]...)
		b = b[n:]
		if f.missing() == 0 {
			f.tell()
		}
	}
}

// frameHeader is the length of a frame's header (RFC 9113 section 4.1).
const frameHeader = 9

func (f *h2Frames) missing() int {
	if len(f.head) < frameHeader {
		return frameHeader - len(f.head)
	}
	return frameHeader + min(f.length(), toldOctets) - len(f.head)
}

func (f *h2Frames) length() int { return int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2]) }

func (f *h2Frames) tell() {
	h, err := http2.ReadFrameHeader(bytes.NewReader(f.head))
	if err != nil || f.head[3] == 'P' && bytes.HasPrefix(f.head, []byte("HTTP")) {
		f.lost = true
		return
	}
	payload := f.head[frameHeader:]
	f.skip, f.head = int(h.Length)-len(payload), f.head[:0]
	t := telling{fmt.Sprintf("stream %d", h.StreamID), fmt.Sprintf("%d octets", h.Length)}
	flags := map[http2.Flags]string{http2.FlagDataPadded: "padded"}
	switch h.Type {
	case http2.FrameSettings, http2.FramePing:
		flags = map[http2.Flags]string{http2.FlagSettingsAck: "ack"}
	case http2.FrameData, http2.FrameHeaders:
		flags[http2.FlagDataEndStream] = "end of stream"
	}
	for bit := http2.Flags(1); bit != 0; bit <<= 1 {
		if word, ok := flags[bit]; ok && h.Flags.Has(bit) {
			t.add("%s", word)
		}
	}
	number := func(at int) uint32 { return binary.BigEndian.Uint32(payload[at:]) }
	switch {
	case h.Type == http2.FrameWindowUpdate && len(payload) >= 4:
		t.add("delta %d", number(0)&(1<<31-1))
	case h.Type == http2.FrameRSTStream && len(payload) >= 4:
		t.add("%s", http2.ErrCode(number(0)))
	case h.Type == http2.FrameGoAway && len(payload) >= 8:
		t.add("last stream %d", number(0)&(1<<31-1))
		t.add("%s", http2.ErrCode(number(4)))
	case h.Type == http2.FrameSettings:
		for ; len(payload) >= 6; payload = payload[6:] {
			t.add("%s", http2.Setting{ID: http2.SettingID(binary.BigEndian.Uint16(payload)), Val: number(2)})
		}
	}
	f.story.frame(f.sent, h.Type.String(), t)
}

// h3Frames reports the frames of HTTP/3 and writes all events to the qlog.
type h3Frames struct {
	file  qlogwriter.Recorder // nil for none
	story *story
}

func (r h3Frames) RecordEvent(e qlogwriter.Event) {
	if r.file != nil {
		r.file.RecordEvent(e)
	}
	switch e := e.(type) {
	case h3log.FrameCreated:
		r.tell(true, int64(e.StreamID), e.Raw, e.Frame)
	case h3log.FrameParsed:
		r.tell(false, int64(e.StreamID), e.Raw, e.Frame)
	}
}

func (r h3Frames) tell(sent bool, stream int64, raw h3log.RawInfo, f h3log.Frame) {
	t := telling{fmt.Sprintf("stream %d", stream)}
	if raw.PayloadLength != h3log.OmitLength {
		t.add("%d octets", raw.PayloadLength)
	}
	name := "unknown"
	switch frame := f.Frame.(type) {
	case h3log.DataFrame:
		name = "DATA"
	case h3log.HeadersFrame:
		name = "HEADERS"
		t.add("%d fields", len(frame.HeaderFields))
	case h3log.SettingsFrame:
		name = "SETTINGS"
	case h3log.GoAwayFrame:
		name = "GOAWAY"
		t.add("id %d", frame.StreamID)
	case h3log.PushPromiseFrame:
		name = "PUSH_PROMISE"
	case h3log.CancelPushFrame:
		name = "CANCEL_PUSH"
	case h3log.MaxPushIDFrame:
		name = "MAX_PUSH_ID"
	case h3log.PriorityUpdateFrame:
		name = "PRIORITY_UPDATE"
	case h3log.ReservedFrame:
		name = "reserved"
	}
	r.story.frame(sent, name, t)
}

func (r h3Frames) Close() error {
	if r.file != nil {
		return r.file.Close()
	}
	return nil
}

// milliseconds formats a duration.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
