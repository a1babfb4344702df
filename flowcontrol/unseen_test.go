package flowcontrol

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/protection"
)

// TestWhatCannotBeSeen reads captures that lack something. What is there is shown, and what is not is said.
func TestWhatCannotBeSeen(t *testing.T) {
	cut, at := begin()
	cut.send(Server, at, data(1000, false)[:500])

	gap, at := begin()
	gap.send(Server, at, data(1000, false))
	gap.next[Server] += 1000
	gap.send(Server, at, data(1000, true))

	broken, at := begin()
	broken.send(Server, at, []byte("\x00\x00\x00\x04\x00\x00\x00\x00\x01"))

	secured, keys := overTLS(t, asks(), data(1000, true))
	withoutKeys := talk(secured, nil)
	cutRecord := talk([2][]byte{secured[Client], secured[Server][:len(secured[Server])-closeNotify-16]}, keys)
	hello, asked := record(secured[Client])
	_, answered := record(secured[Server])
	warm := talk([2][]byte{asked, answered}, keys)
	warm.packets.Records = warm.packets.Records[4:] // without the SYNs
	early := talk([2][]byte{slices.Concat(hello, []byte("\x17\x03\x03\x00\x20"+strings.Repeat("e", 32)), asked), secured[Server]}, keys)

	for _, c := range []struct {
		name    string
		scene   *scene
		unseen  []string
		events  int
		headers bool // the sizes of header sections are known all the same
	}{
		{"a frame is cut off", cut, []string{"what the server sent at the end: the last 500 octets are an incomplete frame"}, 2, true},
		{"packets are missing", gap, []string{"the capture lacks octets that the server sent: what follows them could not be read"}, 3, false},
		{"the peer breaks the protocol", broken, []string{"what the server sent at the end: the connection breaks HTTP/2: connection error: PROTOCOL_ERROR"}, 3, false},
		{"nothing", talk(secured, keys), nil, 3, true},
		{"keys are missing", withoutKeys, []string{"the frames: the key log lacks the secrets of this connection"}, 0, false},
		{"a TLS record is cut off", cutRecord, []string{"the last 1015 octets that the server sent: they are an incomplete TLS record, or could not be decrypted"}, 2, true},
		{"the handshake is missing", warm, []string{
			"TCP's receive windows: the connection was opened before the capture began, so their scale is not known",
			"the frames: the connection was opened before the capture began, so its keys cannot be applied",
		}, 0, true}, // it counts as one without sections
		{"early data", early, []string{"the frames: the client's first octets are early data, whose keys are not in the capture"}, 0, false},
		{"the keys of an HTTP/3 connection are missing", datagrams("\xc0\x00\x00\x00\x01\x00\x00\x00\x04abcd", "\x40sealed"), []string{"the frames: the key log lacks the secrets of this connection"}, 0, false},
		{"the handshake of an HTTP/3 connection is missing", datagrams("\x40sealed", "\x40sealed"), []string{"the frames: the connection was opened before the capture began, so its keys cannot be applied"}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			headers := ReadHeaders(&evidence.Evidence{Packets: &c.scene.packets})
			if (headers != nil) != c.headers {
				t.Errorf("the sizes of header sections are %+v", headers)
			}
			got := c.scene.read(t)
			if !slices.Equal(got.Unseen, c.unseen) || len(got.Events) != c.events {
				t.Errorf("%q with %q, want %q", lines(got.Events), got.Unseen, c.unseen)
			}
		})
	}
	if got := Read(&evidence.Evidence{}); got != nil {
		t.Errorf("%d connections without a capture", len(got))
	}
	if got := Read(&evidence.Evidence{Packets: &capture.Packets{}}); got != nil {
		t.Errorf("%d connections in an empty capture", len(got))
	}
}

