package protection

import (
	"reflect"
	"slices"
	"testing"
)

// TestFrames reads payloads up to the first frame that cannot be read.
func TestFrames(t *testing.T) {
	hello := Frame{Kind: Crypto, Offset: 5, Data: []byte("hello")}
	for _, c := range []struct {
		name    string
		payload string
		want    []Frame
	}{
		{"the handshake behind padding", "\x00\x00\x01\x06\x05\x05hello", []Frame{hello}},
		{"behind an acknowledgment with ECN counts", "\x03\x09\x00\x01\x00\x01\x01\x07\x08\x09\x06\x05\x05hello", []Frame{hello}},
		{"streams", "\x0f\x04\x07\x02ab\x0a\x00\x01c\x09\x08de", []Frame{
			{Kind: Stream, StreamID: 4, Offset: 7, Data: []byte("ab"), Fin: true}, {Kind: Stream, Data: []byte("c")}, {Kind: Stream, StreamID: 8, Data: []byte("de"), Fin: true}}},
		{"a connection ID", "\x18\x01\x00\x02id0123456789abcdef", []Frame{{Kind: NewConnectionID, Data: []byte("id")}}},
		{"other frames", "\x04\x01\x02\x03\x05\x01\x02\x07\x01x\x10\x01\x11\x01\x02\x1a01234567\x1e\x06\x05\x05hello", []Frame{hello}},
		{"nothing behind a close", "\x06\x05\x05hello\x1c\x00\x00\x00\x06\x05\x05hello", []Frame{hello}},
		{"a truncated frame", "\x06\x05\x05hell", nil},
		{"an acknowledgment of more ranges than there are", "\x02\x09\x00\x3f\x00\x01", nil},
	} {
		if got := slices.Collect(Frames([]byte(c.payload))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x06\x05\x05hello\x0f\x04\x07\x02ab"))
	f.Add([]byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		carried := 0
		for frame := range Frames(payload) {
			carried += 1 + len(frame.Data)
		}
		if carried > len(payload) {
			t.Errorf("the frames carry %d octets, the payload has %d", carried, len(payload))
		}
	})
}
