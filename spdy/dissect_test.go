package spdy

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTsharkReadsWhatWeSend checks that Wireshark's dissector reads our frames
// without complaint.
func TestTsharkReadsWhatWeSend(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	for _, v := range []Version{V3, V31} {
		for direction, frames := range map[string]func(id uint32, fields []Field) []Frame{
			"client": func(id uint32, fields []Field) []Frame {
				return []Frame{&SynStream{StreamID: id, Priority: 3, Fields: fields}, &Data{StreamID: id, Fin: true, Payload: body(700)},
					&RstStream{id, Cancel}, &Settings{Entries: []Setting{{SettingMaxConcurrentStreams, 0, 100}, {SettingInitialWindowSize, 0, 1 << 20}}}}
			},
			"server": func(id uint32, fields []Field) []Frame {
				return []Frame{&SynReply{StreamID: id, Fields: fields}, &Headers{StreamID: id, Fields: []Field{{"trailer", "x"}}},
					&Ping{1}, &WindowUpdate{1, 500}, &GoAway{LastStreamID: 1}}
			},
		} {
			var wire bytes.Buffer
			f, want := NewFramer(v, &wire, nil, CompressSafe), map[string]bool{}
			for i, fields := range requests(20) {
				for _, frame := range frames(uint32(2*i+1), fields) {
					if err := f.WriteFrame(frame); err != nil {
						t.Fatal(err)
					}
					want[frame.Type().String()] = true
				}
			}
			text := dissect(t, wire.Bytes())
			for _, complaint := range []string{"Malformed", "Expert Info (Error", "Expert Info (Warning", "Inflation failed", "Error:"} {
				if i := strings.Index(text, complaint); i >= 0 {
					t.Errorf("%s, %s: tshark complains: %s", v, direction, text[max(0, i-300):min(len(text), i+200)])
				}
			}
			for name := range want {
				if n := strings.Count(text, "SPDY: "+name); n != 20 {
					t.Errorf("%s, %s: tshark sees %d %s, want 20", v, direction, n, name)
				}
			}
			if !strings.Contains(text, "session=0123456789abcdef; theme=dark") {
				t.Errorf("%s, %s: tshark does not read the cookie", v, direction)
			}
		}
	}
}

// dissect reads octets of one direction with tshark, which inflates SYN_STREAM
// separately from the other types, as if each came from one side only.
func dissect(t *testing.T, octets []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spdy.pcap")
	if err := os.WriteFile(file, pcap(octets), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "tshark", "-r", file, "-d", "tcp.port==6121,spdy", "-o", "spdy.assemble_data_frames:FALSE", "-V").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// pcap wraps octets in TCP segments of one direction, in a capture file.
func pcap(octets []byte) []byte {
	le, be := binary.LittleEndian, binary.BigEndian
	var b []byte
	for _, word := range []uint32{0xa1b2c3d4, 4<<16 | 2, 0, 0, 65535, 101} { // raw IP
		b = le.AppendUint32(b, word)
	}
	sequence := uint32(1)
	for i := 0; len(octets) > 0; i++ {
		n := min(len(octets), 1400)
		for _, word := range []uint32{uint32(i), 0, uint32(40 + n), uint32(40 + n)} {
			b = le.AppendUint32(b, word)
		}
		b = append(b, 0x45, 0)
		b = be.AppendUint16(b, uint16(40+n))
		b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1)
		b = be.AppendUint16(be.AppendUint16(b, 50000), 6121)
		b = be.AppendUint32(be.AppendUint32(b, sequence), 1)
		b = append(b, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0)
		b = append(b, octets[:n]...)
		sequence += uint32(n)
		octets = octets[n:]
	}
	return b
}
