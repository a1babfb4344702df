package spdy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// benchHandler answers with as many octets as the path says.
func benchHandler(w http.ResponseWriter, r *http.Request) {
	n := 0
	_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(n))
	for n > 0 {
		k, err := w.Write(benchBody[:min(n, len(benchBody))])
		if err != nil {
			return
		}
		n -= k
	}
}

var benchBody = body(1 << 20)

// wide are windows that never limit the sender, as large as those of net/http's
// HTTP/2.
var wide = Window{Stream: 4 << 20, Session: 1 << 30}

// load fetches with 100 workers over one connection.
func load(b *testing.B, c *http.Client, url string, size int) {
	b.Helper()
	path := fmt.Sprint(url, "/", size)
	get := func() error {
		response, err := c.Get(path)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		n, err := io.Copy(io.Discard, response.Body)
		if err == nil && n != int64(size) {
			err = fmt.Errorf("%d octets, want %d", n, size)
		}
		return err
	}
	// Virtual machines compile code only after a few runs.
	for range 4000 / max(1, size/1000) {
		if err := get(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var workers sync.WaitGroup
	for range 100 {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				if err := get(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkLoad compares this package with net/http's HTTP/2, and with other
// servers if they are installed: requests of 100 octets, and of 1 MiB, over TLS
// on loopback, one connection, 100 streams. Our client fetches from all SPDY
// servers.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		for _, v := range Versions() {
			b.Run(fmt.Sprintf("size=%d/of=ours/over=%s", size, v), func(b *testing.B) {
				config := Config{Window: wide}
				url, secure := serveTLS(b, &Server{Handler: http.HandlerFunc(benchHandler), Config: config})
				load(b, client(b, &Transport{Versions: []Version{v}, OnlySPDY: true, TLSClientConfig: secure, Config: config}), url, size)
			})
		}
		b.Run(fmt.Sprintf("size=%d/of=net-http/over=h2", size), func(b *testing.B) {
			cert, pool := certificate(b)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			s := &http.Server{Handler: http.HandlerFunc(benchHandler), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 250}}
			var serving sync.WaitGroup
			serving.Go(func() { _ = s.ServeTLS(l, "", "") })
			defer serving.Wait()
			defer s.Close()
			protocols := new(http.Protocols)
			protocols.SetHTTP2(true)
			tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: protocols}
			defer tr.CloseIdleConnections()
			load(b, &http.Client{Transport: tr}, "https://"+l.Addr().String(), size)
		})
		for _, i := range implementations {
			// Undertow now and then closes its connection under a hundred small requests
			// at a time ("UT005085: was not closed cleanly").
			if len(i.server) == 0 || i.folder == "undertow" {
				continue
			}
			b.Run(fmt.Sprintf("size=%d/of=%s/over=%s", size, i.folder, i.server[0]), func(b *testing.B) {
				cert, key, pool := keyFiles(b)
				port := i.startPeer(b, "tls", i.server[0], cert, key)
				tr := &Transport{Versions: i.server[:1], OnlySPDY: true, TLSClientConfig: &tls.Config{RootCAs: pool}, Config: Config{Window: wide}}
				load(b, client(b, tr), "https://127.0.0.1:"+port, size)
			})
		}
	}
}

// BenchmarkHeaderBlock compresses a request and reads it back.
func BenchmarkHeaderBlock(b *testing.B) {
	for _, c := range []Compression{CompressSafe, CompressAll, CompressNone} {
		b.Run(fmt.Sprint("compression=", c), func(b *testing.B) {
			e, d := newEncoder(V31, c), newDecoder(V31, frameLimits{DefaultMaxHeaderBytes, DefaultMaxHeaderFields})
			all := requests(100)
			var buf []byte
			octets := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var err error
				if buf, err = e.append(buf[:0], &SynStream{StreamID: 1, Fields: all[i%100]}); err != nil {
					b.Fatal(err)
				}
				octets += len(buf)
				if _, err := d.control(parseHeader(buf), buf[8:]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(octets)/float64(b.N), "octets/request")
		})
	}
}

// BenchmarkFramer writes and reads DATA frames.
func BenchmarkFramer(b *testing.B) {
	var wire bytes.Buffer
	f := NewFramer(V31, &wire, &wire, CompressSafe)
	d := &Data{StreamID: 1, Payload: make([]byte, 16<<10)}
	b.SetBytes(16 << 10)
	for b.Loop() {
		if err := f.WriteFrame(d); err != nil {
			b.Fatal(err)
		}
		if _, err := f.ReadFrame(); err != nil {
			b.Fatal(err)
		}
	}
}
