package mahimahi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"wiretime/site"
)

// record is the message RequestResponse of Mahimahi's http_record.proto. The two messages
// are decoded by hand: they have ten fields and use two of the four wire types.
type record struct {
	ip       string // 1
	port     uint64 // 2
	scheme   uint64 // 3
	request  httpMessage
	response httpMessage
}

// httpMessage is the message HTTPMessage.
type httpMessage struct {
	present   bool
	firstLine string        // 1
	header    []site.Header // 2
	body      []byte        // 3: as it crossed the wire, in chunks if it came in chunks
}

// These are the values of the enumeration Scheme.
const (
	schemeHTTP  = 1
	schemeHTTPS = 2
)

func parseRecord(octets []byte) (*record, error) {
	r := &record{}
	err := eachField(octets, func(f field) (err error) {
		switch f.number {
		case 1:
			r.ip = string(f.octets)
		case 2:
			r.port = f.value
		case 3:
			r.scheme = f.value
		case 4:
			err = r.request.parse(f.octets)
		case 5:
			err = r.response.parse(f.octets)
		}
		return err
	})
	if err == nil && !(r.request.present && r.response.present) {
		err = errors.New("no request and response in it")
	}
	return r, err
}

func (m *httpMessage) parse(octets []byte) error {
	m.present = true
	return eachField(octets, func(f field) (err error) {
		switch f.number {
		case 1:
			m.firstLine = string(f.octets)
		case 2:
			var h site.Header
			err = eachField(f.octets, func(f field) error {
				switch f.number {
				case 1:
					h.Name = string(f.octets)
				case 2:
					h.Value = string(f.octets)
				}
				return nil
			})
			m.header = append(m.header, h)
		case 3:
			m.body = f.octets
		}
		return err
	})
}

// field is a field of a Protocol Buffers message.
type field struct {
	number uint64
	value  uint64 // value of a varint
	octets []byte // content of a length-delimited field
}

// These are the wire types of Protocol Buffers.
const (
	varint  = 0
	fixed64 = 1
	lengthy = 2
	fixed32 = 5
)

var errMessage = errors.New("not a Protocol Buffers message, or truncated")

// eachField calls f with each field of a message in order.
func eachField(octets []byte, f func(field) error) error {
	for len(octets) > 0 {
		tag, n := binary.Uvarint(octets)
		if n <= 0 {
			return errMessage
		}
		octets = octets[n:]
		next := field{number: tag >> 3}
		length := uint64(0)
		switch tag & 7 {
		case varint:
			if next.value, n = binary.Uvarint(octets); n <= 0 {
				return errMessage
			}
			length = uint64(n)
		case fixed64:
			length = 8
		case fixed32:
			length = 4
		case lengthy:
			if length, n = binary.Uvarint(octets); n <= 0 {
				return errMessage
			}
			octets = octets[n:]
		default:
			return fmt.Errorf("%w: wire type %d", errMessage, tag&7)
		}
		if length > uint64(len(octets)) {
			return errMessage
		}
		if tag&7 == lengthy {
			next.octets = octets[:length]
		}
		octets = octets[length:]
		if err := f(next); err != nil {
			return err
		}
	}
	return nil
}
