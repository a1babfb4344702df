package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Namespace is a network namespace without a name in the file system: it lives
// as long as it is open, as long as a process runs in it, or as long as a
// socket made in it is open (a socket keeps the namespace it was opened in).
type Namespace struct {
	fd    int
	calls chan func()
	once  sync.Once
	done  chan struct{}
}

// NewNamespace makes an empty network namespace with its loopback device up.
// It needs CAP_SYS_ADMIN in the current user namespace, which Enter provides.
func NewNamespace() (*Namespace, error) {
	n := &Namespace{calls: make(chan func()), done: make(chan struct{})}
	started := make(chan error)
	go n.serve(started)
	if err := <-started; err != nil {
		<-n.done
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	return n, nil
}

// serve owns one OS thread that stays in the namespace. The thread is never
// unlocked, so the runtime ends it together with this goroutine.
func (n *Namespace) serve(started chan<- error) {
	defer close(n.done)
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err == nil {
		n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		err = loopbackUp()
	}
	started <- err
	if err != nil {
		return
	}
	for call := range n.calls {
		call()
	}
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring the loopback device up: %w", err)
	}
	return nil
}

// Do runs f on a thread that is inside the namespace and returns its error.
// Sockets that f opens belong to the namespace for good. Do must not be called
// from within f, nor after Close.
func (n *Namespace) Do(f func() error) error {
	result := make(chan error, 1)
	n.calls <- func() { result <- f() }
	return <-result
}

// Listen opens a TCP listener in the namespace. network is "tcp4". The port may be one that
// another listener had before, whose connections still linger.
func (n *Namespace) Listen(ctx context.Context, network, address string) (listener net.Listener, err error) {
	config := net.ListenConfig{Control: reuseAddress}
	config.SetMultipathTCP(false)
	err = n.Do(func() (err error) {
		listener, err = config.Listen(ctx, network, address)
		return err
	})
	return listener, err
}

// ListenPacket opens a socket for packets in the namespace, as net.ListenConfig does.
func (n *Namespace) ListenPacket(ctx context.Context, network, address string) (conn net.PacketConn, err error) {
	err = n.Do(func() (err error) {
		conn, err = new(net.ListenConfig).ListenPacket(ctx, network, address)
		return err
	})
	return conn, err
}

// reuseAddress allows a port whose earlier connections may still linger.
func reuseAddress(_, _ string, c syscall.RawConn) error {
	var set error
	if err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}); err != nil {
		return err
	}
	return set
}

// ServerCommand arranges for command to run inside the namespace as a server: unlike programs
// of Command it has the priority of Wiretime's own server, which is part of this program.
func (n *Namespace) ServerCommand(command *exec.Cmd) { n.command(command, serverNice) }

// Path names the namespace for another process of the same user: opening it
// gives a file descriptor fit for setns(2).
func (n *Namespace) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.fd)
}

// Close gives up this program's hold on the namespace. It is safe to call it
// more than once.
func (n *Namespace) Close() error {
	var err error
	n.once.Do(func() {
		close(n.calls)
		<-n.done
		err = unix.Close(n.fd)
	})
	return err
}

// sysctl sets a per-namespace kernel parameter, named by its path below
// /proc/sys. It must run inside the namespace (see Do).
func sysctl(path, value string) error {
	if err := os.WriteFile("/proc/sys/"+path, []byte(value), 0); err != nil {
		return fmt.Errorf("set kernel parameter %s to %q: %w", path, value, err)
	}
	return nil
}

// mustParseCIDR is for the constant prefixes of this package.
func mustParseCIDR(s string) *net.IPNet {
	_, p, err := net.ParseCIDR(s)
	if err != nil {
		panic(err)
	}
	return p
}
