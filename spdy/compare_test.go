package spdy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// compareServer is the environment variable that makes the test program a server
// of BenchmarkRequests: it names the protocol.
const compareServer = "WIRETIME_SPDY_COMPARE"

func TestMain(m *testing.M) {
	if protocol := os.Getenv(compareServer); protocol != "" {
		if err := serveComparison(protocol); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// usage is what a process has used so far. Memory is in octets, and in use after
// a garbage collection.
type usage struct {
	Processor     time.Duration
	Reads, Writes int64 // system calls, of files too
	Allocations   uint64
	Heap, Stacks  uint64
}

// used measures this process.
func used(memory bool) (u usage, err error) {
	var stats runtime.MemStats
	if memory {
		// The second collection empties the pools, and each may halve a stack.
		for range 5 {
			runtime.GC()
		}
	}
	runtime.ReadMemStats(&stats)
	u.Heap, u.Stacks, u.Allocations = stats.HeapInuse, stats.StackInuse, stats.Mallocs
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.Processor = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "syscr: %d", &u.Reads)
		_, _ = fmt.Sscanf(line, "syscw: %d", &u.Writes)
	}
	return u, nil
}

// greeting is what a server process says first.
type greeting struct {
	Secure, Clear string // addresses
	Certificate   []byte // DER
}

// serveComparison serves a protocol, with and without TLS, until its standard input
// ends, and says on standard output what it has used whenever a line comes in.
func serveComparison(protocol string) error {
	cert, err := newCertificate()
	if err != nil {
		return err
	}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	clear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &http.Server{
		Handler: http.HandlerFunc(benchHandler), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 250}, Protocols: new(http.Protocols),
	}
	if v, ok := ParseVersion(protocol); ok {
		h.Protocols.SetHTTP1(true)
		s := &Server{Handler: h.Handler, Config: Config{Window: wide, MaxStreams: 250}}
		if err := s.Configure(h); err != nil {
			return err
		}
		go func() { _ = s.Serve(clear, v) }()
	} else {
		h.Protocols.SetHTTP2(true)
		h.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = h.Serve(clear) }()
	}
	go func() { _ = h.ServeTLS(secure, "", "") }()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(greeting{secure.Addr().String(), clear.Addr().String(), cert.Certificate[0]}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		u, err := used(lines.Text() == "memory")
		if err != nil {
			return err
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// contender is a protocol with its server, in a process of its own, and its clients.
type contender struct {
	protocol string
	greeting greeting
	roots    *x509.CertPool
	in       io.Writer
	out      *json.Decoder
}

// contend starts the server of a protocol.
func contend(b *testing.B, protocol string) *contender {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, os.Args[0])
	server.Env = append(os.Environ(), compareServer+"="+protocol, "GOMAXPROCS=2")
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	must(b, err)
	out, err := server.StdoutPipe()
	must(b, err)
	must(b, server.Start())
	b.Cleanup(func() { stop(); _ = server.Wait() })
	c := &contender{protocol: protocol, roots: x509.NewCertPool(), in: in, out: json.NewDecoder(out)}
	must(b, c.out.Decode(&c.greeting))
	cert, err := x509.ParseCertificate(c.greeting.Certificate)
	must(b, err)
	c.roots.AddCert(cert)
	return c
}

// used returns what this process and the server have used.
func (c *contender) used(b *testing.B, memory bool) (client, server usage) {
	b.Helper()
	what := map[bool]string{true: "memory", false: "usage"}[memory]
	_, err := fmt.Fprintln(c.in, what)
	must(b, err)
	must(b, c.out.Decode(&server))
	client, err = used(memory)
	must(b, err)
	return client, server
}

// url returns the URL of a body of so many octets.
func (c *contender) url(secure bool, size int) string {
	if secure {
		return fmt.Sprintf("https://%s/%d", c.greeting.Secure, size)
	}
	return fmt.Sprintf("http://%s/%d", c.greeting.Clear, size)
}

// client returns a client that opens one connection.
func (c *contender) client(b *testing.B) *http.Client {
	config := &tls.Config{RootCAs: c.roots}
	if v, ok := ParseVersion(c.protocol); ok {
		t := &Transport{
			Versions: []Version{v}, Cleartext: v, OnlySPDY: true, TLSClientConfig: config, DisableCompression: true,
			Config: Config{Window: wide},
		}
		b.Cleanup(func() { _ = t.Close() })
		return &http.Client{Transport: t}
	}
	t := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols), DisableCompression: true}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	b.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

