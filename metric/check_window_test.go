package metric

import (
	"encoding/binary"
	"testing"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/evidence"
	"wiretime/study"
)

func TestCheckAnnouncedWindows(t *testing.T) {
	for _, c := range []struct {
		name      string
		asked     evidence.Windows
		announced *evidence.Announced
		want      string
	}{
		{"not asked for", evidence.Windows{}, &evidence.Announced{Client: []int{1}}, ""},
		{"as asked for", evidence.Windows{Client: 65536, Server: 1 << 20}, &evidence.Announced{Client: []int{65536, 65536}, Server: []int{1 << 20, 1 << 20}}, ""},
		{"the other end does not count", evidence.Windows{Client: 65536}, &evidence.Announced{Client: []int{65536}, Server: []int{7}}, ""},
		{"another on one connection", evidence.Windows{Client: 65536}, &evidence.Announced{Client: []int{65536, 65535}},
			"the client announced a flow-control window of 65535 octets, not of 65536"},
		{"none announced", evidence.Windows{Server: 65536}, &evidence.Announced{Client: []int{65536}}, "the server announced no flow-control window on any connection"},
		{"nothing known", evidence.Windows{Client: 65536}, nil, "the load does not show which flow-control windows its connections had"},
	} {
		got := checkWindows(&evidence.Evidence{Windows: c.asked, Announced: c.announced})
		expectWindows(t, c.name, got, c.want)
	}
}

func expectWindows(t *testing.T, name string, got []study.Violation, want string) {
	t.Helper()
	if want == "" && got == nil || len(got) == 1 && got[0].Rule == 1 && got[0].Detail == want {
		return
	}
	t.Errorf("%s: %v, want %q", name, got, want)
}

// segmentWith is a segment with a window and, unless it is 0, a window scale.
func segmentWith(source, destination string, flags capture.TCPFlags, window uint16, scale byte) []byte {
	var options []byte
	if scale > 0 {
		options = []byte{3, 3, scale, 0}
	}
	b := capturetest.Segment(source, destination, 1, 1, flags, options, nil)
	binary.BigEndian.PutUint16(b[20+14:], window)
	return b
}

func TestCheckSACK(t *testing.T) {
	permits, refuses := []byte{2, 4, 5, 0xb4, 4, 2, 0, 0}, []byte{2, 4, 5, 0xb4}
	for _, c := range []struct {
		name           string
		off            bool
		client, server []byte // options of the SYNs; nil: none was captured
		want           string
	}{
		{"on", false, permits, permits, ""},
		{"off", true, refuses, refuses, ""},
		{"the client permits them", true, permits, refuses, "the SYN of 1 TCP flow permits selective acknowledgements, which the cell switches off: tcp 10.0.0.2:4000 > 10.0.1.2:443"},
		{"both permit them", true, permits, permits,
			"the SYN of 2 TCP flows permits selective acknowledgements, which the cell switches off: tcp 10.0.0.2:4000 > 10.0.1.2:443, tcp 10.0.1.2:443 > 10.0.0.2:4000"},
		{"no SYN", true, nil, nil, "the capture has no SYN, so it does not show that selective acknowledgements were off"},
	} {
		var s scene
		if c.client != nil {
			s.up(1, capturetest.Segment(client, server, 1, 0, capture.SYN, c.client, nil))
			s.down(2, capturetest.Segment(server, client, 1, 2, capture.SYN|capture.ACK, c.server, nil))
		}
		s.up(3, capturetest.Segment(client, server, 2, 2, capture.ACK, nil, []byte("x")))
		ev := s.load(t, "h2")
		ev.NoSACK = c.off
		expectWindows(t, c.name, checkSACK(ev), c.want)
	}
}

func TestCheckTCPWindows(t *testing.T) {
	const asked = 1 << 20 // its scale is 5: 65535<<5 is nearly 2 MiB
	for _, c := range []struct {
		name   string
		scale  byte
		window uint16 // of the client, after the handshake
		want   string
	}{
		{"half of the buffer", 5, 16384, ""},
		{"all of it", 5, 32768, ""},
		{"more than the buffer", 5, 32770, "the windows of 1 TCP flow do not fit a buffer of 1048576 octets: " + flowName},
		{"a scale with which half of the buffer cannot be announced", 2, 1000, "the windows of 1 TCP flow do not fit a buffer of 1048576 octets: " + flowName},
	} {
		s := &scene{}
		s.up(0, segmentWith(client, server, capture.SYN, 64240, c.scale))
		s.down(100, segmentWith(server, client, capture.SYN|capture.ACK, 65160, 5))
		s.up(101, segmentWith(client, server, capture.ACK, c.window, 0))
		s.down(200, segmentWith(server, client, capture.ACK, 16384, 0))
		ev := s.load(t, "h2")
		ev.Windows.TCP = asked
		expectWindows(t, c.name, checkWindows(ev), c.want)
	}
	empty := (&scene{}).load(t, "h2")
	empty.Windows.TCP = asked
	expectWindows(t, "no handshake", checkWindows(empty), "the capture has no SYN, so the window scales are not known")
}

const flowName = "tcp " + client + " > " + server
