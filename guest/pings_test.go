package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/site"
	"wiretime/workload/pageload"
)

// pings are echo requests (RFC 792) that a client sends to a server through a lab on either
// clock. The server's kernel answers, so both directions of the path carry the same packets
// except for losses.
type pings struct {
	Path    network.Path
	Seed    uint64
	Count   int
	Size    int           // of an IP packet, in bytes
	Spacing time.Duration // from one request to the next
	Wait    time.Duration // for answers after the last request
}

// These are the files in a guest with the pings to send and their round-trip times.
const (
	pingsFile = "pings.json"
	timesFile = "times.json"
)

// servePings sends the pings in a guest.
func servePings() error {
	var p pings
	if err := readJSON(pingsFile, &p); err != nil {
		return err
	}
	config := labConfig(len(p.Path.Access))
	times, err := p.send(context.Background(), config, "/tmp/ca", filepath.Join(shared, outDir))
	if err != nil {
		return err
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(shared, outDir, timesFile), text, 0o644)
}

// virtually sends the pings in a guest. It returns their round-trip times, 0 for lost ones,
// and the capture.
func (p pings) virtually(t *testing.T) ([]time.Duration, *capture.Packets) {
	t.Helper()
	var times []time.Duration
	out := inGuest(t, pingsProgram, pingsFile, p, timesFile, &times)
	return times, readCaptureFile(t, filepath.Join(out, lab.CaptureFile))
}

// really sends the pings on the real clock.
func (p pings) really(t *testing.T) *capture.Packets {
	t.Helper()
	config, dir := labConfig(len(p.Path.Access)), t.TempDir()
	config.Virtual, config.Unblocked = false, false
	if _, err := p.send(t.Context(), config, filepath.Join(dir, "ca"), dir); err != nil {
		t.Fatal(err)
	}
	return readCaptureFile(t, filepath.Join(dir, lab.CaptureFile))
}

func (p pings) send(ctx context.Context, config lab.Config, authority, dir string) (times []time.Duration, err error) {
	l, err := lab.New(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ca, err := protocol.OpenAuthority(authority)
	if err != nil {
		return nil, err
	}
	page, err := site.Objects(1, 1)
	if err != nil {
		return nil, err
	}
	v := &pinger{pings: p, lab: l}
	record, err := pageload.Run(ctx, l, pageload.Load{Order: pageload.Order{Path: p.Path, Seed: p.Seed, TCP: cubic, Protocol: "http/1.1",
		Timeout: time.Duration(p.Count)*p.Spacing + p.Wait + time.Minute}, Site: page, Authority: ca, Session: v, Dir: dir})
	if err != nil {
		return nil, err
	}
	return v.times, record.LoadError
}

// pinger is a loader that pings.
type pinger struct {
	pings
	lab   *lab.Lab
	times []time.Duration
}

// echoServer is an address of the server's host.
var echoServer = &net.IPAddr{IP: net.IPv4(198, 19, 1, 1)}

// Sizes of headers, in bytes.
const (
	ipHeader   = 20 // RFC 791 without options
	icmpHeader = 8  // RFC 792, echo
)

func (p *pinger) Load(ctx context.Context, _ string) (*capture.HAR, capture.Timing, error) {
	conn, err := p.lab.ListenPacket(ctx, "ip4:icmp", "0.0.0.0")
	if err != nil {
		return nil, capture.Timing{}, err
	}
	defer conn.Close()
	p.times = make([]time.Duration, p.Count)
	began := time.Now()
	at := make([]time.Time, p.Count)
	failed := make(chan error, 1)
	if err := conn.SetReadDeadline(began.Add(time.Duration(p.Count)*p.Spacing + p.Wait)); err != nil {
		return nil, capture.Timing{}, err
	}
	go func() {
		for i := range p.Count {
			time.Sleep(time.Until(began.Add(time.Duration(i) * p.Spacing)))
			request := make([]byte, p.Size-ipHeader)
			request[0] = 8 // echo
			binary.BigEndian.PutUint16(request[6:], uint16(i))
			binary.BigEndian.PutUint16(request[2:], checksum(request))
			at[i] = time.Now()
			if _, err := conn.WriteTo(request, echoServer); err != nil {
				failed <- fmt.Errorf("send ping %d: %w", i, err)
				return
			}
		}
		failed <- nil
	}()
	reply := make([]byte, 2048)
	for {
		n, _, err := conn.ReadFrom(reply)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, capture.Timing{}, <-failed
		}
		if err != nil {
			return nil, capture.Timing{}, errors.Join(err, <-failed)
		}
		if i := binary.BigEndian.Uint16(reply[6:]); n == p.Size-ipHeader && reply[0] == 0 && int(i) < p.Count {
			p.times[i] = time.Since(at[i])
		}
	}
}

func (*pinger) Close() error { return nil }

// checksum is the Internet checksum (RFC 1071) of an even number of bytes.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	return ^uint16(sum>>16 + sum)
}

func readCaptureFile(t *testing.T, name string) *capture.Packets {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return readCapture(t, text)
}

func readCapture(t *testing.T, text []byte) *capture.Packets {
	t.Helper()
	packets, err := capture.ReadPcapng(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return packets
}
