package transport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/sctp"
	"github.com/pion/transport/v5/udp"
	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"

	"wiretime/media/storage"
)

// BenchmarkTransfer transfers a part of a file over the loopback device by each transport
// and by a reference: iperf3, which has no TLS, and plain copies by crypto/tls, quic-go and
// pion with our settings. Both take turns on the same machine, and the medians of their
// rounds are compared: "ratio" is our goodput divided by theirs, and "cpu-ratio" their
// processor time divided by ours, which depends less on other load of the machine.
func BenchmarkTransfer(b *testing.B) {
	b.Setenv("QUIC_GO_DISABLE_GSO", "false") // which labs switch off
	references := map[string]func(*testing.B) round{"tcp": bareTLS, "tcp-clear": iperf, "sctp-udp": barePion, "quic": bareQUIC}
	for _, row := range All() {
		b.Run(row.Name, func(b *testing.B) {
			if err := row.Available(nil); err != nil {
				b.Skip(err)
			}
			size := int64(250_000_000)
			if row.Protocol == "udp" { // which takes longer
				size = 100_000_000
			}
			compare(b, size, ours(b, row), references[row.Name])
		})
	}
}

// round transfers size octets and returns how long that took, and the processor time of
// both ends together.
type round func(size int64) (took, processor time.Duration)

