package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wiretime/loader/loadertest"
	"wiretime/loader/session"
	"wiretime/protocol"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 20 * time.Second

const (
	pageHost  = loadertest.PageHost
	imageHost = loadertest.ImageHost
)

// objects answers /N with N octets, / with a document, and /gone with 404.
func objects(method, _, path string) protocol.Answer {
	miss := method != http.MethodGet
	if path == "/" {
		return protocol.Answer{Status: http.StatusOK, Header: [][2]string{{"content-type", "text/html; charset=utf-8"}}, Body: []byte("<!DOCTYPE html>"), Miss: miss}
	}
	var size int
	if _, err := fmt.Sscanf(path, "/%d", &size); err != nil {
		return protocol.Answer{Miss: true}
	}
	return protocol.Answer{Status: http.StatusOK, Header: [][2]string{{"content-type", "image/png"}}, Body: make([]byte, size), Miss: miss}
}

// bench is a server, and options for a loader that finds it.
type bench struct {
	*loadertest.Network
	protocol protocol.Protocol
	server   *protocol.Server
	options  session.Options
	served   sync.WaitGroup // connections of serveFrames

	mu   sync.Mutex
	wire []string // first lines written to TCP connections
}

func newBench(t *testing.T, p protocol.Protocol, handler http.Handler) *bench {
	t.Helper()
	b := &bench{Network: loadertest.New(t), protocol: p}
	b.server = b.Serve(t, p, handler)
	b.options = session.Options{
		Verify: b.Authority.Verify, ListenPacket: new(net.ListenConfig).ListenPacket, Resolve: b.Resolve,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &recorded{c, b}, nil
		},
	}
	return b
}

// recorded is a TCP connection that records its writes.
type recorded struct {
	net.Conn
	bench *bench
}

func (r *recorded) Write(b []byte) (int, error) {
	line, _, _ := strings.Cut(string(b), "\r\n")
	r.bench.mu.Lock()
	r.bench.wire = append(r.bench.wire, line)
	r.bench.mu.Unlock()
	return r.Conn.Write(b)
}

// url returns the URL of a path on one of the site's hosts.
func (b *bench) url(host, path string) string { return b.URL(b.protocol.Scheme, host, path) }

func (b *bench) urls(host string, sizes ...int) []string {
	var all []string
	for _, size := range sizes {
		all = append(all, b.url(host, fmt.Sprintf("/%d", size)))
	}
	return all
}

// open prepares a visit that ends with the test.
func (b *bench) open(t *testing.T, resources []string) *Visit {
	t.Helper()
	v := New(b.options).Open(b.protocol, resources, Terms{})
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

func (b *bench) context(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("timed out after %v", patience))
	t.Cleanup(cancel)
	return ctx
}

// sizes returns n different sizes in no particular order.
func sizes(n int) []int {
	var all []int
	for i := range n {
		all = append(all, 1+(i*7919)%20011)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
