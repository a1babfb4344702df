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

// Calls counts the system calls of running processes with ptrace(2). The kernel stops the processes at
// each call, which makes them several times slower.
type Calls struct {
	child   *process.Child
	ask     io.WriteCloser
	answers *bufio.Reader
}

// CountCalls starts to count the system calls of the processes, of their descendants, and of every
// thread and process that they start from now on. The caller must call Close. CountCalls returns an error if
// a process has ended, or if this user may not trace it.
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
	why, err := c.answers.ReadString('\n')
	if why = strings.TrimSpace(why); err == nil && why != "" {
		err = errors.New(why)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("count system calls with ptrace: %w", err), c.Close())
	}
	return c, nil
}

// Count returns how many system calls have begun so far. It returns an error if the counting process
// has ended.
func (c *Calls) Count() (int64, error) {
	if _, err := io.WriteString(c.ask, "\n"); err != nil {
		return 0, fmt.Errorf("ask for the number of system calls: %w", err)
	}
	line, err := c.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read the number of system calls: %w", err)
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

// Close stops counting. The counted processes keep running. It returns an error if the counting process
// failed.
func (c *Calls) Close() error {
	_ = c.ask.Close()
	if err := c.child.Wait(); err != nil {
		return fmt.Errorf("stop counting system calls: %w", err)
	}
	return nil
}

// CallsMain runs the process that counts the system calls of the processes with the given PIDs. Its first
// line of output is empty, or the reason why it cannot count. Then it answers each line of its standard
// input with the number so far. It returns at the end of the input, and the kernel detaches it from the
// traced processes when it exits.
func CallsMain(pids []string) error {
	var counted atomic.Int64
	began := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // only the thread that traces another may control it
		err := seizeAll(pids)
		began <- err
		if err == nil {
			follow(&counted)
		}
	}()
	if err := <-began; err != nil {
		fmt.Println(err)
		return nil // the reader of the output reports it
	}
	fmt.Println()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(counted.Load())
	}
	return nil
}

// seizeAll starts to trace all threads of the processes, including those that start meanwhile.
func seizeAll(pids []string) error {
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
				err := seize(thread.Name())
				if errors.Is(err, unix.EPERM) {
					err = fmt.Errorf("%w; run as root, or set the sysctl kernel.yama.ptrace_scope to 0", err)
				}
				if err != nil {
					return fmt.Errorf("trace thread %s of process %s: %w", thread.Name(), pid, err)
				}
			}
		}
	}
	return nil
}

// seize starts to trace a thread and stops it. It returns nil for a thread that has just ended, and for one
// that is already traced because its parent is.
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

// tracedByUs reports whether this process traces the thread.
func tracedByUs(thread string) bool {
	status, err := os.ReadFile(filepath.Join("/proc", thread, "status"))
	return err == nil && strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", os.Getpid()))
}

// follow resumes each traced thread that stops, until it enters or leaves its next system call, and counts the
// entries. It returns when no traced thread is left.
func follow(counted *atomic.Int64) {
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
				counted.Add(1)
			}
		case uint32(status)>>16 == 0: // no event of ptrace: a signal is about to be delivered
			signal = uintptr(stop)
		}
		_ = ptrace(unix.PTRACE_SYSCALL, thread, 0, signal) // fails if the thread was killed
	}
}

// entersCall reports whether a thread that stopped at a system call enters it. The thread stops again when
// it leaves the call (PTRACE_GET_SYSCALL_INFO of ptrace(2)).
func entersCall(thread int) bool {
	const entry = 1 // PTRACE_SYSCALL_INFO_ENTRY
	var info [88]byte
	// The address is taken in the call itself: the stack, which holds info, may move at any other time.
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread), uintptr(len(info)),
		uintptr(unsafe.Pointer(&info[0])), 0, 0)
	return errno == 0 && info[0] == entry
}

// ptrace makes a request of ptrace(2) whose data is a number.
func ptrace(request, thread int, address, data uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(thread), address, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
