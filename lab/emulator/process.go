package emulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wiretime/network"
	"wiretime/process"
)

// ErrEnded says that the emulator process has ended by itself, or was killed.
var ErrEnded = errors.New("the emulator process ended")

// Process is a running emulator. Its methods, except Kill, must not be called concurrently.
type Process struct {
	child   *process.Child
	wire    *os.File // nil with TUN devices
	control *net.UnixConn
	replies chan reply
	epoch   chan struct{}
	exited  chan struct{}
	stderr  tail
	quiet   bool // its monitor thread is stopped
	bury    chan chan struct{}
}

// Start starts the emulator by running this very program again (see Main) and passes it the
// client's and the server's TUN device of each access link. The devices stay open in the
// caller, which closes them.
func Start(ctx context.Context, tuns [][2]*os.File) (*Process, error) {
	files := make([]*os.File, 0, 2*len(tuns))
	for _, t := range tuns {
		files = append(files, t[0], t[1])
	}
	return start(ctx, nil, request{Op: opOpen}, files...)
}

// StartVirtual starts the emulator in virtual time: the network devices of the access links
// are ports of the wire (see AddPort). If unblocked is set, this program promises not to
// make system calls that block for long while the emulator lives, and its monitor thread is
// stopped.
func StartVirtual(ctx context.Context, wire *os.File, links int, unblocked bool) (*Process, error) {
	p, err := start(ctx, wire, request{Op: opOpen, Wire: true, Links: links}, wire)
	if err != nil {
		return nil, err
	}
	if err = p.quieten(); err == nil && unblocked {
		_, err = p.ask(ctx, request{Op: opWatch, PID: os.Getpid()})
	}
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("stop a monitor thread: %w", err)
	}
	return p, nil
}

// quieten stops the emulator's monitor thread for as long as the emulator lives.
func (p *Process) quieten() error {
	stopped := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		thread, err := stopMonitor(p.PID())
		stopped <- err
		buried := <-p.bury
		if err == nil {
			// A traced thread that has exited keeps its process alive until its tracer has waited
			// for it.
			_, _ = unix.Wait4(thread, nil, unix.WALL, nil)
		}
		close(buried)
	}()
	p.quiet = true
	return <-stopped
}

func start(ctx context.Context, wire *os.File, open request, devices ...*os.File) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make the emulator's control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, fmt.Errorf("use the emulator's control socket: %w", err)
	}

	p := &Process{control: conn.(*net.UnixConn), replies: make(chan reply), epoch: make(chan struct{}, 1), exited: make(chan struct{}), bury: make(chan chan struct{})}
	command := exec.Command("/proc/self/exe", Command)
	command.ExtraFiles = []*os.File{theirs} // becomes controlFD
	command.Stderr = &p.stderr
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.child, err = process.Start(command); err != nil {
		_ = p.control.Close()
		return nil, fmt.Errorf("start the emulator process: %w", err)
	}
	go p.receive()

	if _, err := p.ask(ctx, open, devices...); err != nil {
		p.Kill()
		return nil, fmt.Errorf("pass the network devices to the emulator: %w", err)
	}
	p.wire = wire // the emulator waits there from now on
	return p, nil
}

// PID is the emulator's process number.
func (p *Process) PID() int { return p.child.Command.Process.Pid }

// receive owns the reading end of the control socket until the process is gone.
func (p *Process) receive() {
	defer close(p.exited)
	buffer := make([]byte, 64<<10)
	for {
		n, err := p.control.Read(buffer)
		if err != nil || n == 0 {
			break
		}
		var r reply
		if json.Unmarshal(buffer[:n], &r) != nil {
			break
		}
		if r.Event == eventEpoch {
			select {
			case p.epoch <- struct{}{}:
			default:
			}
			continue
		}
		p.replies <- r
	}
	_ = p.child.Command.Process.Kill()
	if p.quiet {
		buried := make(chan struct{})
		p.bury <- buried
		<-buried
	}
	_ = p.child.Wait()
}

func (p *Process) ask(ctx context.Context, r request, files ...*os.File) (reply, error) {
	message, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if _, _, err := p.control.WriteMsgUnix(message, unix.UnixRights(fds...), nil); err != nil {
		return reply{}, fmt.Errorf("%w: send it the request %s: %w%s", ErrEnded, r.Op, err, p.stderr.hint())
	}
	if p.wire != nil {
		if err := ring(p.wire); err != nil {
			return reply{}, fmt.Errorf("send the emulator the request %s: %w", r.Op, err)
		}
	}
	select {
	case a := <-p.replies:
		if a.Err != "" {
			return a, errors.New(a.Err)
		}
		return a, nil
	case <-p.exited:
		return reply{}, fmt.Errorf("%w during the request %s%s", ErrEnded, r.Op, p.stderr.hint())
	case <-ctx.Done():
		// A late answer would be mistaken for the next one.
		p.Kill()
		return reply{}, context.Cause(ctx)
	}
}

