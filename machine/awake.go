package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwakeCommand is the first argument that makes a program run as the process
// that keeps processors awake; see AwakeMain.
const AwakeCommand = "keep-awake-process"

// Awake is a process with one thread on each processor that never sleeps. The
// threads run under SCHED_IDLE, so anything else that wants a processor gets it at
// once. An idle virtual processor halts, and the hypervisor takes time to resume
// it; a processor that never halts is available immediately.
type Awake struct {
	command *exec.Cmd
	stdin   io.Closer
}

// KeepAwake starts the process. Close ends it; it also ends with its owner. It
// fails if the kernel has no SCHED_IDLE.
func KeepAwake() (*Awake, error) {
	command := exec.Command("/proc/self/exe", AwakeCommand)
	command.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(runtime.NumCPU()+1), "GODEBUG=asyncpreemptoff=1")
	// A process group of its own shields it from Ctrl-C: its owner may need it
	// until the end.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("keep the processors awake: %w", err)
	}
	said, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("keep the processors awake: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("keep the processors awake: %w", err)
	}
	a := &Awake{command, stdin}
	if why, err := io.ReadAll(said); err != nil || len(why) > 0 {
		return nil, errors.Join(fmt.Errorf("keep the processors awake: %s", why), err, a.Close())
	}
	return a, nil
}

// PID returns the process's number.
func (a *Awake) PID() int { return a.command.Process.Pid }

// Close ends the process and waits for it.
func (a *Awake) Close() error {
	_ = a.stdin.Close()
	if err := a.command.Wait(); err != nil {
		return fmt.Errorf("end the process that keeps processors awake: %w", err)
	}
	return nil
}

// AwakeMain runs the process. It closes its standard output once all threads
// spin, or writes there why they cannot, and returns when its standard input is
// closed.
func AwakeMain() error {
	debug.SetGCPercent(-1)
	if err := yieldToAll(); err != nil {
		fmt.Printf("SCHED_IDLE is not available: %v", err)
		return nil
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		fmt.Printf("get the processor affinity: %v", err)
		return nil
	}
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			spinning := make(chan struct{})
			go spin(cpu, spinning)
			<-spinning
		}
	}
	_ = os.Stdout.Close()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// yieldToAll puts every thread of this process under SCHED_IDLE. New threads
// inherit the policy.
func yieldToAll() error {
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(filepath.Base(t))
		if err != nil {
			return err
		}
		if err := unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
			return err
		}
	}
	return nil
}

// spin keeps one processor busy for ever.
func spin(cpu int, spinning chan<- struct{}) {
	runtime.LockOSThread()
	var own unix.CPUSet
	own.Set(cpu)
	_ = unix.SchedSetaffinity(0, &own) // if the processor has been taken away meanwhile, the thread spins elsewhere
	close(spinning)
	for {
		relax()
	}
}
