package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab/emulator"
	"wiretime/media/record"
	"wiretime/network"
)

// renoTen is what the plays of tests go by.
var renoTen = TCPOptions{Congestion: "reno", InitCwnd: 10}

// bring is a play in which the client takes 20,000 octets from the server over TCP.
func bring(path network.Path, dir string) Play {
	const octets = 20_000
	return Play{Path: path, Seed: 1, TCP: renoTen, Dir: dir, Comment: "a play", Perform: func(ctx context.Context, s *Stage) error {
		var listener net.Listener
		err := s.Server.Do(func() (err error) {
			listener, err = new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(s.Address.String(), "80"))
			return err
		})
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
		s.After(func() error {
			s.Record.Server = []capture.ServerEntry{{URL: "media:test", BodyBytes: octets}}
			return errors.Join(listener.Close(), <-sent)
		})
		var conn net.Conn
		err = s.Client.Do(func() (err error) {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.Locals[0].AsSlice()}}
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
		s.Record.Stream = &record.Stream{Media: "test", Epoch: time.Millisecond}
		return nil
	}}
}

// readPlay is the capture of a play.
func readPlay(t *testing.T, dir string) *capture.Packets {
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

// TestAPlayLeavesItsArtefacts looks at the record and the files of a play.
func TestAPlayLeavesItsArtefacts(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	play := bring(oneLink("ten", 10_000_000, 5*time.Millisecond), dir)
	perform := play.Perform
	play.Perform = func(ctx context.Context, s *Stage) error {
		select {
		case <-s.Epoch:
			t.Error("the path's time has begun before the first packet")
		default:
		}
		_, err := s.KeyLog.Write([]byte("CLIENT_RANDOM 00 11\n"))
		err = errors.Join(err, perform(ctx, s))
		<-s.Epoch
		return err
	}
	r, err := l.Play(t.Context(), play)
	if err != nil {
		t.Fatal(err)
	}
	if r.LoadError != nil || r.HAR != nil || r.ServerLost != -1 || r.Timing != unknownTiming || len(r.Server) != 1 || r.Emulator.Uncaptured != 0 {
		t.Errorf("the record is %+v", r)
	}
	packets := readPlay(t, dir)
	if got := string(packets.Secrets); got != "CLIENT_RANDOM 00 11\n" || packets.Comment != "a play" {
		t.Errorf("secrets %q, comment %q", got, packets.Comment)
	}
	if n := r.Emulator.Arrived[network.Up] + r.Emulator.Arrived[network.Down]; int64(len(packets.Records)) != 2*n || n == 0 {
		t.Errorf("%d records of %d packets", len(packets.Records), n)
	}
	stream, err := record.Read(filepath.Join(dir, StreamFile))
	if err != nil || !reflect.DeepEqual(stream, r.Stream) {
		t.Errorf("the file says %+v, %v; want %+v", stream, err, r.Stream)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{CaptureFile, ServerFile, StreamFile}; err != nil || !slices.Equal(names, want) {
		t.Errorf("it has left %v, %v; want %v", names, err, want)
	}
}

// TestACaptureKeepsWhatItIsToldTo counts what is kept of packets, and what is not.
func TestACaptureKeepsWhatItIsToldTo(t *testing.T) {
	l := newLab(t)
	for _, keep := range []emulator.Keep{{}, {Octets: 60}, {Packets: 7}, {Octets: 128, Packets: 1}, {Octets: 5000, Packets: 5000}} {
		dir := t.TempDir()
		play := bring(oneLink("ten", 10_000_000, 5*time.Millisecond), dir)
		play.Keep = keep
		r, err := l.Play(t.Context(), play)
		if err != nil {
			t.Fatal(err)
		}
		packets := readPlay(t, dir)
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
	}
}

// TestAPlayThatFails has the error in the record, and everything closed.
func TestAPlayThatFails(t *testing.T) {
	l := newLab(t)
	failure := errors.New("nobody came")
	var order []int
	play := Play{Path: oneLink("ten", 10_000_000, 0), TCP: renoTen, Dir: t.TempDir(), Perform: func(_ context.Context, s *Stage) error {
		for i := range 3 {
			s.After(func() error { order = append(order, i); return nil })
		}
		return failure
	}}
	r, err := l.Play(t.Context(), play)
	if err != nil || !errors.Is(r.LoadError, failure) {
		t.Errorf("%+v, %v", r, err)
	}
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("called after it, in this order: %v", order)
	}
	play.Perform = func(_ context.Context, s *Stage) error {
		s.After(func() error { return failure })
		return nil
	}
	if r, err := l.Play(t.Context(), play); !errors.Is(err, failure) {
		t.Errorf("what comes after fails: %+v, %v", r, err)
	}
	for _, c := range []struct {
		change func(*Play)
		want   string
	}{
		{func(p *Play) { p.Path.Access = make([]network.Access, 3) }, "has 3 access links, this lab was built with 2"},
		{func(p *Play) { p.Keep.Octets = -1 }, "-1 octets"},
		{func(p *Play) { p.Path.Access = []network.Access{{}} }, "access link 1 has no name"},
	} {
		bad := play
		bad.Perform = func(context.Context, *Stage) error { return nil }
		c.change(&bad)
		if _, err := l.Play(t.Context(), bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
}
