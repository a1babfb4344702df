package critical

import (
	"fmt"
	"strings"
	"testing"

	"wiretime/capture"
	"wiretime/evidence"
)

// download is a page of so many requests on one connection, one after the other, each with a response of 20 kB.
func download(requests int) *scene {
	const packets, size = 14, 1429
	s := newScene(float64(requests * 100))
	sent, received := uint32(1), uint32(1)
	for i := range requests {
		from := float64(i * 100)
		request := fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: www.test\r\n\r\n", i)
		s.up(from, from+20, fromClient(sent, request))
		sent += uint32(len(request))
		body := strings.Repeat("x", packets*size-100)
		response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		for n := 0; len(response) > 0; n++ {
			part := response[:min(size, len(response))]
			response = response[len(part):]
			s.down(from+30+float64(n), from+50+float64(n), fromServer(received, part))
			received += uint32(len(part))
		}
		s.entry(fmt.Sprintf("http://www.test/%d", i), from, from+90, capture.Timings{Send: 1, Wait: 40, Receive: 49})
	}
	return s
}

// TestAllocationsPerPacket holds what is allocated for a path to a number per packet that does not grow with the load.
func TestAllocationsPerPacket(t *testing.T) {
	const most = 8
	for _, requests := range []int{10, 100, 1000} {
		s := download(requests)
		var paths []*Path
		allocations := testing.AllocsPerRun(2, func() { paths = Find(&evidence.Evidence{HAR: &s.har, Packets: &s.packets}) })
		checkWhole(t, paths[0])
		if each := allocations / float64(len(s.packets.Records)/2); each > most {
			t.Errorf("%d requests: %.1f allocations per packet, want at most %d", requests, each, most)
		} else {
			t.Logf("%d requests: %.1f allocations per packet", requests, each)
		}
	}
}

// BenchmarkFind finds the path of pages of 10 to 10,000 requests.
func BenchmarkFind(b *testing.B) {
	for requests := 10; requests <= 10_000; requests *= 10 {
		b.Run(fmt.Sprint(requests), func(b *testing.B) {
			s := download(requests)
			b.ReportAllocs()
			for b.Loop() {
				Find(&evidence.Evidence{HAR: &s.har, Packets: &s.packets})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/request")
		})
	}
}
