package network

// backlog holds the packets that have arrived but are not yet completely
// serialised.
type backlog struct {
	limit   Queue
	bytes   int
	packets int
	waiting []queued // a ring
	first   int
}

// queued is a packet in the queue.
type queued struct {
	leaves int64 // when it leaves the queue, ns
	size   int
}

// dequeue removes the packets that have left the queue by now.
func (b *backlog) dequeue(now int64) {
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

// enqueue adds a packet that leaves the queue at leaves, which must not be before the
// packets that were added earlier.
func (b *backlog) enqueue(leaves int64, size int) {
	if b.packets == len(b.waiting) {
		grown := make([]queued, max(64, 2*len(b.waiting)))
		n := copy(grown, b.waiting[b.first:])
		copy(grown[n:], b.waiting[:b.first])
		b.waiting, b.first = grown, 0
	}
	at := b.first + b.packets
	if at >= len(b.waiting) {
		at -= len(b.waiting)
	}
	b.waiting[at] = queued{leaves, size}
	b.packets++
	b.bytes += size
}
