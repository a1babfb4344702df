package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"

	"wiretime/atomicfile"
	"wiretime/lab/emulator"
	"wiretime/network"
	"wiretime/process"
)

// DepthVariable is set in the environment of a command that runs behind an
// emulated path. It counts how many paths lie between it and the machine.
const DepthVariable = "WIRETIME_DEPTH"

// maxDepth bounds how deep shells may be put inside shells.
const maxDepth = 60

// Depth is how many emulated paths this program is behind.
func Depth() int {
	n, err := strconv.Atoi(os.Getenv(DepthVariable))
	if err != nil {
		return 0
	}
	return n
}

// Behind runs command behind an emulated path: in a network namespace of its
// own whose only way out is that path, which leads to the current namespace.
// There the path's far end has the address 100.64.N.1, where N is the depth,
// and what comes out of it is translated to the current namespace's own
// addresses, as behind a home router. If pcapng is not empty every packet is
// written to that file.
//
// The program must have been through Enter or be behind a path already. An
// *exec.ExitError tells the command's own failure.
func Behind(ctx context.Context, path network.Path, seed uint64, pcapng string, command *exec.Cmd) (err error) {
	depth := Depth() + 1
	if depth > maxDepth {
		return fmt.Errorf("put a path behind %d others: %d is the limit", depth-1, maxDepth)
	}
	if len(path.Access) != 1 {
		return fmt.Errorf("run a command behind path %s: it has %d access links, a command has one", path.Name, len(path.Access))
	}
	near, err := NewNamespace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, near.Close()) }()

	end := func(host byte) *net.IPNet {
		return &net.IPNet{IP: net.IPv4(100, 64, byte(depth), host).To4(), Mask: net.CIDRMask(24, 32)}
	}
	far, err := addTUN(fmt.Sprintf("wiretime%d", depth), end(1))
	if err != nil {
		return fmt.Errorf("make the path's far end: %w", err)
	}
	defer far.Close()
	if err := translate(depth, end(1)); err != nil {
		return fmt.Errorf("let the path lead on from its far end: %w", err)
	}
	var tun *os.File
	err = near.Do(func() (err error) {
		if tun, err = addTUN(tunName(0), end(2)); err != nil {
			return err
		}
		link, err := netlink.LinkByName(tunName(0))
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: anywhere, Gw: end(1).IP})
	})
	if tun != nil {
		defer tun.Close()
	}
	if err != nil {
		return fmt.Errorf("make the path's near end: %w", err)
	}
	e, err := emulator.Start(ctx, [][2]*os.File{{tun, far}})
	if err != nil {
		return err
	}
	defer e.Kill()
	if depth == 1 { // deeper, there is no program outside to ask
		askForUrgency(e.PID())
	}
	finish, err := armBehind(ctx, e, path, seed, pcapng)
	if err != nil {
		return err
	}
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", DepthVariable, depth))
	return errors.Join(runInside(near, command), finish())
}

// armBehind arms the emulator; finish completes the capture.
func armBehind(ctx context.Context, e *emulator.Process, path network.Path, seed uint64, pcapng string) (finish func() error, err error) {
	if pcapng == "" {
		return func() error { return nil }, e.Arm(ctx, path, seed, emulator.Recording{})
	}
	file, err := atomicfile.Create(pcapng, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the capture %s: %w", pcapng, err)
	}
	if err := e.Arm(ctx, path, seed, emulator.Recording{File: file.File, Comment: "wiretime link"}); err != nil {
		file.Discard()
		return nil, err
	}
	return func() error {
		defer file.Discard()
		report, err := e.Stop(context.WithoutCancel(ctx))
		if err == nil && report.CaptureError != "" {
			err = captureFailure(report.CaptureError)
		}
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return fmt.Errorf("write the capture %s: %w", pcapng, err)
		}
		return nil
	}, nil
}

// runInside runs command in namespace n.
func runInside(n *Namespace, command *exec.Cmd) error {
	name := command.Path
	n.Command(command)
	child, err := process.Start(command)
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return waitRelaying(child)
}

// translate forwards what comes from the path's prefix and makes it look as if
// it came from this namespace (masquerading), in a table of its own.
func translate(depth int, prefix *net.IPNet) error {
	if err := sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("speak to nftables: %w", err)
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: fmt.Sprintf("wiretime%d", depth)})
	chain := c.AddChain(&nftables.Chain{
		Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	// ip saddr & mask == prefix: masquerade
	const sourceOffset = 12 // of the source address in the IPv4 header, RFC 791 section 3.1
	network := prefix.IP.Mask(prefix.Mask)
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: sourceOffset, Len: net.IPv4len},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: net.IPv4len, Mask: prefix.Mask, Xor: binaryutil.NativeEndian.PutUint32(0)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: network},
		&expr.Masq{},
	}})
	// What belongs to no connection would not be translated back but answered
	// by this host with a reset, which ends the connection it resembles: pasta
	// sends such segments.
	filter := c.AddChain(&nftables.Chain{
		Name: "prerouting", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityFilter,
	})
	// ct state invalid: drop
	c.AddRule(&nftables.Rule{Table: table, Chain: filter, Exprs: []expr.Any{
		&expr.Ct{Register: 1, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitINVALID), Xor: binaryutil.NativeEndian.PutUint32(0)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(0)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("set up address translation: %w", err)
	}
	return nil
}
