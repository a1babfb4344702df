package guest

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
)

// wireBegin is the ioctl request with which a load begins, as made by Linux's _IOW
// (kernel/patches/0005-load-begins.patch).
const wireBegin = 1<<30 | 16<<16 | 'W'<<8 | 4

// beginning is the device's struct wt_begin.
type beginning struct {
	at   int64 // CLOCK_MONOTONIC, ns
	seed uint64
}

// raster is the time between moments at which loads may begin. It is a multiple of the kernel's
// tick of 10 ms, at which its timers fire, and of its clock's step of 256 ns.
const raster = 256 * 10 * time.Millisecond

// begin waits for the next moment at which a load may begin and starts the kernel's
// random numbers from a seed. The load then does not depend on what came before: not on how long
// that took, how often the clock was read, or how many random numbers were drawn.
func begin(device *os.File, seed uint64) error {
	runtime.GC() // a collection that falls into the load would read the clock
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	b := beginning{at: (now.Nano()/int64(raster) + 1) * int64(raster), seed: seed}
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, device.Fd(), wireBegin, uintptr(unsafe.Pointer(&b)))
		if e == 0 {
			return nil
		}
		if e != unix.EINTR {
			return fmt.Errorf("wait for a load's beginning: %w", e)
		}
	}
}

// openDevice opens the device of Wiretime's kernel.
func openDevice() (*os.File, error) { return emulator.OpenWire() }
