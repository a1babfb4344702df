package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"wiretime/media/storage"
)

// wireVersion is the first octet of each request and response.
const wireVersion = 1

// These are the octets of a request before the item's name and of a response before its
// content; see the package's documentation.
const (
	requestHead  = 1 + 1 + 4 + 8 + 8 + 1
	responseHead = 1 + 2 + 4 + 8 + 8
	longestName  = math.MaxUint8
)

// Request asks for a piece of a storage, or for a part of one.
type Request struct {
	storage.ID
	Offset int64 // of the first octet
	Length int64 // in octets; 0 means to the end; cut off at the end
}

// errMalformed is wrapped by errors about invalid requests and responses.
var errMalformed = errors.New("not a message of this version of Wiretime")

// octets encodes the request.
func (r Request) octets() ([]byte, error) {
	switch {
	case r.Item == "" || len(r.Item) > longestName:
		return nil, fmt.Errorf("an item's name of %d octets: want 1 to %d", len(r.Item), longestName)
	case r.Offset < 0 || r.Length < 0:
		return nil, fmt.Errorf("%d octets from octet %d on: must not be negative", r.Length, r.Offset)
	}
	b := append(make([]byte, 0, requestHead+len(r.Item)), wireVersion, byte(r.Resolution))
	b = binary.BigEndian.AppendUint32(b, r.Segment)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Length))
	b = append(b, byte(len(r.Item)))
	return append(b, r.Item...), nil
}

// readRequest reads one request. The error is io.EOF if there is none, and wraps
// errMalformed if the octets are not a request.
func readRequest(from io.Reader) (Request, error) {
	var head [requestHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return Request{}, err
	}
	if head[0] != wireVersion {
		return Request{}, fmt.Errorf("a request of version %d: %w", head[0], errMalformed)
	}
	offset, length := binary.BigEndian.Uint64(head[6:]), binary.BigEndian.Uint64(head[14:])
	if offset > math.MaxInt64 || length > math.MaxInt64 {
		return Request{}, fmt.Errorf("a request for %d octets from octet %d on: %w", length, offset, errMalformed)
	}
	name := make([]byte, head[22])
	if len(name) == 0 {
		return Request{}, fmt.Errorf("a request for no item: %w", errMalformed)
	}
	if _, err := io.ReadFull(from, name); err != nil {
		return Request{}, noEOF(err)
	}
	id := storage.ID{Item: string(name), Resolution: storage.Resolution(head[1]), Segment: binary.BigEndian.Uint32(head[2:])}
	return Request{ID: id, Offset: int64(offset), Length: int64(length)}, nil
}

// header is the beginning of a response.
type header struct {
	status   int
	segments uint32
	size     int64 // of the whole piece
	length   int64 // of the content that follows
}

// octets encodes the header.
func (h header) octets() []byte {
	b := append(make([]byte, 0, responseHead), wireVersion)
	b = binary.BigEndian.AppendUint16(b, uint16(h.status))
	b = binary.BigEndian.AppendUint32(b, h.segments)
	b = binary.BigEndian.AppendUint64(b, uint64(h.size))
	return binary.BigEndian.AppendUint64(b, uint64(h.length))
}

// readHeader reads the beginning of a response. The error wraps io.ErrUnexpectedEOF if it
// is truncated, and errMalformed if the octets are not a response.
func readHeader(from io.Reader) (header, error) {
	var b [responseHead]byte
	if _, err := io.ReadFull(from, b[:]); err != nil {
		return header{}, noEOF(err)
	}
	if b[0] != wireVersion {
		return header{}, fmt.Errorf("a response of version %d: %w", b[0], errMalformed)
	}
	h := header{
		status: int(binary.BigEndian.Uint16(b[1:])), segments: binary.BigEndian.Uint32(b[3:]),
		size: int64(binary.BigEndian.Uint64(b[7:])), length: int64(binary.BigEndian.Uint64(b[15:])),
	}
	if h.size < 0 || h.length < 0 || h.length > h.size || (h.status != http.StatusOK && h.length > 0) {
		return header{}, fmt.Errorf("a response with status %d and %d octets of %d: %w", h.status, h.length, h.size, errMalformed)
	}
	return h, nil
}

// cut returns the length of the requested part of a piece, and whether that part exists.
func (r Request) cut(size int64) (length int64, ok bool) {
	if r.Offset > size {
		return 0, false
	}
	length = size - r.Offset
	if r.Length > 0 {
		length = min(length, r.Length)
	}
	return length, true
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
