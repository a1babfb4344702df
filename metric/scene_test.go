package metric

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/capture/capturetest"
	"wiretime/evidence"
)

// epoch is 0 ms of every scene, in ns since the Unix epoch.
const epoch = 1_700_000_000_000_000_000

const (
	client = "10.0.0.2:4000"
	server = "10.0.1.2:443"
	dns    = "10.0.1.1:53"
)

// scene makes a load's capture packet by packet.
type scene struct {
	records []capture.PacketRecord
	entries []capture.Entry
	log     []capture.ServerEntry
	pages   []capture.Page // page_1 alone, if there are none
}

const delay = 50 // ms, one way

// up sends a packet from the client at the given ms; it arrives.
func (s *scene) up(at float64, packet []byte) { s.pass(at, 0, at+delay, 1, packet) }

// down delivers a packet to the client at the given ms.
func (s *scene) down(at float64, packet []byte) { s.pass(at-delay, 1, at, 0, packet) }

func (s *scene) pass(sent float64, from int, arrived float64, to int, packet []byte) {
	id := uint64(len(s.records))
	s.records = append(s.records,
		capture.PacketRecord{Interface: from, Time: ns(sent), ID: id, Length: len(packet), Data: packet},
		capture.PacketRecord{Interface: to, Time: ns(arrived), ID: id, Inbound: true, HasLateness: true, Lateness: int64(id+1) * 10_000, Length: len(packet), Data: packet})
}

// lose drops a packet that the server sent at the given ms.
func (s *scene) lose(at float64, packet []byte) {
	s.records = append(s.records, capture.PacketRecord{Interface: 1, Time: ns(at), Comment: capture.DroppedPrefix + "queue", Length: len(packet), Data: packet})
}

// fetch records one request from the given ms to the given ms, as the browser
// and the server saw it.
func (s *scene) fetch(from, to float64, url, protocol string) {
	s.entries = append(s.entries, capture.Entry{
		Page: "page_1", Started: time.Unix(0, ns(from)), Time: to - from, Protocol: protocol,
		Request: capture.Request{Method: "GET", URL: url}, Response: capture.Response{Status: 200},
		ServerIPAddress: "10.0.1.2", Connection: "7",
	})
	s.log = append(s.log, capture.ServerEntry{
		Protocol: protocol, TLS: "TLS 1.3", Method: "GET", URL: url, Status: 200, BodyBytes: 1000, Client: client, Server: server,
	})
}

func ns(ms float64) int64 { return epoch + int64(ms*1e6) }

