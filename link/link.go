// Package link runs a command in a network namespace of its own, whose only way out is an
// emulated path. Beyond the path lie the namespace that the program runs in and, through
// pasta, the outside world.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/atomicfile"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/network"
	"wiretime/process"
)

// depthVariable is set in the environment of a command behind an emulated path. It counts
// the paths between the command and the machine.
const depthVariable = "WIRETIME_DEPTH"

// maxDepth limits how many paths may be nested: the depth is one octet of the addresses.
const maxDepth = 60

// Depth returns the number of emulated paths that this program runs behind.
func Depth() int {
	n, err := strconv.Atoi(os.Getenv(depthVariable))
	if err != nil {
		return 0
	}
	return n
}

// Config describes the path that a command runs behind.
type Config struct {
	// Path has exactly one access link.
	Path network.Path
	// Seed is the seed of everything random on the path: loss and jitter.
	Seed uint64
	// Capture is the pcapng file that receives every packet; empty means none. Comment goes into its header, and
	// Keep limits it.
	Capture string
	Comment string
	// InMemory keeps the capture in memory until the link is closed: a busy disk makes packets late.
	InMemory bool
	Keep     emulator.Keep
}

// device is the name of the path's near end.
const device = "wt0"

// Link is an emulated path out of a network namespace of its own.
type Link struct {
	Near *lab.Namespace // whose only way out is the path
	Far  netip.Addr     // of the path's far end, in the current namespace

	depth    int
	devices  [2]*os.File
	emulator *emulator.Process
	finish   func() (emulator.Report, error)
}

// Open makes a namespace whose only way out is the path, which leads to the current namespace. There the path's
// far end has the address 100.64.N.1, where N is the depth. Packets from the path are translated to the current
// namespace's own addresses, as behind a home router.
//
// The program must have called Enter, or run behind a path already. The caller closes the link.
func Open(ctx context.Context, c Config) (_ *Link, err error) {
	l := &Link{depth: Depth() + 1}
	if l.depth > maxDepth {
		return nil, fmt.Errorf("nest a link in %d others: the limit is %d", l.depth-1, maxDepth)
	}
	if len(c.Path.Access) != 1 {
		return nil, fmt.Errorf("open a link with path %s: it has %d access links; want one", c.Path.Name, len(c.Path.Access))
	}
	l.Far = netip.AddrFrom4([4]byte{100, 64, byte(l.depth), 1})
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()
	if l.Near, err = lab.NewNamespace(); err != nil {
		return nil, err
	}
	if l.devices[0], l.devices[1], err = connect(l.Near, l.depth); err != nil {
		return nil, err
	}
	if l.emulator, err = emulator.Start(ctx, [][2]*os.File{l.devices}); err != nil {
		return nil, err
	}
	if l.depth == 1 { // behind another link, no program outside listens
		lab.AskForUrgency(l.emulator.PID())
	}
	l.finish, err = arm(ctx, l.emulator, c)
	return l, err
}

// Epoch returns a channel that receives one value when the path's first packet has been sent.
func (l *Link) Epoch() <-chan struct{} { return l.emulator.Epoch() }

// Close takes the link away, completes the capture and reports what the emulator did.
func (l *Link) Close() (emulator.Report, error) {
	report, err := l.finish()
	return report, errors.Join(err, l.release())
}

// release gives up whatever the link has.
func (l *Link) release() error {
	if l.emulator != nil {
		l.emulator.Kill()
	}
	for _, device := range l.devices {
		_ = device.Close() // closing no file is no harm
	}
	if l.Near == nil {
		return nil
	}
	return l.Near.Close()
}

// Run runs command behind the path: see Open. The error wraps an *exec.ExitError if the command itself failed.
func Run(ctx context.Context, c Config, command *exec.Cmd) error {
	l, err := Open(ctx, c)
	if err != nil {
		return err
	}
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", depthVariable, l.depth))
	err = runInside(l.Near, command)
	_, closed := l.Close()
	return errors.Join(err, closed)
}

// connect makes the devices at the path's two ends, with their addresses and routes.
func connect(near *lab.Namespace, depth int) (tun, far *os.File, err error) {
	end := func(host byte) *net.IPNet {
		return &net.IPNet{IP: net.IPv4(100, 64, byte(depth), host).To4(), Mask: net.CIDRMask(24, 32)}
	}
	if far, err = lab.AddTUN(fmt.Sprintf("wiretime%d", depth), end(1)); err != nil {
		return nil, nil, fmt.Errorf("make the path's far end: %w", err)
	}
	if err := translate(depth, end(1)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("forward packets from the path's far end: %w", err), far.Close())
	}
	err = near.Do(func() (err error) {
		if tun, err = lab.AddTUN(device, end(2)); err != nil {
			return err
		}
		link, err := netlink.LinkByName(device)
		if err != nil {
			return errors.Join(err, tun.Close())
		}
		anywhere := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: anywhere, Gw: end(1).IP}); err != nil {
			return errors.Join(err, tun.Close())
		}
		return nil
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make the path's near end: %w", err), far.Close())
	}
	return tun, far, nil
}

// arm arms the emulator; finish ends the emulation and completes the capture.
func arm(ctx context.Context, e *emulator.Process, c Config) (finish func() (emulator.Report, error), err error) {
	ctx = context.WithoutCancel(ctx)
	if c.Capture == "" {
		return func() (emulator.Report, error) { return e.Stop(ctx) }, e.Arm(ctx, c.Path, c.Seed, emulator.Recording{})
	}
	file, err := atomicfile.Create(c.Capture, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the capture %s: %w", c.Capture, err)
	}
	into := file.File
	if c.InMemory {
		fd, err := unix.MemfdCreate("capture", unix.MFD_CLOEXEC)
		if err != nil {
			file.Discard()
			return nil, fmt.Errorf("keep the capture %s in memory: %w", c.Capture, err)
		}
		into = os.NewFile(uintptr(fd), "capture")
	}
	if err := e.Arm(ctx, c.Path, c.Seed, emulator.Recording{File: into, Comment: c.Comment, Keep: c.Keep}); err != nil {
		file.Discard()
		return nil, err
	}
	return func() (emulator.Report, error) {
		defer file.Discard()
		report, err := e.Stop(ctx)
		if err == nil && report.CaptureError != "" {
			err = errors.New(report.CaptureError)
		}
		if err == nil && c.InMemory {
			_, err = io.Copy(file, io.NewSectionReader(into, 0, 1<<40))
			err = errors.Join(err, into.Close())
		}
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return report, fmt.Errorf("write the capture %s: %w", c.Capture, err)
		}
		return report, nil
	}, nil
}

// runInside runs command in namespace n.
func runInside(n *lab.Namespace, command *exec.Cmd) error {
	name := command.Path
	n.Command(command)
	child, err := process.Start(command)
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return lab.WaitRelaying(child)
}
