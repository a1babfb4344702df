package lab

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab/emulator"
	"wiretime/network"
)

var linuxBuffers = Config{AccessLinks: 2, TCPRmem: network.TCPRmem(), TCPWmem: network.TCPWmem()}

func newLab(t testing.TB) *Lab {
	t.Helper()
	l, err := New(t.Context(), linuxBuffers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.setRoutes(TCPOptions{Congestion: "cubic", InitCwnd: 10}); err != nil {
		t.Fatal(err)
	}
	return l
}

func oneLink(name string, rate network.BitRate, delay time.Duration) network.Path {
	link := network.Link{Rate: rate, Delay: delay, Queue: network.Queue{Bytes: 256 << 10}}
	return network.Path{Name: name, Access: []network.Access{{Name: "access", Up: link, Down: link}}}
}

// arm emulates a path and returns where its capture will be.
func arm(t testing.TB, l *Lab, p network.Path) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "test.pcapng")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := l.emulator.Arm(t.Context(), p, 1, emulator.Recording{File: file, Comment: t.Name()}); err != nil {
		t.Fatal(err)
	}
	return name
}

// finishCapture ends the emulation and reads its capture.
func finishCapture(t *testing.T, l *Lab, name string) (emulator.Report, *capture.Packets) {
	t.Helper()
	if err := l.emulator.Settle(t.Context(), settleQuiet, settleLimit); err != nil {
		t.Fatal(err)
	}
	report, err := l.emulator.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		t.Fatal(err)
	}
	return report, packets
}

func dial(ctx context.Context, l *Lab, network, address string) (conn net.Conn, err error) {
	err = l.client.Do(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// transfer sends n bytes from the server to the client over TCP. It returns the
// rate of the last two thirds, in bytes per second: by then TCP has found it.
func transfer(t testing.TB, l *Lab, n int64) float64 {
	t.Helper()
	listener, err := l.server.Listen(t.Context(), "tcp4", ServerAddress(0).String()+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.CopyN(conn, zeros{}, n)
			_ = conn.Close()
		}
		sent <- err
	}()
	conn, err := dial(t.Context(), l, "tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.CopyN(io.Discard, conn, n/3); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if rest, err := io.Copy(io.Discard, conn); err != nil || rest != n-n/3 {
		t.Fatalf("received %d bytes, error %v; want %d bytes", n/3+rest, err, n)
	}
	took := time.Since(began)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	return float64(n-n/3) / took.Seconds()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestTransferIsCapturedAtBothEnds sends data through a link and looks at the
// capture: it has every packet at both ends, in pairs, and the path's delay
// between the two.
func TestTransferIsCapturedAtBothEnds(t *testing.T) {
	l := newLab(t)
	const delay = 20 * time.Millisecond
	name := arm(t, l, oneLink("ten", 10_000_000, delay))
	transfer(t, l, 200_000)
	report, packets := finishCapture(t, l, name)
	sent := map[uint64]capture.PacketRecord{}
	pairs := int64(0)
	for _, r := range packets.Records {
		if !r.Inbound {
			sent[r.ID] = r
			continue
		}
		s, ok := sent[r.ID]
		if !ok {
			t.Fatalf("packet %d was received but never sent", r.ID)
		}
		if string(s.Data) != string(r.Data) {
			t.Fatalf("packet %d changed on its way", r.ID)
		}
		if took := time.Duration(r.Time - s.Time); took < delay {
			t.Fatalf("packet %d took %v, less than the link's %v", r.ID, took, delay)
		}
		pairs++
	}
	if want := report.Delivered[network.Up] + report.Delivered[network.Down]; pairs != want || pairs < 150 {
		t.Fatalf("%d packets at both ends, the emulator delivered %d", pairs, want)
	}
	t.Logf("late at most %v, scheduling %s, waited %v for a processor", time.Duration(report.LateMax), report.Scheduling, time.Duration(report.RunQueueWait))
}

// TestQueueDropsAreInTheCapture overruns a small queue.
func TestQueueDropsAreInTheCapture(t *testing.T) {
	l := newLab(t)
	p := oneLink("short-queue", 2_000_000, 50*time.Millisecond)
	p.Access[0].Down.Queue = network.Queue{Packets: 5}
	name := arm(t, l, p)
	transfer(t, l, 200_000)
	report, packets := finishCapture(t, l, name)
	dropped := report.Dropped[network.DroppedQueue.String()]
	if dropped == 0 {
		t.Fatalf("no packet was dropped: %+v", report)
	}
	var seen int64
	for _, r := range packets.Records {
		if r.Comment == capture.DroppedPrefix+network.DroppedQueue.String() {
			seen++
		}
	}
	if seen != dropped {
		t.Fatalf("the capture has %d packets dropped by the queue, the emulator reports %d", seen, dropped)
	}
}
