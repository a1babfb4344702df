package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"wiretime/process"
)

// Finding is one thing that a lab needs, or would be better with, and whether
// this machine has it.
type Finding struct {
	Name     string
	OK       bool
	Required bool   // without it no lab can be made
	Detail   string // what was found
	Remedy   string // what to do if it is not OK
}

// Doctor looks at what the machine gives the user who runs it. It makes nothing
// and can be called outside Enter.
func Doctor() []Finding {
	return []Finding{checkNamespaces(), checkTUN(), checkShm(), checkCongestion(), checkScheduling()}
}

// checkNamespaces finds out by trying: there are more ways for a machine to
// forbid user namespaces than switches to read.
func checkNamespaces() Finding {
	f := Finding{Name: "namespaces", Required: true}
	rootless := try(Rootless)
	if rootless == nil {
		f.OK, f.Detail = true, "user namespaces are allowed: labs need no root"
		return f
	}
	if os.Geteuid() == 0 && try(Root) == nil {
		f.OK = true
		f.Detail = fmt.Sprintf("user namespaces are forbidden (%v): labs run with root's own rights", rootless)
		return f
	}
	f.Detail = rootless.Error()
	f.Remedy = forbidden(rootless).Error()
	return f
}

// probeCommand is the first argument of a program that only shows that it could
// be started inside new namespaces.
const probeCommand = "namespace-probe"

func try(p Privilege) error {
	command, err := inside(p, probeCommand)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err = process.Run(command)
	if err != nil && said.Len() > 0 {
		return errors.New(strings.TrimSpace(said.String()))
	}
	return err
}

// probe does inside what a lab does first.
func probe() error {
	if err := privateMounts(); err != nil {
		return err
	}
	n, err := NewNamespace()
	if err != nil {
		return err
	}
	return n.Close()
}

func checkTUN() Finding {
	f := Finding{Name: "/dev/net/tun", Required: true}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
		f.OK, f.Detail = true, "can be opened"
		return f
	}
	f.Detail = fmt.Sprintf("cannot be opened: %v", err)
	switch {
	case errors.Is(err, unix.ENOENT):
		f.Remedy = "as root: mkdir -p /dev/net && mknod -m 666 /dev/net/tun c 10 200"
	case errors.Is(err, unix.EACCES):
		f.Remedy = "as root: chmod 666 /dev/net/tun (what udev's own rule sets)"
	case errors.Is(err, unix.ENODEV):
		f.Remedy = "as root: modprobe tun"
	default:
		f.Remedy = "ask the machine's administrator for the TUN driver"
	}
	return f
}

func checkShm() Finding {
	f := Finding{Name: filepath.Dir(Scratch), Required: true}
	info, err := os.Stat(filepath.Dir(Scratch))
	if err == nil && info.IsDir() {
		f.OK, f.Detail = true, "is there to mount a private folder on"
		return f
	}
	f.Detail, f.Remedy = "is not a folder", "as root: mkdir "+filepath.Dir(Scratch)
	return f
}

func checkCongestion() Finding {
	known := strings.Fields(read("/proc/sys/net/ipv4/tcp_available_congestion_control"))
	f := Finding{Name: "congestion control", OK: slices.Contains(known, "cubic"), Detail: "this kernel has " + strings.Join(known, ", ")}
	if !f.OK {
		f.Remedy = "as root: modprobe tcp_cubic; or set 'congestion' in the study to one of those"
	}
	return f
}

func checkScheduling() Finding {
	f := Finding{Name: "scheduling"}
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit)
	if os.Geteuid() == 0 || err == nil && limit.Cur >= 10 {
		f.OK, f.Detail = true, "the emulator may run with real-time priority"
		return f
	}
	f.Detail = "the emulator runs with normal priority: on a busy machine more loads will be late and repeated"
	f.Remedy = "as root: add '<user> - rtprio 20' to /etc/security/limits.conf"
	return f
}

// Program is a program that Wiretime starts or that its users want beside it.
func Program(name, use, remedy string) Finding {
	f := Finding{Name: name}
	if path, err := exec.LookPath(name); err == nil {
		f.OK, f.Detail = true, path
		return f
	}
	f.Detail, f.Remedy = "not found: "+use, remedy
	return f
}
