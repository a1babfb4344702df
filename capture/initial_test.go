package capture

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// overIP puts a UDP datagram into an IPv4 packet, to port 443.
func overIP(from uint16, payload []byte) []byte {
	packet := make([]byte, 28, 28+len(payload))
	packet[0], packet[9] = 0x45, UDP
	binary.BigEndian.PutUint16(packet[2:], uint16(28+len(payload)))
	copy(packet[12:], []byte{198, 18, 0, 2, 198, 19, 1, 1})
	binary.BigEndian.PutUint16(packet[20:], from)
	binary.BigEndian.PutUint16(packet[22:], 443)
	return append(packet, payload...)
}

// firstFlight returns what quic-go's client sends to a server that does not answer,
// up to that many datagrams.
func firstFlight(t *testing.T, name string, datagrams int) [][]byte {
	t.Helper()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = quic.DialAddr(ctx, server.LocalAddr().String(), &tls.Config{ServerName: name, NextProtos: []string{"h3"}}, nil)
	}()
	defer func() { cancel(); <-ended }()
	var flight [][]byte
	for range datagrams {
		if err := server.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 2000)
		n, _, err := server.ReadFrom(buffer)
		if err != nil {
			t.Fatal(err)
		}
		flight = append(flight, buffer[:n])
	}
	return flight
}

// TestClientHellosAreRead reads the ClientHellos of two connections opened at once,
// one with its first datagrams reordered and duplicated, and of one that is
// incomplete.
func TestClientHellosAreRead(t *testing.T) {
	// The key share makes a ClientHello larger than a packet.
	first, second, cut := firstFlight(t, "www.first.test", 2), firstFlight(t, "www.second.test", 2), firstFlight(t, "www.cut.test", 2)
	p := &Packets{}
	for _, d := range []struct {
		from    uint16
		payload []byte
	}{
		{1, first[0]}, {2, second[1]}, {3, cut[0]}, {2, second[1]}, {4, []byte("no QUIC")}, {2, second[0]}, {1, first[1]}, {5, nil},
	} {
		p.Records = append(p.Records, PacketRecord{Data: overIP(d.from, d.payload)})
		p.Records = append(p.Records, PacketRecord{Data: overIP(d.from, d.payload), Inbound: true})
	}
	hellos := ClientHellos(p)
	if len(hellos) != 2 {
		t.Fatalf("%d ClientHellos, want 2", len(hellos))
	}
	for i, name := range []string{"www.first.test", "www.second.test"} {
		if h := string(hellos[i]); h[0] != 1 || !strings.Contains(h, name) || len(h) != 4+int(binary.BigEndian.Uint32(hellos[i])&0xffffff) {
			t.Errorf("ClientHello %d does not name %s: %q", i, name, h)
		}
	}
}

func FuzzClientHellos(f *testing.F) {
	f.Add([]byte("\xc0\x00\x00\x00\x01\x08\x01\x02\x03\x04\x05\x06\x07\x08\x00\x00\x41\x00"+strings.Repeat("x", 300)), []byte("\x06\x00\x04\x01\x00\x00\x00"))
	f.Add([]byte("\xc0\x00\x00\x00\x01\xff"), []byte("\x02\x00\x00\x3f\x00"))
	f.Fuzz(func(t *testing.T, datagram, frames []byte) {
		if len(datagram) < 1<<16-28 {
			ClientHellos(&Packets{Records: []PacketRecord{{Data: overIP(1, datagram)}}})
		}
		b := beginning{crypto: map[uint64][]byte{}}
		b.collect(frames)
		if hello := b.hello(); hello != nil && hello[0] != 1 {
			t.Errorf("an invalid ClientHello was returned: %x", hello)
		}
	})
}
