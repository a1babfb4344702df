package store

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wiretime/costtest"
)

// BenchmarkKeep stores loads of 1.9 MB: a capture whose packets are there twice, and a HAR. It
// reports processor time and octets on disk per load.
func BenchmarkKeep(b *testing.B) {
	random := rand.NewChaCha8([32]byte{})
	var capture []byte
	packet := make([]byte, 1400)
	var sent [][]byte
	for range 650 {
		_, _ = random.Read(packet)
		sent = append(sent, append([]byte{}, packet...))
		capture = append(capture, packet...)
		if len(sent) > 50 { // under way
			capture, sent = append(capture, sent[0]...), sent[1:]
		}
	}
	var entries []map[string]any
	for i := range 240 {
		entries = append(entries, map[string]any{"started": i * i, "request": map[string]any{"method": "GET", "url": "https://www.site.test/image.png", "headers": []string{"accept: */*", "priority: u=2"}}, "wait": float64(i) / 7})
	}
	har, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		how   func(*LoadRecord)
		later bool // dropped once it was kept
	}{
		{"all", func(*LoadRecord) {}, false},
		{"compressed", func(r *LoadRecord) { r.Compress = true }, false},
		{"median", func(*LoadRecord) {}, true},
		{"none", func(r *LoadRecord) { r.Drop = true }, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(filepath.Join(b.TempDir(), "s"), Create)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			run, err := s.BeginRun(spec(b.N/3 + 1))
			if err != nil {
				b.Fatal(err)
			}
			pending, err := s.Pending(run)
			if err != nil {
				b.Fatal(err)
			}
			var used time.Duration
			for i := range b.N {
				r := measured(pending[i])
				c.how(&r)
				dir, err := s.StageDir(r.ID())
				if err != nil {
					b.Fatal(err)
				}
				for name, content := range map[string][]byte{"load.pcapng": capture, "load.har": har} {
					if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
						b.Fatal(err)
					}
				}
				began := costtest.ProcessTime(b)
				if err := s.Commit(r); err != nil {
					b.Fatal(err)
				}
				if c.later {
					if err := s.Drop(r.ID()); err != nil {
						b.Fatal(err)
					}
				}
				used += costtest.ProcessTime(b) - began
			}
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "processor-ms/op")
		})
	}
}
