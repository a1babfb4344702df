package critical

import (
	"bytes"

	"github.com/quic-go/qpack"
)

// assembly reassembles octets that arrive in any order.
type assembly struct {
	data  []byte
	early map[uint64][]byte // beyond a gap, by offset
}

// assemblyLimit is how many octets of a request or a handshake are reassembled: no
// header section is longer.
const assemblyLimit = 1 << 20

func (a *assembly) add(offset uint64, content []byte) {
	if offset > assemblyLimit {
		return
	}
	if a.early == nil {
		a.early = map[uint64][]byte{}
	}
	if len(content) > len(a.early[offset]) {
		a.early[offset] = bytes.Clone(content)
	}
	for moved := true; moved; {
		moved = false
		for from, b := range a.early {
			have := uint64(len(a.data))
			if from > have {
				continue
			}
			delete(a.early, from)
			if from+uint64(len(b)) > have {
				a.data = append(a.data, b[have-from:]...)
				moved = true
			}
		}
	}
}

// requestURL returns the URL in the HEADERS frame of an HTTP/3 request (RFC
// 9114 section 7.2.2), or "".
func requestURL(data []byte) string {
	const headers = 1
	r := reader{data: data}
	for !r.failed && r.at < len(data) {
		kind, length := r.number(), r.number()
		body := r.take(int(min(length, uint64(len(data))+1)))
		if r.failed || kind != headers {
			continue
		}
		var f fields
		next := qpack.NewDecoder().Decode(body)
		for {
			field, err := next()
			if err != nil {
				break
			}
			f.note(field.Name, field.Value)
		}
		return f.url()
	}
	return ""
}

// reader reads numbers and octets. After the first read past the end it stays
// failed.
type reader struct {
	data   []byte
	at     int
	failed bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data)-r.at {
		r.failed, r.at = true, len(r.data)
		return make([]byte, 4)
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) octet() byte { return r.take(1)[0] }

// number reads a variable-length integer (RFC 9000 section 16).
func (r *reader) number() uint64 {
	first := r.octet()
	n := uint64(first & 0x3f)
	for _, b := range r.take(1<<(first>>6) - 1) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (r *reader) numbers(n int) {
	for range n {
		r.number()
	}
}

// stream reads the rest of a STREAM frame.
func (r *reader) stream(kind uint64, visit func(id, offset uint64, content []byte, ends bool)) {
	id, offset, length := r.number(), uint64(0), uint64(0)
	if kind&0x04 != 0 {
		offset = r.number()
	}
	if length = uint64(len(r.data) - r.at); kind&0x02 != 0 {
		length = r.number()
	}
	content := r.take(int(min(length, uint64(len(r.data)))))
	if !r.failed && offset < 1<<62 {
		visit(id, offset, content, kind&0x01 != 0)
	}
}
