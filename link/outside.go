package link

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

	"wiretime/lab"
)

// resolver is the address at which pasta forwards DNS queries to the machine's resolver. It
// is from the shared address space of RFC 6598.
const resolver = "100.127.255.53"

// ErrNoOutside means that commands behind links cannot reach the outside world.
var ErrNoOutside = errors.New("the outside world is not reachable from behind the link")

// Enter puts the program into namespaces of its own, as lab.EnterBeside does, and connects
// them by pasta (package passt), which needs no root, to the networks of the machine.
// disconnected is nil if that worked; otherwise it wraps ErrNoOutside and says why not.
//
// The machine's loopback services are reachable at the address of its gateway.
func Enter() (disconnected, err error) {
	pasta, missing := exec.LookPath("pasta")
	_, err = lab.EnterBeside(func(pid int) *os.File {
		if missing != nil {
			return nil
		}
		return startPasta(pasta, pid)
	})
	if err != nil {
		return nil, err
	}
	if missing != nil {
		return fmt.Errorf("%w: pasta was not found; install Debian's package passt", ErrNoOutside), nil
	}
	if err := awaitDefaultRoute(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoOutside, err), nil
	}
	return nil, useResolver(resolver)
}

// startPasta starts pasta, which connects the namespace of process pid until the returned
// file is closed. The kernel closes the file when this program ends, however it ends. The
// program inside notices a failure by the missing route.
func startPasta(pasta string, pid int) *os.File {
	args := []string{leashCommand, pasta, "--foreground", "--config-net", "--quiet", "--mtu", strconv.Itoa(lab.MTU), "--dns-forward", resolver,
		"--tcp-ports", "none", "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"}
	if os.Geteuid() == 0 {
		// As root, pasta would switch to the user nobody, who may not enter root's namespaces.
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

// leashCommand is the first argument of a helper process that runs another program until the
// far end of the pipe at leashFD is closed. Pdeathsig cannot end pasta: it changes its
// credentials when it starts, and the kernel then clears the signal.
const leashCommand = "leash"

const leashFD = 3

// Helper runs the program as the helper process that ends pasta if it was started as one,
// and never returns in that case. A program that calls Enter must call it first thing in
// main.
func Helper() {
	if len(os.Args) < 3 || os.Args[1] != leashCommand {
		return
	}
	if err := leash(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "wiretime:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// leash runs a program until the pipe at leashFD is closed.
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
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(leashFD, "leash"))
		close(released)
	}()
	select {
	case <-ended:
		return outcome
	case <-released:
		_ = command.Process.Kill() // it may just have ended
		<-ended
		return nil
	}
}

// routeLimit is how long pasta may take to configure the namespace.
const routeLimit = 5 * time.Second

// awaitDefaultRoute returns once this namespace has a default route.
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

// prefixLength returns the prefix length of a route's destination; a default route may have none.
func prefixLength(destination *net.IPNet) int {
	if destination == nil {
		return 0
	}
	ones, _ := destination.Mask.Size()
	return ones
}

// useResolver makes this program and its children ask the DNS server at address.
func useResolver(address string) error {
	source := filepath.Join(lab.Scratch, "resolv.conf")
	if err := os.WriteFile(source, []byte("nameserver "+address+"\n"), 0o644); err != nil {
		return fmt.Errorf("write a resolver configuration: %w", err)
	}
	if err := unix.Mount(source, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a resolver configuration on /etc/resolv.conf: %w", err)
	}
	return nil
}
