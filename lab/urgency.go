package lab

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// urgentPriority is the emulators' real-time priority: the lowest but a few, as
// they only have to come before programs that have none.
const urgentPriority = 10

// urgencyFD is where the program inside finds the pipe over which it asks the
// program outside to make a process urgent. A user namespace gives no right to
// real-time scheduling; root outside has it.
const urgencyFD = 4

// AskForUrgency asks the program outside to give process pid, an emulator,
// real-time scheduling. If the answer is no, the process keeps the scheduling it
// has and says so in its report. Only a program that Enter or EnterBeside has put
// inside may call it.
func AskForUrgency(pid int) {
	_, _ = unix.Write(urgencyFD, []byte(strconv.Itoa(pid)+"\n"))
}

// grantUrgency does what is asked for, until the program inside is gone.
func grantUrgency(requests io.Reader) {
	for lines := bufio.NewScanner(requests); lines.Scan(); {
		if pid, err := strconv.Atoi(lines.Text()); err == nil && os.Geteuid() == 0 {
			makeUrgent(pid)
		}
	}
}

func makeUrgent(pid int) {
	// The nice value is what counts if the emulator gives real time up.
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, -19)
	var priority [4]byte
	binary.NativeEndian.PutUint32(priority[:], urgentPriority)
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	runtime.KeepAlive(&priority)
}
