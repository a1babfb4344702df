package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/lab/emulator"
)

// Config says how a lab is built. It holds for all uses of the lab.
type Config struct {
	// AccessLinks is how many access links the client has: at least 1, and as
	// many as the widest path that the lab is to emulate.
	AccessLinks int
	// InstantDNS puts the DNS server beside the client, so that look-ups cost
	// no round trip. Otherwise it stands with the servers, behind the path.
	InstantDNS bool
	// TCPRmem and TCPWmem are net.ipv4.tcp_rmem and tcp_wmem (minimum, default
	// and maximum buffer in bytes) of both hosts. Linux derives its defaults
	// from the machine's memory, so they are always set.
	TCPRmem, TCPWmem [3]int
	// Awake is the process that keeps the machine's processors awake (machine.KeepAwake), or 0
	// if no process does.
	Awake int
	// Virtual says that this is Wiretime's own kernel, whose time jumps and which hands
	// packets to the emulator through a device of its own.
	Virtual bool
	// Unblocked promises, in virtual time, that this program makes no system call
	// that blocks for more than a moment, such as waiting for a browser's process
	// to end: see emulator.StartVirtual.
	Unblocked bool
}

// Lab is a client and a server host joined by an emulated path. It serves one use at a time:
// see Prepare.
type Lab struct {
	config   Config
	client   *Namespace
	server   *Namespace
	tuns     [][2]*os.File
	wire     *os.File // instead of tuns in virtual time
	emulator *emulator.Process
	names    *resolver
	upLinks  []bool // which of the client's access links are up
	active   int    // the access link of the default route
	together int    // how many access links have routes by source address
	tcp      TCPOptions
	place    CapturePlace // of the next hosts' capture
	node     *Namespace   // nil without a third one
	nodeTUN  *os.File     // nil in virtual time
}

// New builds a lab. The program must have been through Enter.
func New(ctx context.Context, c Config) (*Lab, error) {
	if c.AccessLinks < 1 {
		return nil, fmt.Errorf("build a lab: %d access links: want at least 1", c.AccessLinks)
	}
	l := &Lab{config: c, upLinks: make([]bool, c.AccessLinks)}
	if err := l.build(ctx); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("build a lab: %w", err)
	}
	return l, nil
}

func (l *Lab) build(ctx context.Context) (err error) {
	if l.client, err = NewNamespace(); err != nil {
		return err
	}
	if l.server, err = NewNamespace(); err != nil {
		return err
	}
	for _, host := range []*Namespace{l.client, l.server} {
		if err := host.Do(l.setKernelParameters); err != nil {
			return err
		}
	}
	if l.config.Virtual {
		if l.wire, err = emulator.OpenWire(); err != nil {
			return err
		}
	}
	for i := range l.config.AccessLinks {
		if err := l.addAccessLink(i); err != nil {
			return err
		}
	}
	// Every path begins on the first access link. A browser that starts before its first load must
	// not see the others go down: when its network changes, it gives up what it is loading.
	for i := 1; i < l.config.AccessLinks; i++ {
		if err := l.client.Do(func() error { return switchAccess(i, false) }); err != nil {
			return err
		}
		l.upLinks[i] = false
	}
	if err := l.server.Do(ownServerPrefix); err != nil {
		return err
	}
	if l.config.Virtual {
		l.emulator, err = emulator.StartVirtual(ctx, l.wire, l.config.AccessLinks, l.config.Unblocked)
	} else {
		l.emulator, err = emulator.Start(ctx, l.tuns)
	}
	if err != nil {
		return err
	}
	if !l.config.Virtual { // there its own rights do
		AskForUrgency(l.emulator.PID())
	}
	resolverHost := l.server
	if l.config.InstantDNS {
		resolverHost = l.client
		if err := l.client.Do(ownResolverAddress); err != nil {
			return err
		}
	}
	l.names, err = startResolver(resolverHost)
	return err
}

