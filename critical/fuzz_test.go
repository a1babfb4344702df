package critical

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/costtest"
	"wiretime/evidence"
	"wiretime/protection"
)

// FuzzFind accepts any HAR and any capture: it never panics, and its steps are a
// partition of onLoad.
func FuzzFind(f *testing.F) {
	for _, s := range []*scene{single(), twoStreams(f, "b")} {
		har, err := json.Marshal(s.har)
		if err != nil {
			f.Fatal(err)
		}
		file := capture.AppendHeader(nil, s.packets.Header)
		for i := range s.packets.Records {
			file = capture.AppendPacket(file, &s.packets.Records[i])
		}
		f.Add(har, file)
	}
	f.Fuzz(func(t *testing.T, har, file []byte) {
		h, err := capture.ParseHAR(har)
		if err != nil {
			return
		}
		packets, _ := capture.ReadPcapng(bytes.NewReader(file))
		breakdowns := BreakDown(&evidence.Evidence{HAR: h, Packets: packets})
		for i, p := range Find(&evidence.Evidence{HAR: h, Packets: packets}) {
			checkWhole(t, p)
			checkBreakdown(t, p, breakdowns[i])
		}
	})
}

// FuzzReaders treats octets as those of a connection's client and server.
func FuzzReaders(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82"), []byte("\x00\x00\x01\x00\x01\x00\x00\x00\x01x"))
	f.Add([]byte("\x80\x03\x00\x01\x01\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"), []byte("\x00\x00\x00\x01\x01\x00\x00\x01x"))
	f.Add([]byte("\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03"), []byte("\x16\x03\x03\x00\x06\x02\x00\x00\x02\x03\x03"))
	f.Add([]byte("\xc3\x00\x00\x00\x01\x08\x83\x94\xc8\xf0\x3e\x51\x57\x08\x00\x00\x40\x14012345678901234567890"), []byte("\x40"))
	f.Fuzz(func(t *testing.T, fromTheClient, fromTheServer []byte) {
		s := newScene(100)
		s.up(0, 50, fromClient(1, string(fromTheClient)))
		s.down(50, 100, fromServer(1, string(fromTheServer)))
		s.up(0, 50, datagram(clientUDP, serverUDP, string(fromTheClient)))
		s.down(50, 100, datagram(serverUDP, clientUDP, string(fromTheServer)))
		s.up(0, 50, datagram(asker, dns, string(fromTheClient)))
		(&quicReader{connection: &connection{}, crypto: map[cryptoLane]*lane{}, streams: map[streamLane]*lane{}, requests: map[uint64]*protection.Assembly{}}).
			frames(&packet{}, protection.Initial, fromTheClient)
		requestURL(fromTheClient)
		s.entry(page, 0, 100, capture.Timings{Wait: 100})
		costtest.Check(t, len(fromTheClient)+len(fromTheServer), costtest.Limit{Fixed: 32 << 20, PerOctet: 1024, Time: 20 * time.Microsecond}, func() { s.path(t) })
	})
}

// TestAnyLoad makes random loads out of packets and requests that may or may not
// belong together. The steps are always a partition of onLoad.
func TestAnyLoad(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newScene(random.Float64() * 3000)
		base := []*scene{single(), twoStreams(t, "a")}[random.IntN(2)]
		s.packets.Records = base.packets.Records
		random.Shuffle(random.IntN(len(s.packets.Records)+1), func(i, j int) {
			s.packets.Records[i], s.packets.Records[j] = s.packets.Records[j], s.packets.Records[i]
		})
		for i := range s.packets.Records {
			if r := &s.packets.Records[i]; random.IntN(3) == 0 {
				r.Time += int64((random.Float64() - 0.5) * 1e9)
				if !r.Inbound && random.IntN(4) == 0 {
					r.Comment = capture.DroppedPrefix + "queue full"
				}
			}
		}
		urls := []string{page, page + "a", page + "b", page + "c", "data:,x", "://"}
		for range random.IntN(12) {
			from := random.Float64()*2000 - 100
			phase := func() float64 { return random.Float64()*400 - 100 }
			e := s.entry(urls[random.IntN(len(urls))], from, from+random.Float64()*1500-100, capture.Timings{
				Blocked: phase(), DNS: phase(), Connect: phase(), SSL: phase(), Send: phase(), Wait: phase(), Receive: phase(),
			})
			e.Initiator.URL = urls[random.IntN(len(urls))]
			e.Connection = []string{"", "1", "2"}[random.IntN(3)]
			e.Protocol = []string{"http/1.1", "h2"}[random.IntN(2)]
			e.ResourceType = []string{"image", "script", "fetch"}[random.IntN(3)]
			e.FromCache = []string{"", "", "", "disk"}[random.IntN(4)]
			e.Response.RedirectURL = []string{"", "", "/a"}[random.IntN(3)]
			e.Priority = []string{"", "Low", "High"}[random.IntN(3)]
		}
		s.breakdown(t)
	}
}

// TestAbsurdTimes uses times that no clock shows.
func TestAbsurdTimes(t *testing.T) {
	s := single()
	s.entry(page, 0, 1e300, capture.Timings{Wait: 1e300})
	s.har.Log.Entries[1].Started = time.Time{}
	s.packets.Records[0].Time = -1 << 63
	s.packets.Records[3].Time = 1<<63 - 1
	s.breakdown(t)
}
