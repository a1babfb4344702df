package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/process"
	"wiretime/sandbox"
)

// Epoch is when every guest's clock starts.
var Epoch = time.Unix(1_700_000_000, 0).UTC()

// MinMemory is the smallest memory of a guest, in bytes: the kernel takes 12 MB of it, and
// Go's runtime reserves 32 MB in any program.
const MinMemory = 40 << 20

// Machine configures a guest.
//
// The guest's random numbers depend on Seed, Init, Args, Memory and the path from Dir to
// Root. If these, the kernel and the programs are equal, two guests do the same things at
// the same nanoseconds.
type Machine struct {
	Root   string   // folder of the host mounted read-only as the guest's /; inside Dir
	Init   string   // the guest's first program, a path in the guest; it must power off the guest when it is done
	Memory int64    // in bytes, at least MinMemory; the guest takes it from the host page by page
	Seed   uint64   // seed of all random numbers of the guest
	CPU    int      // which of the host's processors that this program may use the guest is pinned to, from 0; -1 for none
	Dir    string   // the only folder of the host that the guest can write to: paths of further hostfs mounts start here
	Read   []string // further files and folders of the host that the guest can read, which links in Dir lead to
	Args   []string // further words of the kernel's command line; words unknown to Linux become Init's arguments (word) and environment (name=value)

	// Console receives the output of the kernel and its programs. It must be a regular file,
	// so that no reader can stall the guest. If it is nil, only the end of the output is kept,
	// for the error of Wait.
	Console *os.File
}

// Guest is a running kernel.
type Guest struct {
	command *exec.Cmd
	console *os.File // opened for reading only
	printed int64    // size of the console when the guest was started
	scratch string   // the folder that the kernel makes, named by its process number
	exited  chan struct{}
	err     error // valid once exited is closed

	mu     sync.Mutex
	reaped bool // all processes are gone, and their numbers may be reused
}

var guests atomic.Uint64

// Boot starts a guest, which is killed when ctx ends. The caller must call Wait.
//
// The error wraps ErrUnsupported or ErrMemory if that is the cause.
func (k Kernel) Boot(ctx context.Context, m Machine) (*Guest, error) {
	if err := supported(runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	root, err := filepath.Rel(m.Dir, m.Root)
	if err != nil || !filepath.IsLocal(root) {
		return nil, fmt.Errorf("boot a guest: the root folder %s is not in %s", m.Root, m.Dir)
	}
	memory, err := memoryFolder(m.Dir, m.Memory)
	if err != nil {
		return nil, err
	}
	console, err := openConsole(m.Console)
	if err != nil {
		return nil, fmt.Errorf("boot a guest: open the console: %w", err)
	}
	name := fmt.Sprintf("guest-%d-%d", os.Getpid(), guests.Add(1))
	g := &Guest{console: console, scratch: filepath.Join(m.Dir, name), exited: make(chan struct{})}
	if g.printed, err = console.Seek(0, io.SeekEnd); err != nil {
		_ = console.Close()
		return nil, fmt.Errorf("boot a guest: the console is not a regular file: %w", err)
	}

	// Linux mixes its command line into its random numbers, except for options that User-Mode
	// Linux removes first: mem, time-travel, seccomp, um_random_seed, uml_dir, umid, hostfs.
	// The path of hostfs must be absolute, and /proc/self/cwd has the same length wherever Dir
	// is.
	g.command = newCommand(ctx, m.Dir, []string{"TMPDIR=" + memory}, k.Path, append([]string{
		"mem=" + strconv.FormatInt(m.Memory>>10, 10) + "K", "time-travel=inf-cpu", "time-travel-start=" + strconv.FormatInt(Epoch.UnixNano(), 10),
		"seccomp=auto", "vdso_tt", "um_random_seed=" + strconv.FormatUint(m.Seed, 10), "uml_dir=/proc/self/cwd/", "umid=" + name,
		"rootfstype=hostfs", "hostfs=/proc/self/cwd", "rootflags=" + root, "ro", "quiet", "con=none", "con0=null,fd:1",
		"init=" + m.Init, "GOMAXPROCS=1",
	}, m.Args...)...)
	g.command.Cancel = func() error { g.Kill(); return nil }
	g.command.Stdout, g.command.Stderr = console, console
	if m.Console != nil {
		g.command.Stdout, g.command.Stderr = m.Console, m.Console
	}
	if err := contain(g.command, m, memory); err != nil {
		_ = console.Close()
		return nil, fmt.Errorf("boot a guest: %w", err)
	}
	started := make(chan error)
	go g.run(ctx, m.CPU, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("boot a guest on %s: %w", k.Path, err)
	}
	return g, nil
}

// contain keeps a guest's kernel to the guest's own files. User-Mode Linux is no boundary: root of a guest can mount any
// folder that the kernel's process can open.
func contain(command *exec.Cmd, m Machine, memory string) error {
	return sandbox.Contain(command, sandbox.Policy{
		Bare: true, Offline: true, Trace: true, KeepUser: true,
		Read: append([]string{m.Root, "/proc/cpuinfo", "/proc/meminfo", "/proc/self"}, m.Read...), Write: []string{m.Dir, memory},
	})
}

// openConsole opens a guest's console for reading.
func openConsole(theirs *os.File) (*os.File, error) {
	if theirs != nil {
		return os.Open("/proc/self/fd/" + strconv.Itoa(int(theirs.Fd())))
	}
	fd, err := unix.MemfdCreate("console", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "console"), nil
}

// run owns the guest's processes from the first to the last.
func (g *Guest) run(ctx context.Context, cpu int, started chan<- error) {
	defer close(g.exited)
	defer g.console.Close()
	child, err := startOn(cpu, g.command)
	if started <- err; err != nil {
		return
	}
	pid := g.command.Process.Pid
	// A panic aborts the kernel, and its core dump is useless.
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	for { // until the kernel has ended; not reaping it yet keeps its number reserved while its programs are killed
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.Kill()
	g.mu.Lock()
	g.reaped = true
	g.mu.Unlock()
	err = child.Wait()
	_ = os.RemoveAll(g.scratch) // a kernel that powers off removes it itself
	g.err = g.explain(ctx, err)
}

// startOn starts a command on one of the host's processors: system calls of a guest that
// migrates between processors take six times as long.
func startOn(cpu int, c *exec.Cmd) (*process.Child, error) {
	if cpu < 0 {
		return process.Start(c)
	}
	return process.StartOn(cpu, c)
}

// Wait waits until the guest has ended. It returns nil if the guest powered itself off.
// Otherwise the error holds the end of the guest's output. It wraps ErrForbidden if the
// host does not allow the guest to run programs, and the cause if Boot's context ended.
func (g *Guest) Wait() error {
	<-g.exited
	return g.err
}

// PeakMemory returns the peak memory of the guest's kernel on the host, including the
// guest's memory, in bytes. It is known once Wait has returned.
func (g *Guest) PeakMemory() int64 {
	<-g.exited
	if usage, ok := g.command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * 1024
	}
	return 0
}

// Kill kills the guest at once. It may be called at any time.
func (g *Guest) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		_ = syscall.Kill(-g.command.Process.Pid, syscall.SIGKILL)
	}
}