// Recording is where the emulator writes packets and their fates, as pcapng.
type Recording struct {
	File    *os.File // nil: nothing is written
	Comment string   // goes into the capture's header
	Keep    Keep
	// Most is how many octets the capture may have. What comes later is lost, and the report's
	// CaptureError is Outgrown. 0: no limit.
	Most int64
}

// Arm starts to emulate path with the given seed. The path's time starts with the first
// packet.
func (p *Process) Arm(ctx context.Context, path network.Path, seed uint64, r Recording) error {
	return p.ArmAt(ctx, path, 0, seed, r)
}

// ArmAt is Arm for a path whose time at the first packet is from.
func (p *Process) ArmAt(ctx context.Context, path network.Path, from time.Duration, seed uint64, r Recording) error {
	if r.Keep.Octets < 0 || r.Keep.Packets < 0 {
		return fmt.Errorf("arm the emulator with path %s: invalid limits of %d packets and %d octets: must not be negative", path.Name, r.Keep.Packets, r.Keep.Octets)
	}
	select { // drops a leftover of the previous load
	case <-p.epoch:
	default:
	}
	body, err := json.Marshal(config{Path: path, Seed: seed, Comment: r.Comment, Keep: r.Keep, Most: r.Most, From: from})
	if err != nil {
		return fmt.Errorf("describe path %s to the emulator: %w", path.Name, err)
	}
	fd, err := unix.MemfdCreate("path", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make a memory file for path %s: %w", path.Name, err)
	}
	file := os.NewFile(uintptr(fd), "path")
	defer file.Close()
	if _, err := file.Write(body); err != nil {
		return fmt.Errorf("write path %s to a memory file: %w", path.Name, err)
	}
	files := []*os.File{file}
	if r.File != nil {
		files = append(files, r.File)
	}
	if _, err := p.ask(ctx, request{Op: opArm, Capture: r.File != nil}, files...); err != nil {
		return fmt.Errorf("arm the emulator with path %s: %w", path.Name, err)
	}
	return nil
}

// Epoch returns a channel that receives one value when the first packet after Arm has
// arrived.
func (p *Process) Epoch() <-chan struct{} { return p.epoch }

// Settle waits until no packet has arrived for quiet, but at most for limit. Silence before
// the call counts.
func (p *Process) Settle(ctx context.Context, quiet, limit time.Duration) error {
	_, err := p.ask(ctx, request{Op: opSettle, Quiet: int64(quiet), Limit: int64(limit), Past: true})
	return err
}

// Drain waits until no packet has arrived for quiet from now on, but at most for limit.
func (p *Process) Drain(ctx context.Context, quiet, limit time.Duration) error {
	_, err := p.ask(ctx, request{Op: opSettle, Quiet: int64(quiet), Limit: int64(limit)})
	return err
}

// Attach adds a third node, whose network device is tun or, in virtual time with tun nil, the port of the wire that was
// added after those of all access links. No path may be armed.
func (p *Process) Attach(ctx context.Context, tun *os.File) error {
	var files []*os.File
	if tun != nil {
		files = append(files, tun)
	}
	if _, err := p.ask(ctx, request{Op: opAttach}, files...); err != nil {
		return fmt.Errorf("attach a third node: %w", err)
	}
	return nil
}

// Order changes the armed path from now on.
func (p *Process) Order(ctx context.Context, o Order) error {
	if _, err := p.ask(ctx, request{Op: opOrder, Order: &o}); err != nil {
		return fmt.Errorf("change the path: %w", err)
	}
	return nil
}

// Stop ends the emulation of the armed path, delivers at once what was still on it, and
// reports. Afterwards packets pass without delay or loss.
func (p *Process) Stop(ctx context.Context) (Report, error) {
	a, err := p.ask(ctx, request{Op: opStop})
	if err != nil {
		return Report{}, fmt.Errorf("stop the emulation: %w", err)
	}
	if a.Report == nil {
		return Report{}, errors.New("stop the emulation: the emulator sent no report")
	}
	return *a.Report, nil
}

// Kill ends the process and waits until it is gone.
func (p *Process) Kill() {
	_ = p.child.Command.Process.Kill()
	_ = p.control.Close()
	for {
		select {
		case <-p.replies:
		case <-p.exited:
			return
		}
	}
}

// tail keeps the first lines that the process wrote to its standard error: in a crash these
// hold the cause.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 2000 - len(t.text); room > 0 {
		t.text = append(t.text, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (t *tail) hint() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "; its output: " + string(t.text)
}
