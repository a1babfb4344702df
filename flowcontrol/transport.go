package flowcontrol

import (
	"fmt"
	"strings"

	"wiretime/protection"
)

// transport is the windows that an end of a QUIC connection opens with (RFC 9000 section 18.2): octets that its peer may send.
type transport struct {
	known                            bool
	data, bidiLocal, bidiRemote, uni int64
}

// readTransport reads transport parameters, as far as they can be read. A window that is not among them is 0.
func readTransport(raw []byte) transport {
	t := transport{known: raw != nil}
	r := protection.NewReader(raw)
	for r.Left() > 0 && !r.Failed() {
		id, length := r.Number(), r.Number()
		value := int64(protection.NewReader(r.Take(length)).Number())
		switch id {
		case 4:
			t.data = value
		case 5:
			t.bidiLocal = value
		case 6:
			t.bidiRemote = value
		case 7:
			t.uni = value
		}
	}
	return t
}

// String lists the windows.
func (t transport) String() string {
	return strings.Join([]string{
		fmt.Sprint("initial_max_data ", t.data), fmt.Sprint("initial_max_stream_data_bidi_local ", t.bidiLocal),
		fmt.Sprint("bidi_remote ", t.bidiRemote), fmt.Sprint("uni ", t.uni),
	}, ", ")
}

// windows returns the windows that the peer of this end sends by.
func (t transport) windows(sender Side) *windows {
	w := newWindows(t.known, t.known, t.data)
	w.initial = func(stream uint64) int64 {
		const byServer, oneWay = 1, 2 // bits of stream IDs (RFC 9000 section 2.1)
		own := Side(stream&byServer) == sender
		switch {
		case stream&oneWay != 0:
			return t.uni
		case own:
			return t.bidiRemote
		}
		return t.bidiLocal
	}
	return w
}
