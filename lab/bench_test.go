package lab

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
	"wiretime/network"
)

// BenchmarkRTT measures how far the round trip of an ICMP echo, answered by the
// server's kernel, is from the path's RTT on an idle machine.
func BenchmarkRTT(b *testing.B) {
	for _, ms := range []int{10, 50, 100, 200} {
		rtt := time.Duration(ms) * time.Millisecond
		b.Run(rtt.String(), func(b *testing.B) {
			l := newLab(b)
			if err := l.emulator.Arm(b.Context(), oneLink("rtt", 0, rtt/2), 1, emulator.Recording{}); err != nil {
				b.Fatal(err)
			}
			var errors []float64
			for b.Loop() {
				took, err := ping(l)
				if err != nil {
					b.Fatal(err)
				}
				errors = append(errors, float64(took-rtt)/1e6)
			}
			slices.Sort(errors)
			b.ReportMetric(errors[len(errors)/2], "ms-error-p50")
			b.ReportMetric(errors[len(errors)*99/100], "ms-error-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ping sends one ICMP echo to the first origin and returns its round trip: from
// the call that sends it to the arrival in the client's kernel, so that it does
// not count how long this program takes to wake up.
func ping(l *Lab) (took time.Duration, err error) { return pingFrom(l.client.Do, ServerAddress(0)) }

// pingFrom does so from the namespace that do enters.
func pingFrom(do func(func() error) error, to netip.Addr) (took time.Duration, err error) {
	err = do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
			return err
		}
		echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0} // type 8, code 0, checksum of the rest
		began := time.Now()
		if err := unix.Sendto(fd, echo, 0, &unix.SockaddrInet4{Addr: to.As4()}); err != nil {
			return err
		}
		answer, control := make([]byte, 64), make([]byte, 64)
		_, n, _, _, err := unix.Recvmsg(fd, answer, control, 0)
		if err != nil {
			return err
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) == 0 {
			return fmt.Errorf("read the answer's time of arrival: %w", err)
		}
		seconds := int64(binary.NativeEndian.Uint64(messages[0].Data))
		nanoseconds := int64(binary.NativeEndian.Uint64(messages[0].Data[8:]))
		took = time.Unix(seconds, nanoseconds).Sub(began)
		return nil
	})
	return took, err
}

// BenchmarkGoodput measures the TCP goodput of a long transfer against what the
// link's rate leaves for payload: 1448 of every 1500 bytes. The first part,
// while TCP finds the rate, does not count.
func BenchmarkGoodput(b *testing.B) {
	for _, mbit := range []int64{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%dMbit", mbit), func(b *testing.B) {
			l := newLab(b)
			path := oneLink("goodput", network.BitRate(mbit*1_000_000), 2*time.Millisecond)
			path.Access[0].Down.Queue = network.Queue{Bytes: 4 << 20}
			var ratio float64
			for b.Loop() {
				if err := l.emulator.Arm(b.Context(), path, 1, emulator.Recording{}); err != nil {
					b.Fatal(err)
				}
				ideal := float64(mbit) * 1e6 / 8 * 1448 / 1500
				ratio = transfer(b, l, int64(ideal*3)) / ideal
				report, err := l.emulator.Stop(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(report.LateMax)/1e6, "ms-late-max")
			}
			b.ReportMetric(ratio, "goodput/ideal")
			b.ReportMetric(0, "ns/op")
		})
	}
}
