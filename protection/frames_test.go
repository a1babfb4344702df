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
		{"behind an acknowledgment with ECN counts", "\x03\x09\x00\x01\x00\x01\x01\x07\x08\x09\x06\x05\x05hello", []Frame{{Kind: Ack, Offset: 9, Data: []byte("\x00\x01\x01")}, hello}},
		{"streams", "\x0f\x04\x07\x02ab\x0a\x00\x01c\x09\x08de", []Frame{
			{Kind: Stream, StreamID: 4, Offset: 7, Data: []byte("ab"), Fin: true}, {Kind: Stream, Data: []byte("c")}, {Kind: Stream, StreamID: 8, Data: []byte("de"), Fin: true}}},
		{"a connection ID", "\x18\x01\x00\x02id0123456789abcdef", []Frame{{Kind: NewConnectionID, Data: []byte("id")}}},
		{"windows", "\x10\x07\x11\x04\x08\x14\x09\x15\x08\x0a", []Frame{
			{Kind: MaxData, Offset: 7}, {Kind: MaxStreamData, StreamID: 4, Offset: 8}, {Kind: DataBlocked, Offset: 9}, {Kind: StreamDataBlocked, StreamID: 8, Offset: 10}}},
		{"ends of streams", "\x04\x04\x02\x03\x05\x08\x02", []Frame{{Kind: ResetStream, StreamID: 4, Offset: 2}, {Kind: StopSending, StreamID: 8, Offset: 2}}},
		{"other frames", "\x07\x01x\x12\x01\x1a01234567\x1e\x06\x05\x05hello", []Frame{hello}},
		{"nothing behind a close", "\x06\x05\x05hello\x1c\x01\x00\x01y\x06\x05\x05hello", []Frame{hello, {Kind: Close, Offset: 1, Data: []byte("y")}}},
		{"a truncated frame", "\x06\x05\x05hell", nil},
		{"an acknowledgment of more ranges than there are", "\x02\x09\x00\x3f\x00\x01", nil},
	} {
		if got := slices.Collect(Frames([]byte(c.payload))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestAckRanges reads the ranges of an acknowledgment down to the first that cannot be.
func TestAckRanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		frame  Frame
		ranges [][2]uint64
	}{
		{"one", Frame{Offset: 9, Data: []byte("\x03")}, [][2]uint64{{6, 9}}},
		{"two", Frame{Offset: 9, Data: []byte("\x01\x01\x02")}, [][2]uint64{{8, 9}, {3, 5}}},
		{"below zero", Frame{Offset: 9, Data: []byte("\x01\x01\x06")}, [][2]uint64{{8, 9}}},
		{"a gap below zero", Frame{Offset: 9, Data: []byte("\x09\x00\x00")}, [][2]uint64{{0, 9}}},
		{"none", Frame{Offset: 9}, nil},
	} {
		var got [][2]uint64
		for from, to := range AckRanges(c.frame) {
			got = append(got, [2]uint64{from, to})
		}
		if !slices.Equal(got, c.ranges) {
			t.Errorf("%s: %v, want %v", c.name, got, c.ranges)
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
			for from, to := range AckRanges(frame) {
				if from > to || to > frame.Offset {
					t.Fatalf("acknowledges packets %d to %d of %d", from, to, frame.Offset)
				}
			}
		}
		if carried > len(payload) {
			t.Errorf("the frames carry %d octets, the payload has %d", carried, len(payload))
		}
	})
}
