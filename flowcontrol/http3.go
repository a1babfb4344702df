package flowcontrol

import (
	"fmt"
	"strings"

	"github.com/quic-go/qpack"

	"wiretime/protection"
)

// http3Stream reads what one end of a connection says first on an HTTP/3 stream (RFC 9114): its control stream, and the header section
// of requests and responses. It is nil when nothing more is to be read.
type http3Stream struct {
	control bool
	octets  protection.Assembly
	at      int // octets that have been read
}

// newHTTP3Stream returns the reader of a stream.
func newHTTP3Stream(id uint64) *http3Stream {
	const oneWay = 2
	return &http3Stream{control: id&oneWay != 0}
}

// Types of frames and streams.
const (
	http3Data     = 0
	http3Headers  = 1
	http3Settings = 4
	http3GoAway   = 7

	http3Control = 0
)

// mostControl is how many octets of a control stream, or of what precedes a body, are read.
const mostControl = 64 << 10

// read takes in octets of the stream and returns the frames that are whole now.
func (h *http3Stream) read(offset uint64, octets []byte) []frame {
	if h.at < 0 {
		return nil
	}
	h.octets.Add(offset, octets)
	var list []frame
	for h.at >= 0 {
		r := protection.NewReader(h.octets.Data[h.at:])
		if h.control && h.at == 0 {
			kind := r.Number()
			if r.Failed() {
				break
			}
			if kind != http3Control {
				h.stop()
				break
			}
			h.at = len(h.octets.Data) - r.Left()
			continue
		}
		kind, length := r.Number(), r.Number()
		if r.Failed() {
			break
		}
		if length > mostControl || h.at > mostControl || kind == http3Data {
			h.stop()
			break
		}
		body := r.Take(length)
		if r.Failed() {
			break
		}
		h.at = len(h.octets.Data) - r.Left()
		switch kind {
		case http3Headers:
			list = append(list, frame{kind: "HEADERS", detail: describeQPACK(body)})
			if !strings.HasPrefix(list[len(list)-1].detail, "1") { // not an interim response
				h.stop()
			}
		case http3Settings:
			list = append(list, frame{kind: "SETTINGS", detail: describeHTTP3Settings(body)})
		case http3GoAway:
			list = append(list, frame{kind: "GOAWAY", detail: fmt.Sprint("last ", protection.NewReader(body).Number())})
		}
	}
	return list
}

// stop drops what follows.
func (h *http3Stream) stop() { h.at, h.octets = -1, protection.Assembly{} }

func describeHTTP3Settings(body []byte) string {
	names := map[uint64]string{1: "QPACK_MAX_TABLE_CAPACITY", 6: "MAX_FIELD_SECTION_SIZE", 7: "QPACK_BLOCKED_STREAMS", 8: "ENABLE_CONNECT_PROTOCOL", 0x33: "H3_DATAGRAM"}
	var list []string
	for r := protection.NewReader(body); r.Left() > 0 && len(list) < longestList; {
		id, value := r.Number(), r.Number()
		if r.Failed() {
			break
		}
		name := names[id]
		if name == "" {
			name = fmt.Sprintf("%#x", id)
		}
		list = append(list, fmt.Sprintf("%s %d", name, value))
	}
	return strings.Join(list, ", ")
}

// describeQPACK returns what a header section says of a request or a response; empty if it needs QPACK's dynamic table.
func describeQPACK(section []byte) string {
	var line requestLine
	next := qpack.NewDecoder().Decode(section)
	for {
		field, err := next()
		if err != nil {
			return line.String()
		}
		line.note(field.Name, field.Value)
	}
}
