package critical

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"

	"golang.org/x/net/http2/hpack"

	"wiretime/evidence"
	"wiretime/spdy"
)

// readHTTP1 finds the requests and responses of an HTTP/1.1 connection (RFC
// 9112).
func readHTTP1(texts [2]*text, scheme string) []*exchange {
	var list []*exchange
	var requests []*http.Request
	eachMessage(texts[up].data, func(r *bufio.Reader) (next bool) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return false
		}
		requests = append(requests, request)
		_, err = io.Copy(io.Discard, request.Body)
		return err == nil
	}, func(i, from, to int) {
		if i < len(requests) {
			r := requests[i]
			x := &exchange{url: evidence.Address(scheme + "://" + r.Host + r.URL.RequestURI())}
			x.add(up, texts[up], from, to)
			list = append(list, x)
		}
	})
	answered, at := 0, 0
	eachMessage(texts[down].data, func(r *bufio.Reader) bool {
		if answered >= len(requests) {
			return false
		}
		at = answered // also after an interim response, which belongs to the final one
		response, err := http.ReadResponse(r, requests[answered])
		if err != nil {
			return false
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		if response.StatusCode >= 200 {
			answered++
		}
		return err == nil
	}, func(_, from, to int) {
		if at < len(list) {
			list[at].add(down, texts[down], from, to)
		}
	})
	return list
}

// eachMessage calls read for message after message, as long as it succeeds, and calls
// found with the place of each. A truncated message ends with the data.
func eachMessage(data []byte, read func(*bufio.Reader) bool, found func(i, from, to int)) {
	source := bytes.NewReader(data)
	buffer := bufio.NewReader(source)
	for i, from := 0, 0; from < len(data); i++ {
		ok := read(buffer)
		to := len(data) - source.Len() - buffer.Buffered()
		found(i, from, to)
		if !ok {
			return
		}
		from = to
	}
}

// streams holds the exchanges of a connection with streams, in the order in
// which they appeared.
type streams struct {
	texts [2]*text
	list  []*exchange
	byID  map[uint32]*exchange
	room  int // octets that further URLs may have
}

func newStreams(texts [2]*text) *streams {
	return &streams{texts: texts, byID: map[uint32]*exchange{}, room: 1<<20 + 16*(len(texts[up].data)+len(texts[down].data))}
}

// name sets an exchange's URL. Header compression repeats a long URL in a few octets, so
// the URLs of a connection are limited to 16 times its octets and 1 MiB. Requests beyond
// that count as unreadable.
func (s *streams) name(x *exchange, f fields) {
	if s.room -= len(f.scheme) + len(f.authority) + len(f.path); s.room >= 0 {
		x.url = f.url()
	}
}

// add assigns a frame to its stream.
func (s *streams) add(d direction, id uint32, from, to int) *exchange {
	x := s.byID[id]
	if x == nil {
		x = &exchange{}
		s.byID[id] = x
		s.list = append(s.list, x)
	}
	x.add(d, s.texts[d], from, to)
	return x
}

// fields collects the parts of a URL from a request's fields.
type fields struct{ scheme, authority, path string }

func (f *fields) note(name, value string) {
	switch name {
	case ":scheme", "scheme":
		f.scheme = value
	case ":authority", ":host", "host":
		if f.authority == "" {
			f.authority = value
		}
	case ":path", "url":
		f.path = value
	}
}

func (f *fields) url() string {
	if f.path == "" {
		return ""
	}
	return evidence.Address(f.scheme + "://" + f.authority + f.path)
}

// Types and flags of HTTP/2 frames (RFC 9113 section 6).
const (
	h2Data         = 0
	h2Headers      = 1
	h2Continuation = 9

	h2EndHeaders = 0x4
	h2Padded     = 0x8
	h2Priority   = 0x20
)

// readHTTP2 finds the streams of an HTTP/2 connection.
func readHTTP2(texts [2]*text) []*exchange {
	const preface = 24
	s := newStreams(texts)
	decoder := hpack.NewDecoder(4096, nil)
	decoder.SetAllowedMaxDynamicTableSize(1 << 16) // the decoder takes time in proportion to it for each field
	for d, t := range texts {
		var block []byte
		offset := 0
		if direction(d) == up {
			offset = preface
		}
		for offset+9 <= len(t.data) {
			head := t.data[offset:]
			length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
			kind, flags, id := head[3], head[4], binary.BigEndian.Uint32(head[5:])&0x7fffffff
			end := offset + 9 + length
			if end > len(t.data) {
				break
			}
			if id != 0 && (kind == h2Data || kind == h2Headers || kind == h2Continuation) {
				x := s.add(direction(d), id, offset, end)
				if direction(d) == up && kind != h2Data {
					block = append(block, headerBlock(t.data[offset+9:end], kind, flags)...)
					if flags&h2EndHeaders != 0 {
						if list, err := decoder.DecodeFull(block); err == nil && x.url == "" {
							s.name(x, requestFields(list))
						}
						block = nil
					}
				}
			}
			offset = end
		}
	}
	return s.list
}

// headerBlock returns the field block fragment in the payload of a HEADERS or
// CONTINUATION frame.
func headerBlock(payload []byte, kind, flags byte) []byte {
	if kind != h2Headers {
		return payload
	}
	padding := 0
	if flags&h2Padded != 0 && len(payload) > 0 {
		padding, payload = int(payload[0]), payload[1:]
	}
	if flags&h2Priority != 0 {
		payload = payload[min(5, len(payload)):]
	}
	return payload[:max(0, len(payload)-padding)]
}

func requestFields(list []hpack.HeaderField) fields {
	var f fields
	for _, field := range list {
		f.note(field.Name, field.Value)
	}
	return f
}

// readSPDY finds the streams of a SPDY connection, including those that the server
// pushed.
func readSPDY(texts [2]*text) []*exchange {
	s := newStreams(texts)
	version := spdy.V31
	if texts[up].data[1] == 2 {
		version = spdy.V2
	}
	for d, t := range texts {
		framer := spdy.NewFramer(version, io.Discard, bytes.NewReader(t.data), spdy.CompressSafe)
		const header = 8
		for offset := 0; offset+header <= len(t.data); {
			end := offset + header + int(binary.BigEndian.Uint32(t.data[offset+4:])&0xffffff)
			if end > len(t.data) {
				break
			}
			frame, err := framer.ReadFrame()
			if err != nil && !errors.As(err, new(*spdy.StreamError)) {
				break
			}
			switch f := frame.(type) {
			case *spdy.SynStream:
				x := s.add(direction(d), f.StreamID, offset, end)
				var names fields
				for _, field := range f.Fields {
					names.note(field.Name, field.Value)
				}
				s.name(x, names)
			case *spdy.SynReply:
				s.add(direction(d), f.StreamID, offset, end)
			case *spdy.Headers:
				s.add(direction(d), f.StreamID, offset, end)
			case *spdy.Data:
				s.add(direction(d), f.StreamID, offset, end)
			}
			offset = end
		}
	}
	return s.list
}
