package spdy

import "sync"

// chunk is a piece of what a stream has received. Those that are empty wait in
// a pool, so that a stream takes none from the heap.
type chunk struct {
	data       [16 << 10]byte
	read, used int
	next       *chunk
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// buffer is what a stream has received and nobody has read.
type buffer struct {
	head, tail *chunk
	length     int
}

// space is where more can be put, at least one octet.
func (b *buffer) space() []byte {
	if b.tail == nil || b.tail.used == len(b.tail.data) {
		c := chunks.Get().(*chunk)
		c.read, c.used, c.next = 0, 0, nil
		if b.tail == nil {
			b.head = c
		} else {
			b.tail.next = c
		}
		b.tail = c
	}
	return b.tail.data[b.tail.used:]
}

// put counts n octets in that were put to space.
func (b *buffer) put(n int) {
	b.tail.used += n
	b.length += n
}

// take moves octets to p.
func (b *buffer) take(p []byte) (n int) {
	for n < len(p) && b.length > 0 {
		c := b.head
		k := copy(p[n:], c.data[c.read:c.used])
		c.read += k
		n += k
		b.length -= k
		// The last chunk stays while it is being filled.
		if c.read == c.used && c.next != nil {
			b.head = c.next
			chunks.Put(c)
		} else if c.read == len(c.data) {
			b.head, b.tail = nil, nil
			chunks.Put(c)
		}
	}
	return n
}

// drop forgets everything, and returns how much it was. The last chunk may still
// be being filled, so it does not go back to the pool.
func (b *buffer) drop() int {
	n := b.length
	for c := b.head; c != nil && c != b.tail; {
		next := c.next
		chunks.Put(c)
		c = next
	}
	*b = buffer{}
	return n
}

// release gives back the last chunk of a buffer that is empty and will not be
// filled any more.
func (b *buffer) release() {
	if b.tail != nil {
		chunks.Put(b.tail)
		*b = buffer{}
	}
}
