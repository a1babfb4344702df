package critical

import (
	"bytes"
	"container/heap"

	"github.com/quic-go/qpack"

	"wiretime/protection"
)

// assembly reassembles octets that arrive in any order.
type assembly struct {
	data  []byte
	early early
	read  int // octets of data that its reader is done with
}

// early is a heap of pieces beyond a gap, the first one on top.
type early []fragment

type fragment struct {
	from    uint64
	content []byte
}

func (e early) Len() int           { return len(e) }
func (e early) Less(i, j int) bool { return e[i].from < e[j].from }
func (e early) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *early) Push(x any)        { *e = append(*e, x.(fragment)) }
func (e *early) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// assemblyLimit is how many octets of a request or a handshake are reassembled: no
// header section is longer.
const assemblyLimit = 1 << 20

func (a *assembly) add(offset uint64, content []byte) {
	if offset > assemblyLimit {
		return
	}
	if offset > uint64(len(a.data)) {
		heap.Push(&a.early, fragment{offset, bytes.Clone(content)})
		return
	}
	a.append(fragment{offset, content})
	for len(a.early) > 0 && a.early[0].from <= uint64(len(a.data)) {
		a.append(heap.Pop(&a.early).(fragment))
	}
}

// append adds what is new of a fragment that leaves no gap.
func (a *assembly) append(f fragment) {
	if have := uint64(len(a.data)) - f.from; have < uint64(len(f.content)) {
		a.data = append(a.data, f.content[have:]...)
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