// get fetches a URL.
func get(c *http.Client, url string, size int) error {
	response, err := c.Get(url)
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

// work fetches a URL n times, over each client with so many workers.
func work(b *testing.B, clients []*http.Client, workers int, url string, size, n int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var done sync.WaitGroup
	for _, c := range clients {
		for range workers {
			done.Go(func() {
				for left.Add(-1) >= 0 {
					if err := get(c, url, size); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	done.Wait()
}

// rounds are what one contender did in each round: name of the figure, figure.
type rounds map[string][]float64

func (r rounds) add(name string, value float64) { r[name] = append(r[name], value) }

func (r rounds) median(name string) float64 {
	all := slices.Sorted(slices.Values(r[name]))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// BenchmarkRequests compares this package with net/http's HTTP/2, both as client
// and as server. The servers are processes of their own; both pairs take turns, and
// the medians of their rounds are compared. "ratio" is our requests per second
// divided by theirs, "client" and "server" our requests per second of the client's
// and the server's processor time divided by theirs, which depends less on other
// load of the machine. Reads, writes (system calls) and allocations are per request.
// It has as many rounds as -benchtime says.
func BenchmarkRequests(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	contenders := []*contender{contend(b, "spdy/3.1"), contend(b, "h2")}
	for _, secure := range []bool{true, false} {
		for _, size := range []int{100, 20_000, 1 << 20} {
			for _, shape := range []struct{ connections, streams int }{{1, 1}, {1, 100}, {10, 10}} {
				name := fmt.Sprintf("tls=%t/size=%d/connections=%d/streams=%d", secure, size, shape.connections, shape.streams)
				b.Run(name, func(b *testing.B) {
					n := min(20_000, 200_000_000/(size+10_000))
					if shape.streams == 1 {
						n /= 4
					}
					compareRequests(b, contenders, secure, size, shape.connections, shape.streams, n)
				})
			}
		}
	}
}

// compareRequests makes b.N rounds of n requests with each contender.
func compareRequests(b *testing.B, contenders []*contender, secure bool, size, connections, streams, n int) {
	clients := make([][]*http.Client, len(contenders))
	figures := make([]rounds, len(contenders))
	for i, c := range contenders {
		for range connections {
			clients[i] = append(clients[i], c.client(b))
		}
		figures[i] = make(rounds)
		work(b, clients[i], streams, c.url(secure, size), size, n/10+connections*streams)
	}
	for b.Loop() {
		for i, c := range contenders {
			clientBefore, serverBefore := c.used(b, false)
			began := time.Now()
			work(b, clients[i], streams, c.url(secure, size), size, n)
			took := time.Since(began)
			client, server := c.used(b, false)
			f, each := figures[i], func(x int64) float64 { return float64(x) / float64(n) }
			f.add("rate", float64(n)/took.Seconds())
			f.add("client", float64(n)/(client.Processor-clientBefore.Processor).Seconds())
			f.add("server", float64(n)/(server.Processor-serverBefore.Processor).Seconds())
			f.add("client-reads", each(client.Reads-clientBefore.Reads))
			f.add("client-writes", each(client.Writes-clientBefore.Writes))
			f.add("server-reads", each(server.Reads-serverBefore.Reads))
			f.add("server-writes", each(server.Writes-serverBefore.Writes))
			f.add("client-allocs", each(int64(client.Allocations-clientBefore.Allocations)))
			f.add("server-allocs", each(int64(server.Allocations-serverBefore.Allocations)))
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of both is meaningless
	ours, theirs := figures[0], figures[1]
	b.ReportMetric(ours.median("rate"), "requests/s")
	b.ReportMetric(ours.median("rate")/theirs.median("rate"), "ratio")
	for _, side := range []string{"client", "server"} {
		b.ReportMetric(ours.median(side)/theirs.median(side), side)
	}
	for _, name := range slices.SortedFunc(maps.Keys(ours), cmp.Compare[string]) {
		if strings.Contains(name, "-") {
			b.ReportMetric(ours.median(name), name)
			b.ReportMetric(theirs.median(name), "h2-"+name)
		}
	}
}

// BenchmarkIdleSessions measures what a TLS session costs that has carried some
// requests and waits for the next one: octets of heap and stacks in use after a
// garbage collection, at the client and at the server, over a thousand sessions.
func BenchmarkIdleSessions(b *testing.B) {
	const sessions = 1000
	for _, requests := range []int{1, 10, 100, 1000} {
		for _, protocol := range []string{"spdy/3.1", "h2"} {
			b.Run(fmt.Sprintf("requests=%d/over=%s", requests, protocol), func(b *testing.B) {
				for b.Loop() {
					idle(b, contend(b, protocol), sessions, requests)
				}
			})
		}
	}
}

func idle(b *testing.B, c *contender, sessions, requests int) {
	// The first request makes what all share.
	must(b, get(c.client(b), c.url(true, 100), 100))
	debug.FreeOSMemory()
	clientBefore, serverBefore := c.used(b, true)
	clients := make([]*http.Client, sessions)
	for i := range clients {
		clients[i] = c.client(b)
	}
	for _, client := range clients {
		work(b, []*http.Client{client}, min(10, requests), c.url(true, 100), 100, requests)
	}
	client, server := c.used(b, true)
	per := func(now, before uint64) float64 { return float64(int64(now-before)) / float64(sessions) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(per(client.Heap, clientBefore.Heap), "client-heap")
	b.ReportMetric(per(client.Stacks, clientBefore.Stacks), "client-stacks")
	b.ReportMetric(per(server.Heap, serverBefore.Heap), "server-heap")
	b.ReportMetric(per(server.Stacks, serverBefore.Stacks), "server-stacks")
	runtime.KeepAlive(clients)
}