// TestWindowWithoutItsScale: the window field of a connection whose SYNs are not in the capture is no size, and holds nobody.
func TestWindowWithoutItsScale(t *testing.T) {
	s := newScene()
	s.window[Client] = 500
	at := s.send(Client, 2*delay, []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	at = s.acknowledge(s.send(Server, at, make([]byte, 10*mss)))
	s.send(Server, at, make([]byte, 10*mss))
	s.packets.Records = s.packets.Records[4:]
	transfer := s.read(t).Transfers[1]
	if held := transfer.Sums()[ReceiveWindow]; held > 0 {
		t.Errorf("the receive window holds the server for %d ns", held)
	}
	for _, p := range transfer.Points {
		if p.Receive != NoWindow {
			t.Fatalf("the receive window is %d", p.Receive)
		}
	}
}

// TestStreamOctetsThatAreSentAgain loses the first of two packets of a QUIC stream, whose octets then come in two others.
func TestStreamOctetsThatAreSentAgain(t *testing.T) {
	q := &quicReader{}
	for side := range q.ends {
		q.ends[side].streams = map[uint64]*quicStream{}
	}
	number := uint64(0)
	send := func(sent, arrived int64, offset, size int, fin byte) {
		b := []byte{0x0e | fin, 0x00} // STREAM with offset and length
		b = append(binary.BigEndian.AppendUint16(b, uint16(1<<14|offset)), 1<<6, byte(size))
		q.frame = &packet{sender: Server, sent: sent, arrived: arrived}
		q.packet(protection.Opened{Level: protection.Application, Number: number, Payload: append(b, make([]byte, size)...)})
		number++
	}
	send(0, Never, 0, 200, 0)
	send(1, 51, 200, 200, 1)
	send(100, 150, 0, 80, 0)
	received := func() int64 { return events(q.frames[Server])[0].Received }
	if got := received(); got != Never {
		t.Errorf("with 80 of 200 lost octets the run has arrived at %d", got)
	}
	send(101, 151, 80, 120, 0)
	if got := received(); got != 151 {
		t.Errorf("the run has arrived at %d, want 151, when the last octets that had been lost did", got)
	}
	if q.ends[Server].gap {
		t.Error("octets that were lost are called missing in the capture")
	}
	send(200, 250, 1000, 10, 0)
	if !q.ends[Server].gap {
		t.Error("octets that no packet has are not called missing in the capture")
	}
}

// talk returns a scene in which the client sends its octets at once, and then the server sends its own.
func talk(octets [2][]byte, keys []byte) *scene {
	s := newScene()
	s.packets.Secrets = bytes.Clone(keys)
	s.send(Server, s.send(Client, 2*delay, octets[Client]), octets[Server])
	return s
}

// datagrams returns a scene with a datagram of each end to and from the port of HTTP/3.
func datagrams(fromClient, fromServer string) *scene {
	s := &scene{}
	s.packets.Interfaces = newScene().packets.Interfaces
	for side, payload := range []string{fromClient, fromServer} {
		b := make([]byte, 28, 28+len(payload))
		b[0], b[9] = 0x45, capture.UDP
		be := binary.BigEndian
		be.PutUint16(b[2:], uint16(28+len(payload)))
		copy(b[12:], ends[side].Addr().AsSlice())
		copy(b[16:], ends[1-side].Addr().AsSlice())
		be.PutUint16(b[20+2*(1-side):], evidence.PortHTTPS)
		s.packets.Records = append(s.packets.Records, capture.PacketRecord{Interface: side, Time: int64(side), ID: uint64(side + 1), Length: cap(b), Data: append(b, payload...)})
	}
	return s
}

// closeNotify is the size of the record by which an end closes a TLS connection, in octets.
const closeNotify = protection.RecordHeader + 2 + 1 + 16

// record splits off the first TLS record.
func record(octets []byte) (first, rest []byte) {
	n := protection.RecordHeader + int(binary.BigEndian.Uint16(octets[3:]))
	return slices.Clone(octets[:n]), octets[n:]
}

// overTLS returns what both ends send to carry these octets over TLS 1.3 with ALPN h2, and the key log. The server answers once it has
// all of the client's, and closes.
func overTLS(t *testing.T, fromClient, fromServer []byte) (wire [2][]byte, keys []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	a, b := net.Pipe()
	var log bytes.Buffer
	client := tls.Client(taped{a, &wire[Client]}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, KeyLogWriter: &log})
	server := tls.Server(taped{b, &wire[Server]}, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, NextProtos: []string{"h2"}, SessionTicketsDisabled: true,
	})
	t.Cleanup(func() { _ = a.Close() })
	served := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(server, make([]byte, len(fromClient)))
		if err == nil {
			_, err = server.Write(fromServer)
		}
		_ = server.Close()
		served <- err
	}()
	_, err = client.Write(fromClient)
	must(t, err)
	_, err = io.ReadAll(client)
	must(t, err)
	must(t, <-served)
	return wire, log.Bytes()
}

// taped is a connection that keeps what is written to it.
type taped struct {
	net.Conn
	written *[]byte
}

func (c taped) Write(b []byte) (int, error) {
	*c.written = append(*c.written, b...)
	return c.Conn.Write(b)
}
