package site

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// tenThousand makes a site of 10,000 resources on five hosts, each with 6 fields and its
// own body of 2 kB.
func tenThousand(tb testing.TB) *Site {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	s := Site{Name: "large", Page: "https://www.large.test/0.html"}
	bodies := map[string][]byte{}
	for i := range 10_000 {
		body := make([]byte, 2000)
		for j := range body {
			body[j] = byte('a' + random.IntN(26))
		}
		hash := Hash(body)
		bodies[hash] = body
		host := []string{"www", "static", "img", "fonts", "api"}[i%5]
		s.Resources = append(s.Resources, Resource{
			Method: "GET", URL: fmt.Sprintf("https://%s.large.test/%d.html?version=%d", host, i, i*7919), Status: 200, Body: hash, Wait: float64(i%50) + 0.25,
			Header: []Header{
				{"content-type", "text/html; charset=utf-8"}, {"cache-control", "public, max-age=31536000, immutable"},
				{"date", "Sat, 21 Nov 2026 12:38:30 GMT"}, {"last-modified", "Fri, 20 Nov 2026 08:00:00 GMT"},
				{"etag", entityTag(body)}, {"vary", "accept-encoding"},
			},
		})
	}
	s.Resources[0].URL = s.Page
	made, err := New(s, bodies)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// BenchmarkOpen10000 opens an archive of 10,000 resources, which should take at most 50 ms.
func BenchmarkOpen10000(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	if err := tenThousand(b).Save(dir); err != nil {
		b.Fatal(err)
	}
	openAgain(b, dir)
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
}

// BenchmarkOpen10000Unindexed opens the same archive without its index.
func BenchmarkOpen10000Unindexed(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	if err := tenThousand(b).Save(dir); err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, indexFile)); err != nil {
		b.Fatal(err)
	}
	openAgain(b, dir)
}

func openAgain(b *testing.B, dir string) {
	for b.Loop() {
		s, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify reads and checks 20 MB of bodies.
func BenchmarkVerify(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	if err := tenThousand(b).Save(dir); err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Verify(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(20_000_000)
}

// BenchmarkRespond answers exact requests, and requests with a new query among 2000 of one
// path.
func BenchmarkRespond(b *testing.B) {
	s := Site{Name: "beacons", Page: "https://www.beacons.test/"}
	add := func(rawURL string) {
		s.Resources = append(s.Resources, Resource{Method: "GET", URL: rawURL, Status: 204, Body: emptyHash})
	}
	add(s.Page)
	for i := range 2000 {
		add(fmt.Sprintf("https://www.beacons.test/pixel?id=%d&event=view&t=%d&screen=1366x768", i%40, 1_700_000_000+i))
	}
	made, err := New(s, map[string][]byte{emptyHash: nil})
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"exact": "/", "near": "/pixel?id=7&event=view&t=1800000000&screen=1366x768"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if made.Respond("GET", "www.beacons.test", path).Status == 0 {
					b.Fatal("a miss")
				}
			}
		})
	}
}
