package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab/emulator"
	"wiretime/network"
)

// renoTen are the TCP options of tests.
var renoTen = TCPOptions{Congestion: "reno", InitCwnd: 10}

// prepare makes the lab's hosts ready for a path.
func prepare(t *testing.T, l *Lab, path network.Path) *Hosts {
	t.Helper()
	h, err := l.Prepare(path, renoTen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// bring has the client take 20,000 octets from the server over TCP.
func bring(ctx context.Context, h *Hosts) (err error) {
	const octets = 20_000
	listener, err := h.Server.Listen(ctx, "tcp4", net.JoinHostPort(ServerAddress(0).String(), "80"))
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.CopyN(conn, zeros{}, octets)
			_ = conn.Close()
		}
		sent <- err
	}()
	defer func() { err = errors.Join(err, listener.Close(), <-sent) }()
	var conn net.Conn
	err = h.Client.Do(func() (err error) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: h.Locals[0].AsSlice()}}
		conn, err = dialer.DialContext(ctx, "tcp4", listener.Addr().String())
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if n, err := io.Copy(io.Discard, conn); n != octets {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	return nil
}

// readCapture reads what SaveCapture left in a folder.
func readCapture(t *testing.T, dir string) *capture.Packets {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, CaptureFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packets, err := capture.ReadPcapng(file)
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// TestATaskLeavesACapture looks at the report and the capture of a task, and again after
// another over the same path: the capture holds the packets of the last one.
func TestATaskLeavesACapture(t *testing.T) {
	l := newLab(t)
	h := prepare(t, l, oneLink("ten", 10_000_000, 5*time.Millisecond))
	task := Task{Seed: 1, Comment: "a task", Do: func(ctx context.Context, p Progress) error {
		select {
		case <-p.Epoch:
			t.Error("the path's time has begun before the first packet")
		default:
		}
		err := bring(ctx, h)
		<-p.Epoch
		return err
	}}
	if _, err := h.Keys.Write([]byte("CLIENT_RANDOM 00 11\n")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := h.Run(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if r.LoadError != nil || r.Emulator.Uncaptured != 0 || r.Taken == nil || r.ClockSet || r.DNSQueries != 0 {
			t.Errorf("the report is %+v", r)
		}
		dir := t.TempDir()
		if err := h.SaveCapture(dir); err != nil {
			t.Fatal(err)
		}
		packets := readCapture(t, dir)
		if got := string(packets.Secrets); got != "CLIENT_RANDOM 00 11\n" || packets.Comment != "a task" {
			t.Errorf("secrets %q, comment %q", got, packets.Comment)
		}
		if n := r.Emulator.Arrived[network.Up] + r.Emulator.Arrived[network.Down]; int64(len(packets.Records)) != 2*n || n == 0 {
			t.Errorf("%d records of %d packets", len(packets.Records), n)
		}
		if again, err := h.ReadCapture(); err != nil || len(again.Records) != len(packets.Records) {
			t.Errorf("reading the capture before it is saved: %v", err)
		}
		if err := h.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACaptureKeepsWhatItIsToldTo counts what is kept of packets, and what is not.
func TestACaptureKeepsWhatItIsToldTo(t *testing.T) {
	l := newLab(t)
	for _, keep := range []emulator.Keep{{}, {Octets: 60}, {Packets: 7}, {Octets: 128, Packets: 1}, {Octets: 5000, Packets: 5000}} {
		h := prepare(t, l, oneLink("ten", 10_000_000, 5*time.Millisecond))
		r, err := h.Run(t.Context(), Task{Keep: keep, Do: func(ctx context.Context, _ Progress) error { return bring(ctx, h) }})
		if err != nil || r.LoadError != nil {
			t.Fatal(r, err)
		}
		packets, err := h.ReadCapture()
		if err != nil {
			t.Fatal(err)
		}
		all := r.Emulator.Arrived[0] + r.Emulator.Delivered[0] + r.Emulator.Arrived[1] + r.Emulator.Delivered[1]
		want := all
		if keep.Packets > 0 {
			want = min(want, int64(keep.Packets))
		}
		if got := int64(len(packets.Records)); got != want || r.Emulator.Uncaptured != all-want {
			t.Errorf("keeping %+v: %d records, %d left out; want %d of %d", keep, got, r.Emulator.Uncaptured, want, all)
		}
		for _, p := range packets.Records {
			h, err := capture.Dissect(p.Data)
			if err != nil {
				t.Fatal(err)
			}
			kept := p.Length
			if keep.Octets > 0 {
				kept = min(kept, keep.Octets)
			}
			if headers := p.Length - h.PayloadLength; len(p.Data) != kept || headers < 40 || headers > 80 {
				t.Errorf("keeping %+v: %d octets of a packet of %d with %d of data", keep, len(p.Data), p.Length, h.PayloadLength)
			}
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestATaskThatFails has the error in the report, and nothing of it stays in memory.
func TestATaskThatFails(t *testing.T) {
	l := newLab(t)
	failure := errors.New("nobody came")
	h, err := l.Prepare(oneLink("ten", 10_000_000, 0), renoTen)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Run(t.Context(), Task{Do: func(context.Context, Progress) error { return failure }})
	if err != nil || !errors.Is(r.LoadError, failure) {
		t.Errorf("%+v, %v", r, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(Scratch, "capture-*")); err != nil || len(left) > 0 {
		t.Errorf("captures are left: %v, %v", left, err)
	}
}

// TestWhatALabCannotDo asks for paths and captures that it refuses.
func TestWhatALabCannotDo(t *testing.T) {
	l := newLab(t)
	for _, c := range []struct {
		path network.Path
		keep emulator.Keep
		want string
	}{
		{network.Path{Name: "wide", Access: make([]network.Access, 3)}, emulator.Keep{}, "has 3 access links, this lab was built with 2"},
		{oneLink("ten", 10_000_000, 0), emulator.Keep{Octets: -1}, "-1 octets"},
		{network.Path{Name: "nameless", Access: []network.Access{{}}}, emulator.Keep{}, "access link 1 has no name"},
	} {
		h, err := l.Prepare(c.path, renoTen)
		if err == nil {
			_, err = h.Run(t.Context(), Task{Keep: c.keep, Do: func(context.Context, Progress) error { return nil }})
			err = errors.Join(err, h.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
}

// TestRenewedHostsAreNew renews the lab: its namespaces are others, and it works.
func TestRenewedHostsAreNew(t *testing.T) {
	l := newLab(t)
	var seen []*Namespace
	for range 2 {
		h := prepare(t, l, oneLink("ten", 10_000_000, 0))
		if slices.Contains(seen, h.Client) || slices.Contains(seen, h.Server) {
			t.Error("the lab has a host again")
		}
		seen = append(seen, h.Client, h.Server)
		r, err := h.Run(t.Context(), Task{Do: func(ctx context.Context, _ Progress) error { return bring(ctx, h) }})
		if err != nil || r.LoadError != nil {
			t.Fatal(r, err)
		}
		if err := l.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
