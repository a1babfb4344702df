package critical

import (
	"bytes"

	"github.com/quic-go/qpack"

	"wiretime/protection"
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
	r := protection.NewReader(data)
	for !r.Failed() && r.Left() > 0 {
		kind, length := r.Number(), r.Number()
		body := r.Take(length)
		if r.Failed() || kind != headers {
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
