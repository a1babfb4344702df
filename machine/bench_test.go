package machine

import (
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkPunctuality compares ways to make wake-ups punctual. The columns are the
// lateness in ms and the steal in per cent; the time per operation means nothing.
func BenchmarkPunctuality(b *testing.B) {
	for _, c := range []struct {
		name    string
		arrange func(b *testing.B)
	}{
		{"left alone", func(*testing.B) {}},
		{"kept awake", keepAwake},
		{"no sleep states, by PM QoS", forbidSleep},
		{"busy", func(b *testing.B) { occupy(b, runtime.NumCPU()) }},
		{"busy, one processor left free", func(b *testing.B) { occupy(b, runtime.NumCPU()-1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.arrange(b)
			var p Punctuality
			for b.Loop() {
				var err error
				if p, err = Measure(b.Context(), 5*time.Second); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(p.P50.Seconds()*1e3, "p50-ms")
			b.ReportMetric(p.P99.Seconds()*1e3, "p99-ms")
			b.ReportMetric(p.Worst.Seconds()*1e3, "worst-ms")
			b.ReportMetric(100*p.Steal, "steal-%")
		})
	}
}

func keepAwake(b *testing.B) {
	awake, err := KeepAwake()
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = awake.Close() })
}

// forbidSleep requests a latency of 0 us from the processors' sleep states
// (Linux, Documentation/power/pm_qos_interface) for as long as the file is open.
func forbidSleep(b *testing.B) {
	file, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		b.Skip(err)
	}
	if err := binary.Write(file, binary.NativeEndian, int32(0)); err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = file.Close() })
}

// occupy keeps the first processors busy with system calls, as a browser and a server do.
func occupy(b *testing.B, processors int) {
	for cpu := range processors {
		c := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=64k")
		if err := c.Start(); err != nil {
			b.Skip(err)
		}
		b.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		var own unix.CPUSet
		own.Set(cpu)
		if err := unix.SchedSetaffinity(c.Process.Pid, &own); err != nil {
			b.Fatal(err)
		}
	}
}