// load writes the scene with the writers of package capture and reads it back.
func (s *scene) load(t *testing.T, protocol string) *evidence.Evidence {
	t.Helper()
	file := capture.AppendHeader(nil, capture.Header{Interfaces: []capture.Interface{{Name: "client.lte"}, {Name: "server.lte"}}})
	for i := range s.records {
		file = capture.AppendPacket(file, &s.records[i])
	}
	packets, err := capture.ReadPcapng(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	har := filepath.Join(folder, "load.har")
	pages := s.pages
	if pages == nil {
		pages = []capture.Page{{ID: "page_1", Started: time.Unix(0, epoch)}}
	}
	if err := capture.WriteHAR(har, &capture.HAR{Log: capture.Log{Version: "1.2", Pages: pages, Entries: s.entries}}); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(folder, "server.jsonl")
	if err := capture.WriteServerLog(log, s.log); err != nil {
		t.Fatal(err)
	}
	l := &evidence.Evidence{
		Protocol: protocol, Packets: packets, ServerLost: -1,
		Timing: capture.Timing{NavigationStart: epoch, DCL: -1, OnLoad: 700, TTFB: 301.5, FCP: -1, LCP: -1},
	}
	if l.HAR, err = capture.ReadHAR(har); err != nil {
		t.Fatal(err)
	}
	if l.Server, err = capture.ReadServerLog(log); err != nil {
		t.Fatal(err)
	}
	return l
}

// segment is a TCP segment without options.
func segment(source, destination string, sequence, acknowledgment uint32, flags capture.TCPFlags, payload int) []byte {
	return capturetest.Segment(source, destination, sequence, acknowledgment, flags, nil, make([]byte, payload))
}

// datagram is a UDP datagram; first is the first octet of its payload.
func datagram(source, destination string, first byte, payload int) []byte {
	b := make([]byte, payload)
	b[0] = first
	return capturetest.Datagram(source, destination, b)
}

const (
	long  = 0xc3 // first octet of a QUIC Initial packet
	short = 0x43 // of a 1-RTT packet
)

// The sequence numbers wrap within the load, as they may in any.
const (
	clientISN = 0xffffffc0
	serverISN = 0xfffffe00
)

func fromClient(sequence, acknowledgment uint32, flags capture.TCPFlags, payload int) []byte {
	return segment(client, server, clientISN+sequence, serverISN+acknowledgment, flags, payload)
}

func fromServer(sequence, acknowledgment uint32, flags capture.TCPFlags, payload int) []byte {
	return segment(server, client, serverISN+sequence, clientISN+acknowledgment, flags, payload)
}

// h2Scene is a page of one document over TCP: look-up, handshake, a request of
// 100 octets, an answer of 3000 of which the second 1000 are lost once, the
// server's farewell (30 octets) and the tear-down. The document ends at 412 ms.
func h2Scene() *scene {
	s := &scene{}
	s.up(0, datagram("10.0.0.2:5353", dns, 1, 30))
	s.down(100, datagram(dns, "10.0.0.2:5353", 1, 60))
	s.up(100.5, fromClient(0, 0, capture.SYN, 0))
	s.down(200.5, fromServer(0, 1, capture.SYN|capture.ACK, 0))
	s.up(200.6, fromClient(1, 1, capture.ACK, 0))
	s.up(201, fromClient(1, 1, capture.ACK, 100))
	s.down(301, fromServer(1, 101, capture.ACK, 1000))
	s.up(301.1, fromClient(101, 1001, capture.ACK, 0))
	s.lose(251.1, fromServer(1001, 101, capture.ACK, 1000))
	s.down(303, fromServer(2001, 101, capture.ACK, 1000))
	s.up(303.1, fromClient(101, 1001, capture.ACK, 0))
	s.down(410, fromServer(1001, 101, capture.ACK, 1000))
	s.up(411, fromClient(101, 3001, capture.ACK, 0))
	s.fetch(0, 412, "https://www.example.test/", "h2")
	s.down(600, fromServer(3001, 101, capture.ACK, 30))
	s.up(600.1, fromClient(101, 3031, capture.ACK, 0))
	s.down(600.5, fromServer(3031, 101, capture.FIN|capture.ACK, 0))
	s.up(601, fromClient(101, 3032, capture.FIN|capture.ACK, 0))
	s.down(701, fromServer(3032, 102, capture.ACK, 0))
	return s
}

// h3Scene is the same over QUIC. The document ends at 312 ms and the client
// acknowledges it at 330 ms; the connection is closed at 600 ms.
func h3Scene() *scene {
	s := &scene{}
	s.up(0, datagram("10.0.0.2:5353", dns, 1, 30))
	s.down(100, datagram(dns, "10.0.0.2:5353", 1, 60))
	s.up(100.5, datagram(client, server, long, 1200))
	s.down(200.5, datagram(server, client, long, 1200))
	s.up(201, datagram(client, server, short, 100))
	s.down(301, datagram(server, client, short, 1200))
	s.down(311, datagram(server, client, short, 1200))
	s.up(330, datagram(client, server, short, 30))
	s.fetch(0, 312, "https://www.example.test/", "h3")
	s.down(500, datagram(server, client, short, 30))
	s.up(600, datagram(client, server, short, 30))
	return s
}
