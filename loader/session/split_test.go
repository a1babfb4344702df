package session

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"

	wire "golang.org/x/net/http2"
)

// written is a connection on which data has arrived.
type written struct {
	net.Conn
	io.Reader
}

func (w written) Read(p []byte) (int, error) { return w.Reader.Read(p) }

// sentFrames returns what the tests' server sends: among other frames, a slow DATA frame,
// one with padding, and an empty one that ends a stream.
func sentFrames(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	f := wire.NewFramer(&b, nil)
	for _, err := range []error{
		f.WriteSettings(wire.Setting{ID: wire.SettingMaxFrameSize, Val: 1 << 20}),
		f.WriteHeaders(wire.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: []byte("head")}),
		f.WriteData(1, false, bytes.Repeat([]byte("a"), 16384)),
		f.WriteDataPadded(3, false, []byte("padded"), make([]byte, 10)),
		f.WriteData(1, true, bytes.Repeat([]byte("b"), 5000)),
		f.WriteData(3, true, nil),
		f.WritePing(true, [8]byte{1}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestSplitterChangesNothingButParts checks that the joined parts are what was sent.
func TestSplitterChangesNothingButParts(t *testing.T) {
	for name, slow := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "octet by octet": iotest.OneByteReader, "by halves": iotest.HalfReader,
	} {
		sent := sentFrames(t)
		f := wire.NewFramer(nil, newSplitter(written{Reader: slow(bytes.NewReader(sent))}))
		data, parts, ended := map[uint32][]byte{}, 0, 0
		for {
			frame, err := f.ReadFrame()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch frame := frame.(type) {
			case *wire.DataFrame:
				parts++
				id := frame.StreamID
				data[id] = append(data[id], frame.Data()...)
				if frame.StreamEnded() {
					ended++
				}
			case *wire.PingFrame:
				if !frame.IsAck() || frame.Data != [8]byte{1} {
					t.Errorf("%s: %v", name, frame)
				}
			}
		}
		if got := string(data[1]); got != string(bytes.Repeat([]byte("a"), 16384))+string(bytes.Repeat([]byte("b"), 5000)) || string(data[3]) != "padded" {
			t.Errorf("%s: the streams hold %d and %d octets", name, len(data[1]), len(data[3]))
		}
		if ended != 2 {
			t.Errorf("%s: a stream ended %d times, want each once", name, ended)
		}
		if name == "octet by octet" && parts < 16384 {
			t.Errorf("%d parts, want one for each octet", parts)
		}
	}
}

// TestSplitterHandsOnWhatHasCome reads half of a frame before the other half is sent.
func TestSplitterHandsOnWhatHasCome(t *testing.T) {
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	var b bytes.Buffer
	if err := wire.NewFramer(&b, nil).WriteData(1, true, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = server.Write(b.Bytes()[:frameHead+500]) }()
	frame, err := wire.NewFramer(nil, newSplitter(client)).ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	if data, ok := frame.(*wire.DataFrame); !ok || len(data.Data()) != 500 || data.StreamEnded() {
		t.Errorf("the first part is %v", frame)
	}
}
