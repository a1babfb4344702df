package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"wiretime/process"
)

// CallsCommand is the first argument of a process that counts the system calls of others.
const CallsCommand = "count-system-calls"

// Calls counts the system calls of running processes by ptrace(2), which stops them at each: they
// are several times slower meanwhile.
type Calls struct {
	child   *process.Child
	ask     io.WriteCloser
	answers *bufio.Reader
}

// CountCalls starts to count the system calls of processes, of their descendants, and of what
// they start from now on. The caller closes the result. It returns an error if this user may not
// trace them.
func CountCalls(pids ...int) (*Calls, error) {
	args := []string{CallsCommand}
	for _, pid := range tree(pids) {
		args = append(args, strconv.Itoa(pid))
	}
	command := exec.Command("/proc/self/exe", args...)
	ask, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	child, err := process.Start(command)
	if err != nil {
		return nil, fmt.Errorf("start counting system calls: %w", err)
	}
	c := &Calls{child, ask, bufio.NewReader(answers)}
	if _, err := c.So(); err != nil {
		return nil, errors.Join(fmt.Errorf("count system calls by ptrace: %w", err), c.Close())
	}
	return c, nil
}

// So returns how many system calls were begun so far.
func (c *Calls) So() (int64, error) {
	if _, err := io.WriteString(c.ask, "\n"); err != nil {
		return 0, err
	}
	line, err := c.answers.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

// Close stops counting. The processes go on.
func (c *Calls) Close() error {
	_ = c.ask.Close()
	return c.child.Wait()
}

// CallsMain is the process that counts. It answers each line of its standard input with the
// number so far, and ends with the input; the kernel then lets go of the traced processes.
func CallsMain(args []string) error {
	var counted atomic.Int64
	began := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // all of ptrace is one thread's
		t := &tracer{counted: &counted}
		err := t.seizeAll(args)
		began <- err
		if err == nil {
			t.follow()
		}
	}()
	if err := <-began; err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(counted.Load())
	}
	return nil
}

// tracer follows threads from system call to system call.
type tracer struct{ counted *atomic.Int64 }

// seizeAll begins to trace all threads of processes, also of those that start meanwhile.
func (t *tracer) seizeAll(pids []string) error {
	for _, pid := range pids {
		seized := map[string]bool{}
		for more := true; more; {
			more = false
			threads, err := os.ReadDir(filepath.Join("/proc", pid, "task"))
			if err != nil {
				return fmt.Errorf("list the threads of process %s: %w", pid, err)
			}
			for _, thread := range threads {
				if seized[thread.Name()] {
					continue
				}
				seized[thread.Name()], more = true, true
				if err := seize(thread.Name()); err != nil {
					return fmt.Errorf("trace thread %s of process %s: %w", thread.Name(), pid, err)
				}
			}
		}
	}
	return nil
}

// seize begins to trace a thread and has it stop. One that has just ended, or that is traced
// already because the thread that started it is, is no error.
func seize(thread string) error {
	id, err := strconv.Atoi(thread)
	if err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK
	err = ptrace(unix.PTRACE_SEIZE, id, 0, options)
	if err == nil {
		err = ptrace(unix.PTRACE_INTERRUPT, id, 0, 0)
	}
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) && tracedByUs(thread) {
		return nil
	}
	return err
}

func tracedByUs(thread string) bool {
	status, err := os.ReadFile(filepath.Join("/proc", thread, "status"))
	return err == nil && strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", os.Getpid()))
}

// follow lets every thread that stops go on until its next system call. It returns when no
// traced thread is left.
func (t *tracer) follow() {
	for {
		var status unix.WaitStatus
		thread, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if !status.Stopped() {
			continue
		}
		var signal uintptr
		switch stop := status.StopSignal(); {
		case stop == unix.SIGTRAP|0x80:
			if entersCall(thread) {
				t.counted.Add(1)
			}
		case uint32(status)>>16 == 0: // a signal is about to be delivered
			signal = uintptr(stop)
		}
		_ = ptrace(unix.PTRACE_SYSCALL, thread, 0, signal) // it may have been killed
	}
}

// entersCall reports whether a thread that stopped at a system call is about to make it; it stops
// again when the call returns (PTRACE_GET_SYSCALL_INFO of ptrace(2)).
func entersCall(thread int) bool {
	const entry = 1 // PTRACE_SYSCALL_INFO_ENTRY
	var info [88]byte
	err := ptrace(unix.PTRACE_GET_SYSCALL_INFO, thread, uintptr(len(info)), uintptr(unsafe.Pointer(&info[0])))
	return err == nil && info[0] == entry
}

func ptrace(request, thread int, address, data uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(thread), address, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
