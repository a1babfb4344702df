package emulator

// packet is a packet on the path.
type packet struct {
	due    int64  // at the far end, CLOCK_MONOTONIC ns
	number uint64 // arrival order, which breaks ties
	link   *link
	data   []byte
}

// deliveries is a binary heap of the packets on the path, ordered by when they are due.
// container/heap would box every packet in an interface.
type deliveries []packet

func (d deliveries) before(i, j int) bool {
	if d[i].due != d[j].due {
		return d[i].due < d[j].due
	}
	return d[i].number < d[j].number
}

func (d *deliveries) push(p packet) {
	*d = append(*d, p)
	h := *d
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (d *deliveries) pop() packet {
	h := *d
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], packet{}
	h = h[:last]
	*d = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h.before(child+1, child) {
			child++
		}
		if !h.before(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	return first
}
