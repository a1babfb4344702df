package report

import (
	"encoding/json"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/capture/capturetest"
)

// TestTraffic: a page's request is lost in a full queue and sent again; its answer arrives.
func TestTraffic(t *testing.T) {
	const client, server = "10.0.0.2:4000", "10.0.0.1:443"
	ms := func(at float64) int64 { return time.Unix(1, 0).UnixNano() + int64(at*1e6) }
	p := &capture.Packets{Header: capture.Header{Interfaces: []capture.Interface{{Name: "client.0"}, {Name: "server.0"}}}}
	id := uint64(0)
	send := func(up bool, sent, took float64, sequence uint32, flags capture.TCPFlags, payload int, fate string) {
		id++
		from, to, end := client, server, 0
		if !up {
			from, to, end = server, client, 1
		}
		data := capturetest.Segment(from, to, sequence, 0, flags, nil, make([]byte, payload))
		record := capture.PacketRecord{Interface: end, Time: ms(sent), ID: id, Length: len(data), Data: data}
		if fate != "" {
			record.Comment = capture.DroppedPrefix + fate
			p.Records = append(p.Records, record)
			return
		}
		p.Records = append(p.Records, record)
		record.Interface, record.Time, record.Inbound = 1-end, ms(sent+took), true
		p.Records = append(p.Records, record)
	}
	send(true, 10, 5, 100, capture.SYN, 0, "")
	send(false, 15, 5, 500, capture.SYN|capture.ACK, 0, "")
	send(true, 20, 0, 101, capture.ACK, 60, "queue full")
	send(true, 220, 5, 101, capture.ACK, 60, "")
	send(false, 225, 5, 501, capture.ACK, 1000, "")

	got, err := json.Marshal(NewTraffic(p, time.Unix(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	var rate struct {
		Rate struct {
			Step     float64
			Up, Down []int
		}
	}
	if err := json.Unmarshal(got, &rate); err != nil {
		t.Fatal(err)
	}
	sum := func(all []int) (sum int) {
		for _, n := range all {
			sum += n
		}
		return sum
	}
	if r := rate.Rate; r.Step != 1 || sum(r.Up) != 40+100 || sum(r.Down) != 40+1040 || r.Up[5] != 40 || r.Down[220] != 1040 {
		t.Errorf("the rate is %+v", r)
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(got, &rest); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"connections": `["tcp 10.0.0.2:4000 \u003e 10.0.0.1:443"]`,
		"fates":       `["delivered","queue full"]`,
		"marks":       `[[20,0,100,1,0,0],[220,0,100,0,1,0]]`,
		"from":        "10",
		"total":       "[2,2]",
		"more":        "0",
	} {
		if string(rest[key]) != want {
			t.Errorf("%s is %s, want %s", key, rest[key], want)
		}
	}
	if none := NewTraffic(&capture.Packets{}, time.Time{}); none != nil {
		t.Errorf("an empty capture has %+v", none)
	}
}
