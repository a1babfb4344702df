package protection

import (
	"bytes"
	"container/heap"
)

// Assembly reassembles octets that arrive in any order. It ignores what begins beyond the first MiB.
type Assembly struct {
	Data  []byte // from the first octet to the first gap
	early early
	read  int // octets of Data that its reader is done with
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

// assemblyLimit is the largest offset of octets that are reassembled. No header section or handshake is longer.
const assemblyLimit = 1 << 20

// Add adds octets at an offset. It keeps no reference to content.
func (a *Assembly) Add(offset uint64, content []byte) {
	if offset > assemblyLimit {
		return
	}
	if offset > uint64(len(a.Data)) {
		heap.Push(&a.early, fragment{offset, bytes.Clone(content)})
		return
	}
	a.append(fragment{offset, content})
	for len(a.early) > 0 && a.early[0].from <= uint64(len(a.Data)) {
		a.append(heap.Pop(&a.early).(fragment))
	}
}

// append adds the new octets of a fragment that leaves no gap.
func (a *Assembly) append(f fragment) {
	if have := uint64(len(a.Data)) - f.from; have < uint64(len(f.content)) {
		a.Data = append(a.Data, f.content[have:]...)
	}
}
