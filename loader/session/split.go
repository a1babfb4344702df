package session

import (
	"bufio"
	"encoding/binary"
	"net"
)

// The frame head of HTTP/2, and the one frame type that is split (RFC 9113 sections
// 4.1 and 6.1).
const (
	frameHead  = 9
	dataFrame  = 0x0
	endStream  = 0x1
	padded     = 0x8
	splitsOver = 16 << 10 // octets read ahead: at most a TLS record
)

// splitter is an HTTP/2 connection whose DATA frames come in parts, as they arrive.
// net/http delivers a frame's content only once it is complete, which over a thin
// link is round trips later; browsers deliver what has arrived.
type splitter struct {
	net.Conn
	in   *bufio.Reader
	head []byte // head of a frame or part, not yet returned
	left int    // octets of its payload, not yet returned
	rest int    // octets of the split frame that are not in a part yet
	data [frameHead]byte
}

func newSplitter(c net.Conn) *splitter {
	return &splitter{Conn: c, in: bufio.NewReaderSize(c, splitsOver)}
}

// Read returns heads and payloads, with parts in place of split frames.
func (s *splitter) Read(p []byte) (int, error) {
	if len(s.head) == 0 && s.left == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	n, err := s.in.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// next waits for the next frame, or for more of the split one.
func (s *splitter) next() error {
	if s.rest == 0 {
		head, err := s.in.Peek(frameHead)
		if err != nil {
			return err
		}
		copy(s.data[:], head)
		_, _ = s.in.Discard(frameHead)
		s.head, s.left = s.data[:], length(s.data)
		if s.data[3] != dataFrame || s.data[4]&padded != 0 || s.left == 0 {
			return nil
		}
		s.rest = s.left
	}
	if _, err := s.in.Peek(1); err != nil {
		return err
	}
	s.left = min(s.in.Buffered(), s.rest)
	s.rest -= s.left
	part := s.data
	binary.BigEndian.PutUint16(part[1:3], uint16(s.left)) // fits: no more is read ahead
	part[0] = 0
	if s.rest > 0 {
		part[4] &^= endStream
	}
	s.head = part[:]
	return nil
}

func length(head [frameHead]byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }
