package network

// backlog holds the packets that have arrived but are not yet completely
// serialised.
type backlog struct {
	limit   Queue
	bytes   int
	packets int
	waiting []departure // a ring
	first   int
}

type departure struct {
	leaves int64 // ns
	size   int
}

// release drops the packets that have left by now.
func (b *backlog) release(now int64) {
	for b.packets > 0 && b.waiting[b.first].leaves <= now {
		b.bytes -= b.waiting[b.first].size
		b.packets--
		b.first++
		if b.first == len(b.waiting) {
			b.first = 0
		}
	}
}

// admits reports whether the limit has room for one more packet.
func (b *backlog) admits(size int) bool {
	return (b.limit.Bytes == 0 || b.bytes+size <= b.limit.Bytes) &&
		(b.limit.Packets == 0 || b.packets < b.limit.Packets)
}

// add takes in a packet. Packets leave in the order they are added.
func (b *backlog) add(leaves int64, size int) {
	if b.packets == len(b.waiting) {
		grown := make([]departure, max(64, 2*len(b.waiting)))
		n := copy(grown, b.waiting[b.first:])
		copy(grown[n:], b.waiting[:b.first])
		b.waiting, b.first = grown, 0
	}
	at := b.first + b.packets
	if at >= len(b.waiting) {
		at -= len(b.waiting)
	}
	b.waiting[at] = departure{leaves, size}
	b.packets++
	b.bytes += size
}
