// Package link runs a command in a network namespace of its own, whose only way out is an
// emulated path. Beyond the path lie the namespace that the program runs in and, through
// pasta, the outside world.
package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"

	"github.com/vishvananda/netlink"

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
	// Capture is the pcapng file that receives every packet; empty means none.
	Capture string
}

// device is the name of the path's near end.
const device = "wt0"

// Run runs command in a network namespace of its own, whose only way out is the path, which
// leads to the current namespace. There the path's far end has the address 100.64.N.1, where
// N is the depth. Packets from the path are translated to the current namespace's own
// addresses, as behind a home router.
//
// The program must have called Enter, or run behind a path already. The error wraps an
// *exec.ExitError if the command itself failed.
func Run(ctx context.Context, c Config, command *exec.Cmd) (err error) {
	depth := Depth() + 1
	if depth > maxDepth {
		return fmt.Errorf("nest a link in %d others: the limit is %d", depth-1, maxDepth)
	}
	if len(c.Path.Access) != 1 {
		return fmt.Errorf("run a command behind path %s: it has %d access links; want one", c.Path.Name, len(c.Path.Access))
	}
	near, err := lab.NewNamespace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, near.Close()) }()
	tun, far, err := connect(near, depth)
	if err != nil {
		return err
	}
	defer tun.Close()
	defer far.Close()
	e, err := emulator.Start(ctx, [][2]*os.File{{tun, far}})
	if err != nil {
		return err
	}
	defer e.Kill()
	if depth == 1 { // behind another link, no program outside listens
		lab.AskForUrgency(e.PID())
	}
	finish, err := arm(ctx, e, c)
	if err != nil {
		return err
	}
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", depthVariable, depth))
	return errors.Join(runInside(near, command), finish())
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

// arm arms the emulator; finish completes the capture.
func arm(ctx context.Context, e *emulator.Process, c Config) (finish func() error, err error) {
	if c.Capture == "" {
		return func() error { return nil }, e.Arm(ctx, c.Path, c.Seed, emulator.Recording{})
	}
	file, err := atomicfile.Create(c.Capture, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the capture %s: %w", c.Capture, err)
	}
	if err := e.Arm(ctx, c.Path, c.Seed, emulator.Recording{File: file.File, Comment: "wiretime link"}); err != nil {
		file.Discard()
		return nil, err
	}
	return func() error {
		defer file.Discard()
		report, err := e.Stop(context.WithoutCancel(ctx))
		if err == nil && report.CaptureError != "" {
			err = errors.New(report.CaptureError)
		}
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return fmt.Errorf("write the capture %s: %w", c.Capture, err)
		}
		return nil
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
