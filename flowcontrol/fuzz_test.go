package flowcontrol

import (
	"bytes"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/evidence"
	"wiretime/protection"
)

// cost is what an octet of a capture or a log may cost.
var cost = costtest.Limit{Fixed: 32 << 20, PerOctet: 2048, Time: 20 * time.Microsecond}

// FuzzRead accepts any capture: it never panics, and what held a sender is a partition of its transfer.
func FuzzRead(f *testing.F) {
	s, at := begin()
	at = s.send(Server, at, data(30_000, false))
	s.send(Client, at, update(1, 20_000))
	file := capture.AppendHeader(nil, s.packets.Header)
	for i := range s.packets.Records {
		file = capture.AppendPacket(file, &s.packets.Records[i])
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		packets, _ := capture.ReadPcapng(bytes.NewReader(file))
		costtest.Check(t, len(file), cost, func() { checkAll(t, Read(&evidence.Evidence{Packets: packets})) })
	})
}

func checkAll(t *testing.T, list []*Connection) {
	t.Helper()
	for _, c := range list {
		for i := range c.Events {
			if e := &c.Events[i]; e.Frames < 1 || len(e.String()) > 5000 {
				t.Fatalf("event %+v", e)
			}
		}
		for _, transfer := range c.Transfers {
			checkWhole(t, transfer)
		}
	}
}

// FuzzFrames treats octets as those of a connection's client and server, and as frames of QUIC.
func FuzzFrames(f *testing.F) {
	f.Add(asks(), append(data(100, false), update(0, 1<<31-1)...))
	f.Add([]byte("\x80\x03\x00\x01\x01\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"), []byte("\x80\x03\x00\x04\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00"))
	f.Add([]byte("\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03"), []byte("\x16\x03\x03\x00\x06\x02\x00\x00\x02\x03\x03"))
	f.Add([]byte("\x08\x00\x01\x04\x00\x10\x07\x11\x00\x08\x02\x09\x00\x01\x00\x01\x01"), []byte("\x0b\x03\x06\x00\x04\x01\x07\x01\x04\x1c\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, fromClient, fromServer []byte) {
		octets := len(fromClient) + len(fromServer)
		s := newScene()
		s.send(Server, s.send(Client, 2*delay, fromClient), fromServer)
		costtest.Check(t, octets, cost, func() { checkAll(t, Read(&evidence.Evidence{Packets: &s.packets})) })

		q := &quicReader{}
		for side := range q.ends {
			q.ends[side].streams = map[uint64]*quicStream{}
		}
		costtest.Check(t, octets, cost, func() {
			for side, payload := range [][]byte{fromClient, fromServer} {
				q.frame = &packet{sender: Side(side), sent: int64(side), arrived: int64(side) + 1}
				q.packet(protection.Opened{Level: protection.Application, Number: 1, Payload: payload})
			}
			for side := range q.ends {
				end := &sender{windows: readTransport(fromClient).windows(Side(side)), moves: q.ends[side].moves, requests: map[uint64]int64{}}
				q.ends[side].acknowledge(end)
				end.hear(&q.spoken)
				if transfer := end.transfer(); transfer != nil {
					checkWhole(t, transfer)
				}
			}
		})
	})
}

// FuzzReadLog accepts any log.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte(logOf))
	f.Fuzz(func(t *testing.T, log []byte) {
		costtest.Check(t, len(log), cost, func() {
			if list, err := ReadLog(bytes.NewReader(log)); err == nil {
				checkAll(t, list)
			}
		})
	})
}

// TestCostOfHostileConnections reads what costs most for its octets.
func TestCostOfHostileConnections(t *testing.T) {
	const n = 100_000
	for _, c := range []struct {
		name           string
		client, server []byte
	}{
		{"updates for as many streams", append(asks(), bytes.Repeat(update(1, 1), n)...), data(100, false)},
		{"a small body in as many frames", asks(), bytes.Repeat(data(1, false), n)},
		{"settings", append(asks(), bytes.Repeat([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"), n)...), bytes.Repeat(data(1, false), 1000)},
		{"priorities", append(asks(), bytes.Repeat([]byte("\x00\x00\x05\x02\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00"), n)...), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.send(Server, s.send(Client, 2*delay, c.client), c.server)
			costtest.Check(t, len(c.client)+len(c.server), cost, func() { checkAll(t, Read(&evidence.Evidence{Packets: &s.packets})) })
		})
	}
}
