package spdy

import "sync"

// chunk is a piece of received stream data. Empty chunks wait in a pool, so
// that streams do not allocate.
type chunk struct {
	data       [16 << 10]byte
	read, used int
	next       *chunk
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// buffer holds what a stream has received but nobody has read.
type buffer struct {
	head, tail *chunk
	length     int
}

// space returns room for at least one more octet.
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

// put records that n octets were written to space.
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

// drop discards everything, and returns how much it was. The last chunk may
// still be being filled, so it does not go back to the pool.
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

// release returns the last chunk of an empty buffer that will not be filled any
// more.
func (b *buffer) release() {
	if b.tail != nil {
		chunks.Put(b.tail)
		*b = buffer{}
	}
}
