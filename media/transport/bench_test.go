package transport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/pion/sctp"
	"github.com/pion/transport/v5/udp"
	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"

	"wiretime/media/storage"
)

// BenchmarkTransfer carries the paper's file of 1 GB over the loopback device, by
// each transport and by what it is to be compared with: iperf3, and bare copies by
// quic-go and pion with the settings that we give them, but in sockets as they come.
func BenchmarkTransfer(b *testing.B) {
	b.Setenv("QUIC_GO_DISABLE_GSO", "false") // which labs switch off
	for _, row := range All() {
		b.Run(row.Name, func(b *testing.B) {
			if err := row.Available(nil); err != nil {
				b.Skip(err)
			}
			benchmarkRow(b, row)
		})
	}
	b.Run("reference=iperf3", benchmarkIperf)
	b.Run("reference=quic-go", benchmarkQUIC)
	b.Run("reference=pion", benchmarkPion)
}

func benchmarkRow(b *testing.B, row Transport) {
	bench := serve(b, row, func(c *ServerConfig) {
		content, err := storage.Make(1, storage.File("file", storage.FileSize))
		must(b, err)
		c.Storage = content
	})
	s := bench.session(b)
	defer costs(b)()
	for b.Loop() {
		response, err := s.Request(b.Context(), wholeFile)
		must(b, err)
		must(b, readAll(response))
		must(b, response.Close())
	}
}

// costs reports how much processor time both ends together take for 1 GB, in
// seconds: it depends less than the time it takes on what else the machine does.
func costs(b *testing.B) (report func()) {
	b.SetBytes(storage.FileSize)
	before := processorTime(b)
	return func() { b.ReportMetric((processorTime(b)-before)/float64(b.N), "cpu-s/GB") }
}

func processorTime(b *testing.B) float64 {
	var usage unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// readAll reads 1 GB.
func readAll(from io.Reader) error {
	buffer := make([]byte, writeSize)
	n := int64(0)
	for {
		k, err := from.Read(buffer)
		if n += int64(k); n == storage.FileSize {
			return nil
		}
		if err != nil {
			return noEOF(err)
		}
	}
}

// writeAll writes 1 GB.
func writeAll(to io.Writer, size int) error {
	buffer := make([]byte, size)
	for n := int64(0); n < storage.FileSize; n += int64(size) {
		if _, err := to.Write(buffer[:min(int64(size), storage.FileSize-n)]); err != nil {
			return err
		}
	}
	return nil
}

// benchmarkIperf reports what iperf3 measures with one connection over which its
// server sends.
func benchmarkIperf(b *testing.B) {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		b.Skip("iperf3 is not installed")
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
	defer func() { stop(); _ = server.Wait() }()
	for line := make([]byte, 4096); ; { // until it listens
		n, err := said.Read(line)
		must(b, err)
		if strings.Contains(string(line[:n]), "listening") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	b.SetBytes(storage.FileSize)
	for b.Loop() {
		out, err := exec.CommandContext(ctx, program, "-c", "127.0.0.1", "-p", port, "-R", "-J", "-n", strconv.Itoa(storage.FileSize)).Output()
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
		b.ReportMetric(report.End.Received.Rate/8e6, "iperf-MB/s") // without the start of the program
		b.ReportMetric(report.End.Received.Seconds*(report.End.Percent.Host+report.End.Percent.Remote)/100, "cpu-s/GB")
	}
}

func benchmarkQUIC(b *testing.B) {
	bench := serve(b, mustLookup(b, "quic"), nil)
	config := &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return bench.server.config.CA.Certificate(h.ServerName)
	}, NextProtos: []string{"bare"}}
	listener, err := quic.ListenAddr("127.0.0.1:0", config, nil)
	must(b, err)
	defer listener.Close()
	go func() {
		conn, err := listener.Accept(b.Context())
		for err == nil {
			var stream *quic.SendStream
			if stream, err = conn.OpenUniStreamSync(b.Context()); err == nil {
				err = errors.Join(writeAll(stream, writeSize), stream.Close())
			}
		}
	}()
	conn, err := quic.DialAddr(b.Context(), listener.Addr().String(), &tls.Config{
		ServerName: serverName, InsecureSkipVerify: true, NextProtos: []string{"bare"},
	}, nil)
	must(b, err)
	defer func() { _ = conn.CloseWithError(0, "") }()
	defer costs(b)()
	for b.Loop() {
		stream, err := conn.AcceptUniStream(b.Context())
		must(b, err)
		must(b, readAll(stream))
	}
}

func benchmarkPion(b *testing.B) {
	config := udp.ListenConfig{ReadBufferSize: receiveWindow}
	listener, err := config.Listen("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	must(b, err)
	defer listener.Close()
	again := make(chan bool)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		var options []sctp.ServerOption
		for _, o := range sctpOptions(conn, false) {
			options = append(options, o)
		}
		a, err := sctp.ServerWithOptions(options...)
		if err != nil {
			return
		}
		stream, err := a.OpenStream(0, 0)
		for err == nil && <-again {
			err = writeAll(stream, messageSize)
		}
		_ = a.Close()
	}()
	conn, err := net.Dial("udp", listener.Addr().String())
	must(b, err)
	var options []sctp.ClientOption
	for _, o := range sctpOptions(conn, false) {
		options = append(options, o)
	}
	a, err := sctp.ClientWithOptions(options...)
	must(b, err)
	stream, err := a.OpenStream(0, 0)
	must(b, err)
	defer costs(b)()
	for b.Loop() {
		again <- true
		must(b, readAll(stream))
	}
	close(again)
	must(b, a.Close())
}

func mustLookup(t testing.TB, name string) Transport {
	t.Helper()
	row, err := Lookup(name)
	must(t, err)
	return row
}
