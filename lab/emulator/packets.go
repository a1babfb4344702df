package emulator

import "iter"

// Packets yields the IP packets of the wire that a frame stands for, with their checksums. A frame is Linux's struct
// virtio_net_hdr (10 octets) and an IP packet of up to 64 kB, as TUN devices and packet sockets hand it over while a
// network card would still have to cut it (TCP and UDP segmentation offload). Of a malformed frame, and of one with packets
// larger than buffer, it yields nothing. A packet lies in buffer and is valid until the next one; the frame may be changed.
func Packets(frame, buffer []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := cutter{most: len(buffer)}
		if !c.begin(frame) {
			return
		}
		for p := c.next(buffer); p != nil; p = c.next(buffer) {
			if !yield(p) {
				return
			}
		}
	}
}
