package lab

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// outsideMark tells the program inside whether it can reach the outside world:
// it holds the reason why it cannot, and is not set if it can.
const outsideMark = "WIRETIME_NO_OUTSIDE"

// outsideResolver is the address at which pasta passes DNS queries on to the
// machine's resolver. It is from the shared address space of RFC 6598.
const outsideResolver = "100.127.255.53"

// ErrNoOutside means that the program inside cannot reach the outside world.
var ErrNoOutside = errors.New("the outside world is not reachable from inside")

// EnterConnected is Enter, but the namespace inside is connected to what the
// machine is connected to, by pasta (package passt), which needs no root either.
// If that cannot be, connected says why and wraps ErrNoOutside.
//
// The loopback services of the machine are reachable at its gateway's address.
func EnterConnected() (p Privilege, connected, err error) {
	pasta, missing := exec.LookPath("pasta")
	switch {
	case missing != nil:
		_ = os.Setenv(outsideMark, "pasta was not found; install Debian's package passt")
	case os.Getenv(insideMark) == "":
		_ = os.Unsetenv(outsideMark)
	}
	p, err = enter(func(pid int) *os.File {
		if missing != nil {
			return nil
		}
		return connect(pasta, pid)
	})
	if err != nil {
		return p, nil, err
	}
	if why := os.Getenv(outsideMark); why != "" {
		_ = os.Unsetenv(outsideMark)
		return p, fmt.Errorf("%w: %s", ErrNoOutside, why), nil
	}
	if err := awaitDefaultRoute(); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNoOutside, err), nil
	}
	return p, nil, useResolver(outsideResolver)
}

// connect has pasta connect the namespace of process pid until the file that it
// returns is closed, which the kernel does when this program is gone, however
// it ends. That it failed is seen inside by what is not there.
func connect(pasta string, pid int) *os.File {
	args := []string{leashCommand, pasta, "--foreground", "--config-net", "--quiet", "--mtu", strconv.Itoa(mtu), "--dns-forward", outsideResolver,
		"--tcp-ports", "none", "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"}
	if os.Geteuid() == 0 {
		// pasta would become nobody, who may not look into root's namespaces.
		args = append(args, "--runas", "0:0")
	}
	held, leash, err := os.Pipe()
	if err != nil {
		return nil
	}
	command := exec.Command("/proc/self/exe", append(args, strconv.Itoa(pid))...)
	command.Stderr = os.Stderr
	command.ExtraFiles = []*os.File{held} // becomes leashFD
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	_ = command.Start()
	_ = held.Close()
	return leash
}

// leashCommand is the first argument of a program that is to run another one
// until the pipe at leashFD is closed at its far end. pasta needs that: it takes
// other rights when it starts, and the kernel then forgets whose death should
// end it.
const leashCommand = "leash"

const leashFD = 3

func leash(args []string) error {
	command := exec.Command(args[0], args[1:]...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	var outcome error
	ended := make(chan struct{})
	go func() {
		outcome = command.Wait()
		close(ended)
	}()
	let := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(leashFD, "leash"))
		close(let)
	}()
	select {
	case <-ended:
		return outcome
	case <-let:
		_ = command.Process.Kill() // it may just have ended
		<-ended
		return nil
	}
}

// routeLimit is how long pasta may take to configure the namespace.
const routeLimit = 5 * time.Second

// awaitDefaultRoute returns when this namespace has a default route.
func awaitDefaultRoute() error {
	updates, done := make(chan netlink.RouteUpdate), make(chan struct{})
	defer close(done)
	if err := netlink.RouteSubscribeWithOptions(updates, done, netlink.RouteSubscribeOptions{ListExisting: true}); err != nil {
		return fmt.Errorf("watch the routes: %w", err)
	}
	limit := time.After(routeLimit)
	for {
		select {
		case u := <-updates:
			if ones := prefixLength(u.Dst); ones == 0 && u.Gw != nil && u.Type == unix.RTM_NEWROUTE {
				return nil
			}
		case <-limit:
			return errors.New("pasta did not connect the namespace")
		}
	}
}

// prefixLength is that of a route's destination; a default route may have none.
func prefixLength(destination *net.IPNet) int {
	if destination == nil {
		return 0
	}
	ones, _ := destination.Mask.Size()
	return ones
}

// useResolver makes this program and its children ask the DNS server at address.
func useResolver(address string) error {
	source := filepath.Join(Scratch, "resolv.conf")
	if err := os.WriteFile(source, []byte("nameserver "+address+"\n"), 0o644); err != nil {
		return fmt.Errorf("write a resolver configuration: %w", err)
	}
	if err := unix.Mount(source, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a resolver configuration on /etc/resolv.conf: %w", err)
	}
	return nil
}
