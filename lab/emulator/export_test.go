package emulator

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Frame returns a frame of TCP segments or UDP datagrams, from 198.18.0.2 to 198.19.1.1 or from fd01::2 to fd02::2.
func Frame(version int, protocol uint8, flags byte, payload, size int) []byte {
	return segments{version, protocol, 0, flags, payload, size}.frame()
}

// Cut returns the packets of a frame.
func Cut(frame []byte) (packets [][]byte, err error) {
	var c cutter
	if !c.begin(frame) {
		return nil, errors.New("the frame is malformed")
	}
	for {
		p := c.next(make([]byte, maxPacket))
		if p == nil {
			return packets, nil
		}
		packets = append(packets, p)
	}
}

// Join returns the frames that packets which are due at the same moment are delivered in.
func Join(packets [][]byte) (frames [][]byte) {
	t := &train{datagrams: true}
	end := func() {
		frames = append(frames, content(t.frame()))
		t.packets = t.packets[:0]
	}
	for _, p := range packets {
		if !t.take(packet{data: p}) {
			end()
			t.take(packet{data: p})
		}
	}
	if len(t.packets) > 0 {
		end()
	}
	return frames
}

func content(vectors []unix.Iovec) (all []byte) {
	for _, v := range vectors {
		all = append(all, octets(v)...)
	}
	return all
}
