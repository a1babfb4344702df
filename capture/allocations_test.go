package capture

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// harOf is the text of a HAR of so many requests.
func harOf(tb testing.TB, requests int) []byte {
	tb.Helper()
	h := &HAR{Log: Log{Version: "1.2", Pages: []Page{{ID: "page_1", Started: time.Unix(1, 0)}}}}
	for i := range requests {
		h.Log.Entries = append(h.Log.Entries, Entry{
			Page: "page_1", Started: time.Unix(1, 0), Time: 100, Timings: Timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 1, Wait: 40, Receive: 59},
			Request:  Request{Method: "GET", URL: fmt.Sprintf("https://www.test/%d", i), HTTPVersion: "h2", Headers: []Pair{{"accept", "*/*"}, {"user-agent", "wiretime"}}},
			Response: Response{Status: 200, HTTPVersion: "h2", Headers: []Pair{{"content-type", "image/png"}, {"content-length", "20000"}}, Content: Content{Size: 20000}},
		})
	}
	var b bytes.Buffer
	if err := h.Encode(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestAllocationsOfReaders holds what readers allocate to a number per packet, and per request, that does not grow with the
// file.
func TestAllocationsOfReaders(t *testing.T) {
	const perPacket, perRequest = 0.05, 30
	for _, size := range []int{100 << 10, 1 << 20, 10 << 20} {
		file, packets := labCapture(size), 0
		allocations := testing.AllocsPerRun(2, func() {
			p, err := ReadPcapng(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			packets = len(p.Records)
		})
		if each := (allocations - 50) / float64(packets); each > perPacket {
			t.Errorf("a capture of %d packets: %.3f allocations per packet, want at most %.3f", packets, each, perPacket)
		}
	}
	for _, requests := range []int{10, 100, 1000} {
		text := harOf(t, requests)
		allocations := testing.AllocsPerRun(2, func() {
			if _, err := ParseHAR(text); err != nil {
				t.Fatal(err)
			}
		})
		if each := (allocations - 50) / float64(requests); each > perRequest {
			t.Errorf("a HAR of %d requests: %.1f allocations per request, want at most %d", requests, each, perRequest)
		}
	}
}

// BenchmarkParseHAR reads HARs of 10 to 10,000 requests.
func BenchmarkParseHAR(b *testing.B) {
	for requests := 10; requests <= 10_000; requests *= 10 {
		b.Run(fmt.Sprint(requests), func(b *testing.B) {
			text := harOf(b, requests)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseHAR(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