// compare runs both b.N times. theirs makes the reference; it may be nil or return nil.
func compare(b *testing.B, size int64, our round, theirs func(*testing.B) round) {
	sides := []round{our}
	if theirs != nil {
		if their := theirs(b); their != nil {
			sides = append(sides, their)
		}
	}
	for _, side := range sides {
		side(size) // windows grow
	}
	took, processor := make([][]time.Duration, len(sides)), make([][]time.Duration, len(sides))
	for b.Loop() {
		for i, side := range sides {
			t, p := side(size)
			took[i], processor[i] = append(took[i], t), append(processor[i], p)
		}
	}
	rate := func(i int) float64 { return float64(size) / 1e6 / median(took[i]).Seconds() }
	cost := func(i int) float64 { return median(processor[i]).Seconds() * 1e9 / float64(size) }
	b.ReportMetric(0, "ns/op") // the sum of both is meaningless
	b.ReportMetric(rate(0), "MB/s")
	b.ReportMetric(cost(0), "cpu-s/GB")
	if len(sides) > 1 {
		b.ReportMetric(rate(1), "their-MB/s")
		b.ReportMetric(cost(1), "their-cpu-s/GB")
		b.ReportMetric(rate(0)/rate(1), "ratio")
		b.ReportMetric(cost(1)/cost(0), "cpu-ratio")
	}
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// timed makes a round of a function that has both ends in this process.
func timed(b *testing.B, carry func(size int64) error) round {
	return func(size int64) (time.Duration, time.Duration) {
		began, before := time.Now(), processorTime(b)
		must(b, carry(size))
		return time.Since(began), processorTime(b) - before
	}
}

func processorTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ours is a row of the table.
func ours(b *testing.B, row Transport) round {
	bench := serve(b, row, func(c *ServerConfig) {
		content, err := storage.Make(1, storage.File("file", storage.FileSize))
		must(b, err)
		c.Storage = content
	})
	s := bench.session(b)
	buffer := make([]byte, writeSize)
	return timed(b, func(size int64) error {
		request := wholeFile
		request.Length = size
		response, err := s.Request(b.Context(), request)
		if err != nil {
			return err
		}
		return errors.Join(readAll(response, buffer, size), response.Close())
	})
}

// readAll reads so many octets.
func readAll(from io.Reader, buffer []byte, size int64) error {
	for n := int64(0); n < size; {
		k, err := from.Read(buffer)
		if n += int64(k); err != nil && n < size {
			return noEOF(err)
		}
	}
	return nil
}

// writeAll writes so many octets, from a buffer at a time.
func writeAll(to io.Writer, buffer []byte, size int64) error {
	for size > 0 {
		n, err := to.Write(buffer[:min(int64(len(buffer)), size)])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// bare makes a round of a connection. The writer writes the sizes that it receives from a
// channel, which bare makes and closes with b.
func bare(b *testing.B, from io.Reader, write func(sizes <-chan int64)) round {
	sizes := make(chan int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		write(sizes)
	}()
	b.Cleanup(func() {
		close(sizes)
		<-done
	})
	buffer := make([]byte, writeSize)
	return timed(b, func(size int64) error {
		select {
		case sizes <- size:
		case <-done: // the reader reports the cause
		}
		return readAll(from, buffer, size)
	})
}

// iperf is what iperf3 measures itself with one connection over which its server
// sends, without the start of the program; nil if it is not installed.
func iperf(b *testing.B) round {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		b.Log("no comparison: iperf3 is not installed (Debian's package iperf3)")
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	port := strconv.Itoa(int(addressOf(listener.Addr()).Port()))
	must(b, listener.Close())
	ctx, stop := context.WithCancel(b.Context())
	server := exec.CommandContext(ctx, program, "-s", "-p", port, "--forceflush")
	said, err := server.StdoutPipe()
	must(b, err)
	must(b, server.Start())
	b.Cleanup(func() { stop(); _ = server.Wait() })
	for line := make([]byte, 4096); ; { // until it listens
		n, err := said.Read(line)
		must(b, err)
		if strings.Contains(string(line[:n]), "listening") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return func(size int64) (time.Duration, time.Duration) {
		out, err := exec.CommandContext(ctx, program, "-c", "127.0.0.1", "-p", port, "-R", "-J", "-n", strconv.FormatInt(size, 10)).Output()
		must(b, err)
		var report struct {
			End struct {
				Received struct {
					Rate    float64 `json:"bits_per_second"`
					Seconds float64
				} `json:"sum_received"`
				Percent struct {
					Host   float64 `json:"host_total"`
					Remote float64 `json:"remote_total"`
				} `json:"cpu_utilization_percent"`
			}
		}
		must(b, json.Unmarshal(out, &report))
		end := report.End
		took := float64(size) * 8 / end.Received.Rate
		return time.Duration(took * 1e9), time.Duration(end.Received.Seconds * (end.Percent.Host + end.Percent.Remote) / 100 * 1e9)
	}
}

// bareConfigs returns plain TLS configurations with our certificate.
func bareConfigs(b *testing.B) (client, server *tls.Config) {
	authority := serve(b, mustLookup(b, "tcp"), nil).server.config.CA
	server = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return authority.Certificate(h.ServerName)
	}, NextProtos: []string{"bare"}}
	return &tls.Config{ServerName: serverName, InsecureSkipVerify: true, NextProtos: server.NextProtos}, server
}

func bareTLS(b *testing.B) round {
	client, server := bareConfigs(b)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	must(b, err)
	b.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := listener.Accept(); err == nil {
			accepted <- conn
			_ = conn.(*tls.Conn).Handshake()
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), client)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return bare(b, conn, func(sizes <-chan int64) {
		to, buffer := <-accepted, make([]byte, writeSize)
		for size := range sizes {
			if writeAll(to, buffer, size) != nil {
				break
			}
		}
		_ = to.Close()
	})
}

// bareQUIC has a stream for each round, as we do.
func bareQUIC(b *testing.B) round {
	client, server := bareConfigs(b)
	listener, err := quic.ListenAddr("127.0.0.1:0", server, nil)
	must(b, err)
	b.Cleanup(func() { _ = listener.Close() })
	conn, err := quic.DialAddr(b.Context(), listener.Addr().String(), client, nil)
	must(b, err)
	b.Cleanup(func() { _ = conn.CloseWithError(0, "") })
	to, err := listener.Accept(b.Context())
	must(b, err)
	return bare(b, &inTurn{b.Context(), conn, nil}, func(sizes <-chan int64) {
		buffer := make([]byte, writeSize)
		for size := range sizes {
			stream, err := to.OpenUniStreamSync(b.Context())
			if err == nil {
				err = errors.Join(writeAll(stream, buffer, size), stream.Close())
			}
			if err != nil {
				_ = to.CloseWithError(1, err.Error())
				break
			}
		}
	})
}

// inTurn reads the streams of a connection one after the other.
type inTurn struct {
	ctx    context.Context
	conn   *quic.Conn
	stream *quic.ReceiveStream
}

func (t *inTurn) Read(p []byte) (n int, err error) {
	if t.stream == nil {
		if t.stream, err = t.conn.AcceptUniStream(t.ctx); err != nil {
			return 0, err
		}
	}
	if n, err = t.stream.Read(p); errors.Is(err, io.EOF) {
		t.stream, err = nil, nil
	}
	return n, err
}

func barePion(b *testing.B) round {
	config := udp.ListenConfig{ReadBufferSize: receiveWindow}
	listener, err := config.Listen("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(b, err)
	b.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan *sctp.Association, 1)
	go func() {
		defer close(accepted)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		var options []sctp.ServerOption
		for _, o := range sctpOptions(conn, false) {
			options = append(options, o)
		}
		if a, err := sctp.ServerWithOptions(options...); err == nil {
			accepted <- a
		}
	}()
	conn, err := net.DialUDP("udp", nil, listener.Addr().(*net.UDPAddr))
	must(b, err)
	must(b, takeWindow(conn)) // without it packets are lost, and the copy is three times slower
	var options []sctp.ClientOption
	for _, o := range sctpOptions(conn, false) {
		options = append(options, o)
	}
	a, err := sctp.ClientWithOptions(options...)
	must(b, err)
	b.Cleanup(func() { _ = a.Close() })
	stream, err := a.OpenStream(0, 0)
	must(b, err)
	return bare(b, stream, func(sizes <-chan int64) {
		to := <-accepted
		out, err := to.OpenStream(0, 0)
		buffer := make([]byte, messageSize)
		for size := range sizes {
			if err == nil {
				err = writeAll(out, buffer, size)
			}
			if err != nil {
				break
			}
		}
		_ = to.Close()
	})
}

func mustLookup(t testing.TB, name string) Transport {
	t.Helper()
	row, err := Lookup(name)
	must(t, err)
	return row
}