// poweredOff is the last line that Linux prints.
const poweredOff = "reboot: Power down"

// explain returns why a guest has ended.
func (g *Guest) explain(ctx context.Context, failed error) error {
	said := g.lastWords()
	if failed == nil && strings.Contains(said, poweredOff) {
		return nil
	}
	printed := "; it printed nothing"
	if said != "" {
		printed = "; it printed last:\n" + lastLines(said, 12)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the guest was killed: %w%s", context.Cause(ctx), printed)
	}
	for _, sign := range []string{"check_ptrace : ", "check_sysemu: ", "start_ptraced_child : "} {
		if strings.Contains(said, sign) {
			return fmt.Errorf("%w%s", ErrForbidden, printed)
		}
	}
	if before, panicked, ok := strings.Cut(said, "Kernel panic - not syncing: "); ok {
		reason, _, _ := strings.Cut(panicked, "\n") // what follows is a trace of the kernel's functions
		if before = lastLines(before, 12); before != "" {
			before = "; it printed before that:\n" + before
		}
		return fmt.Errorf("the guest's kernel panicked: %s%s", strings.TrimSpace(reason), before)
	}
	if exited, ok := errors.AsType[*exec.ExitError](failed); ok {
		if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return fmt.Errorf("the guest was killed by signal %d (%v)%s", status.Signal(), status.Signal(), printed)
		}
	}
	if failed == nil {
		return fmt.Errorf("the guest ended without powering off%s", printed)
	}
	return fmt.Errorf("the guest ended: %s%s", howEnded(failed), printed)
}

// Routine reports whether a line of a guest's console says nothing: User-Mode Linux prints one for each console that is
// switched off, and one because it may use no terminal of the host.
func Routine(line string) bool {
	return strings.Contains(line, "setup_one_line failed") || strings.Contains(line, "check_one_sigio failed")
}

// lastWords returns the end of the guest's output.
func (g *Guest) lastWords() string {
	const length = 16 << 10
	size, err := g.console.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	end := make([]byte, max(0, min(size-g.printed, length)))
	n, _ := g.console.ReadAt(end, size-int64(len(end)))
	var said strings.Builder
	for line := range strings.Lines(string(end[:n])) {
		if !Routine(line) {
			said.WriteString(line)
		}
	}
	return said.String()
}
