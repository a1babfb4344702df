package emulator

// packet is a packet on the path.
type packet struct {
	due    int64  // departure, CLOCK_MONOTONIC ns
	number uint64 // arrival order, which breaks ties
	link   *link
	data   []byte
}

// schedule is a binary heap of the packets on the path, ordered by departure.
// container/heap would box every packet in an interface.
type schedule []packet

func (s schedule) before(i, j int) bool {
	if s[i].due != s[j].due {
		return s[i].due < s[j].due
	}
	return s[i].number < s[j].number
}

func (s *schedule) push(p packet) {
	*s = append(*s, p)
	h := *s
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (s *schedule) pop() packet {
	h := *s
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], packet{}
	h = h[:last]
	*s = h
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