// setKernelParameters gives the host the same kernel parameters on every machine.
func (l *Lab) setKernelParameters() error {
	if err := l.setTCPWindow(0); err != nil {
		return err
	}
	for _, p := range [][2]string{
		// TCP must not use what it learned of the path in an earlier load.
		{"net/ipv4/tcp_no_metrics_save", "1"},
		// Servers that refuse to run as root must be able to listen on low ports.
		{"net/ipv4/ip_unprivileged_port_start", "0"},
		{"net/ipv6/conf/all/disable_ipv6", "1"},
		{"net/ipv6/conf/default/disable_ipv6", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
	} {
		err := sysctl(p[0], p[1])
		if errors.Is(err, os.ErrNotExist) && p[0][:8] == "net/ipv6" {
			continue // a kernel without IPv6 has nothing to switch off
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) addAccessLink(i int) error {
	own := ownPrefix(i)
	l.upLinks[i] = true
	if l.wire != nil {
		if err := l.client.Do(func() error { return addPort(l.wire, tunName(i), own) }); err != nil {
			return err
		}
		return l.server.Do(func() error { return addPort(l.wire, tunName(i), nil) })
	}
	var pair [2]*os.File
	err := l.client.Do(func() (err error) {
		pair[0], err = AddTUN(tunName(i), own)
		return err
	})
	if err != nil {
		return err
	}
	err = l.server.Do(func() (err error) {
		pair[1], err = AddTUN(tunName(i), nil)
		return err
	})
	if err != nil {
		_ = pair[0].Close()
		return err
	}
	l.tuns = append(l.tuns, pair)
	return nil
}

// addPort does for the wire what AddTUN does without one.
func addPort(wire *os.File, name string, address *net.IPNet) error {
	if err := emulator.AddPort(wire, name); err != nil {
		return err
	}
	return configure(name, address)
}

// ownServerPrefix makes every address of the servers' prefix the host's own.
func ownServerPrefix() error { return own(serverPrefix) }

func ownResolverAddress() error { return own(mustParseCIDR(resolverAddress + "/32")) }

func own(prefix *net.IPNet) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	err = netlink.RouteReplace(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: prefix, Table: unix.RT_TABLE_LOCAL,
		Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST,
	})
	if err != nil {
		return fmt.Errorf("own %v: %w", prefix, err)
	}
	return nil
}

// ServerAddress is one of the addresses of the server's host, which has many: i counts from 0.
func ServerAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 19, byte(1 + i/250), byte(1 + i%250)})
}

// Client is the client's host, where loaders run.
func (l *Lab) Client() *Namespace { return l.client }

// drain waits until the hosts have nothing more to say to each other.
func (l *Lab) drain(ctx context.Context) error {
	return l.emulator.Drain(ctx, 10*time.Millisecond, time.Second)
}

// Renew takes the lab apart and builds it anew. After a handover a kernel may still hold data
// for an address that is gone, and goes on sending it for a while; MPTCP keeps the addresses
// that it was told of. After an error the lab can only be closed.
func (l *Lab) Renew(ctx context.Context) error {
	config := l.config
	err := l.Close()
	*l = Lab{config: config}
	if err != nil {
		return fmt.Errorf("take the lab apart: %w", err)
	}
	fresh, err := New(ctx, config)
	if err != nil {
		return err
	}
	*l = *fresh
	return nil
}

// Close takes the lab apart. Loaders in it must have been closed before.
func (l *Lab) Close() error {
	var errs []error
	if l.names != nil {
		errs = append(errs, l.names.close())
	}
	if l.emulator != nil {
		l.emulator.Kill()
	}
	for _, pair := range l.tuns {
		errs = append(errs, pair[0].Close(), pair[1].Close())
	}
	if l.wire != nil {
		errs = append(errs, l.wire.Close())
	}
	errs = append(errs, l.detach())
	for _, n := range []*Namespace{l.client, l.server} {
		if n != nil {
			errs = append(errs, n.Close())
		}
	}
	return errors.Join(errs...)
}
