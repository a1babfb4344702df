package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/machine"
)

// BenchmarkAccuracy sends ICMP echoes, which the far host's kernel answers, over a path of 20 ms made by
// the emulator and by Mahimahi (0.98, mm-delay), and over a pair of veth devices. They take turns, while the processors are
// kept awake and while they are not. It prints how far round trips are from the path's, and beside
// them how late a real-time thread is that waits for two timers in turn, as long as the path's two ways: the machine stalls
// both equally often.
func BenchmarkAccuracy(b *testing.B) {
	const delay = 10 * time.Millisecond
	pair := veth(b)
	config := linuxBuffers
	config.AccessLinks = 1
	l, err := New(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	if err := l.setRoutes(TCPOptions{Congestion: "cubic", InitCwnd: 10}); err != nil {
		b.Fatal(err)
	}
	if err := l.emulator.Arm(b.Context(), oneLink("accuracy", 0, delay), 1, emulator.Recording{}); err != nil {
		b.Fatal(err)
	}
	measurements := []struct {
		name string
		run  func() ([]time.Duration, error)
	}{
		{"two timers of 10 ms, real-time thread", func() ([]time.Duration, error) { return waits(b.Context(), delay) }},
		{"RTT over veth", func() ([]time.Duration, error) { return pings(pair.do, pair.server, 0) }},
		{"RTT over the emulator, less 20 ms", func() ([]time.Duration, error) { return pings(l.client.Do, ServerAddress(0).String(), 2*delay) }},
	}
	if inside := insideMahimahi(b, "mm-delay", "10"); inside != nil {
		measurements = append(measurements, struct {
			name string
			run  func() ([]time.Duration, error)
		}{"RTT over Mahimahi, less 20 ms", func() ([]time.Duration, error) { return pings(inside, mahimahiOutside, 2*delay) }})
	}
	var table strings.Builder
	table.WriteString("\n| processors | measured | median, ms | 98th percentile, ms | 99th, ms | worst, ms | of |\n|" + strings.Repeat(" --- |", 7) + "\n")
	took := [2][4][]time.Duration{}
	for b.Loop() {
		for kept := range 2 {
			awake := (*machine.Awake)(nil)
			if kept == 0 {
				if awake, err = machine.KeepAwake(); err != nil {
					b.Fatal(err)
				}
			}
			for i, m := range measurements {
				samples, err := m.run()
				if err != nil {
					b.Fatalf("%s: %v", m.name, err)
				}
				took[kept][i] = append(took[kept][i], samples...)
			}
			if awake != nil {
				_ = awake.Close()
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for kept, name := range []string{"kept awake", "as they are"} {
		for i, m := range measurements {
			t := took[kept][i]
			slices.Sort(t)
			ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
			fmt.Fprintf(&table, "| %s | %s | %.3f | %.3f | %.3f | %.3f | %d |\n", name, m.name, ms(t[len(t)/2]), ms(t[len(t)*98/100]), ms(t[len(t)*99/100]), ms(t[len(t)-1]), len(t))
		}
	}
	b.Log(table.String())
}

// atOnce is how many samples a measurement takes in one turn.
const atOnce = 100

// waits returns how late a real-time thread is after each pair of timers.
func waits(ctx context.Context, each time.Duration) ([]time.Duration, error) {
	late := make(chan []time.Duration)
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: its scheduling ends with it
		clock, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		if err != nil {
			failed <- err
			return
		}
		defer unix.Close(clock)
		if err := becomeUrgent(); err != nil {
			failed <- err
			return
		}
		var all []time.Duration
		for range atOnce {
			var sum time.Duration
			for range 2 {
				var now unix.Timespec
				_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
				due := now.Nano() + each.Nanoseconds()
				_ = unix.TimerfdSettime(clock, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(due)}, nil)
				var times [8]byte
				_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(clock), uintptr(unsafe.Pointer(&times[0])), 8)
				_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
				sum += time.Duration(now.Nano() - due)
			}
			all = append(all, sum)
		}
		late <- all
	}()
	select {
	case l := <-late:
		return l, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// becomeUrgent waits until this thread has the emulators' scheduling.
func becomeUrgent() error {
	AskForUrgency(unix.Gettid())
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(time.Millisecond) {
		if a, err := unix.SchedGetAttr(0, 0); err != nil || a.Policy == unix.SCHED_FIFO {
			return err
		}
	}
	return errors.New("real-time scheduling was not granted: run this as root")
}

// pings returns how far round trips to a host are from one of rtt.
func pings(do func(func() error) error, to string, rtt time.Duration) (off []time.Duration, err error) {
	address, err := netip.ParseAddr(to)
	if err != nil {
		return nil, err
	}
	for range atOnce {
		took, err := pingFrom(do, address)
		if err != nil {
			return nil, err
		}
		off = append(off, took-rtt)
		time.Sleep(2 * time.Millisecond)
	}
	return off, nil
}

// insideMahimahi starts one of Mahimahi's shells and returns a function that runs others inside of it; nil if
// it is not installed.
func insideMahimahi(b *testing.B, shell string, args ...string) func(func() error) error {
	g := mahimahi(b, shell, args...)
	if g.name == "" {
		return nil
	}
	sleep := exec.Command("sleep", "3600")
	g.inClient(sleep)
	if err := sleep.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	var namespace string
	for began := time.Now(); namespace == ""; time.Sleep(10 * time.Millisecond) {
		for _, pid := range named("sleep") {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			devices, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
			if string(command) == "sleep\x003600\x00" && strings.Contains(string(devices), "ingress") {
				namespace = filepath.Join("/proc", fmt.Sprint(pid), "ns", "net")
			}
		}
		if time.Since(began) > 10*time.Second {
			b.Fatalf("%s has not started its command", shell)
		}
	}
	file, err := os.Open(namespace)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	return func(f func() error) error {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				done <- err
				return
			}
			done <- f()
		}()
		return <-done
	}
}
