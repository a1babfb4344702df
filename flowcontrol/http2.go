package flowcontrol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// maxWindow is the largest window of SPDY and HTTP/2 (RFC 9113 section 6.9.1).
const maxWindow = 1<<31 - 1

// readHTTP2 reads the frames of an HTTP/2 connection (RFC 9113).
func readHTTP2(texts *[2]text) *spoken {
	s := &spoken{}
	for side := range texts {
		t := &texts[side]
		offset := 0
		if Side(side) == Client {
			offset = min(len(http2.ClientPreface), len(t.data))
		}
		s.broken[side] = s.readHTTP2(t, Side(side), offset)
	}
	return s
}

// readHTTP2 reads the frames of one end from an offset on. It returns why it stopped before the end, if it did.
func (s *spoken) readHTTP2(t *text, side Side, offset int) string {
	const header = 9
	source := bytes.NewReader(t.data[offset:])
	framer := http2.NewFramer(io.Discard, source)
	framer.SetMaxReadFrameSize(1<<24 - 1)
	framer.SetReuseFrames()
	fields := newFields(len(t.data))
	decoder := hpack.NewDecoder(4096, nil)
	decoder.SetAllowedMaxDynamicTableSize(1 << 16) // the decoder takes time in proportion to it for each field
	decoder.SetMaxStringLength(longestURL)
	for offset+header <= len(t.data) {
		head := t.data[offset:]
		end := offset + header + int(head[0])<<16 + int(head[1])<<8 + int(head[2])
		if end > len(t.data) {
			return fmt.Sprintf("the last %d octets are an incomplete frame", len(t.data)-offset)
		}
		stream := uint64(binary.BigEndian.Uint32(head[5:]) &^ (1 << 31))
		read, err := framer.ReadFrame()
		if err != nil {
			s.add(frame{sender: side, kind: "INVALID", onStream: stream != 0, stream: stream, initial: -1, detail: err.Error()}, t, offset, end)
			if !errors.As(err, new(http2.StreamError)) {
				return "the connection breaks HTTP/2: " + err.Error()
			}
			offset = end
			continue
		}
		f := s.add(frame{sender: side, kind: read.Header().Type.String(), onStream: stream != 0, stream: stream, initial: -1}, t, offset, end)
		switch read := read.(type) {
		case *http2.DataFrame:
			f.run, f.octets, f.fin = true, int64(read.Length), read.StreamEnded()
			s.pieces[side] = t.pieces(s.pieces[side], offset+header, end, f)
		case *http2.HeadersFrame:
			f.fin, f.opens = read.StreamEnded(), side == Client
			f.detail = fields.hpack(decoder, read.HeaderBlockFragment(), read.HeadersEnded())
		case *http2.PushPromiseFrame:
			f.detail = fmt.Sprintf("promises stream %d: %s", read.PromiseID, fields.hpack(decoder, read.HeaderBlockFragment(), read.HeadersEnded()))
		case *http2.ContinuationFrame:
			f.detail = fields.hpack(decoder, read.HeaderBlockFragment(), read.HeadersEnded())
		case *http2.SettingsFrame:
			describeSettings(f, read)
		case *http2.WindowUpdateFrame:
			f.updates, f.delta = true, int64(read.Increment)
		case *http2.RSTStreamFrame:
			f.reset, f.detail = true, read.ErrCode.String()
		case *http2.GoAwayFrame:
			f.detail = fmt.Sprintf("last stream %d, %s", read.LastStreamID, read.ErrCode)
		}
		offset = end
	}
	return ""
}

func describeSettings(f *frame, read *http2.SettingsFrame) {
	if read.IsAck() {
		f.detail = "ACK"
		return
	}
	var list []string
	for i := range read.NumSettings() {
		setting := read.Setting(i)
		if setting.ID == http2.SettingInitialWindowSize {
			f.initial = int64(setting.Val)
		}
		if i < longestList {
			list = append(list, fmt.Sprintf("%s %d", setting.ID, setting.Val))
		}
	}
	f.detail = strings.Join(list, ", ")
}

// Limits of what is kept of a frame: an end may send more than anybody wants to read.
const (
	longestURL  = 8 << 10 // octets that a field may have
	longestText = 200     // octets of a URL that are shown
	longestList = 20      // settings that are shown
)

// fields reads what header blocks say of a request or a response. Header compression repeats a long field in an octet, so what is
// read is limited to 64 times the octets of the direction.
type fields struct{ room int }

func newFields(octets int) *fields { return &fields{room: 1<<20 + 64*octets} }

// hpack decodes a fragment of a header block, which may be the block's last, and returns what it says.
func (f *fields) hpack(decoder *hpack.Decoder, fragment []byte, last bool) string {
	if f.room <= 0 {
		return ""
	}
	var line requestLine
	decoder.SetEmitFunc(func(field hpack.HeaderField) {
		f.room -= len(field.Name) + len(field.Value)
		line.note(field.Name, field.Value)
		decoder.SetEmitEnabled(f.room > 0)
	})
	_, _ = decoder.Write(fragment) // an error leaves out fields
	if last {
		_ = decoder.Close() // the next block may begin with a new size of the table
	}
	return line.String()
}

// requestLine is what a request or a response begins with.
type requestLine struct{ method, scheme, authority, path, status string }

func (l *requestLine) note(name, value string) {
	switch name {
	case ":method", "method":
		l.method = value
	case ":scheme", "scheme":
		l.scheme = value
	case ":authority", ":host", "host":
		l.authority = value
	case ":path", "url":
		l.path = value
	case ":status", "status":
		l.status = value
	}
}

// String returns the line, shortened.
func (l *requestLine) String() string {
	text := l.status
	if l.path != "" {
		text = strings.TrimSpace(l.method + " " + l.scheme + "://" + l.authority + l.path)
	}
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}
