package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MTU is the largest IP packet on a device of AddTUN, in bytes: Ethernet's.
const MTU = 1500

// tunQueue is the length, in packets, of the queue between the kernel and the
// emulator. It only has to be longer than what the emulator can be late for;
// the queue that is being measured is the one in network.Link.
const tunQueue = 20000

var (
	serverPrefix = mustParseCIDR("198.19.0.0/16")
	anywhere     = mustParseCIDR("0.0.0.0/0")
)

func tunName(access int) string { return fmt.Sprintf("wt%d", access) }

// clientAddress is the client's address on an access link, 198.18.access.2.
func clientAddress(access int) net.IP { return net.IPv4(198, 18, byte(access), 2).To4() }

func clientPrefix(access int) *net.IPNet {
	return &net.IPNet{IP: net.IPv4(198, 18, byte(access), 0).To4(), Mask: net.CIDRMask(24, 32)}
}

// TCPOptions are the TCP settings of both hosts. QUIC has a congestion control and
// windows of its own, in user space.
type TCPOptions struct {
	// Congestion is the congestion control's kernel name, such as "cubic" or "bbr".
	Congestion string
	// InitCwnd is the initial congestion window in segments (RFC 6928 says 10).
	InitCwnd int
	// Window is the largest receive and send buffer of a connection in octets: the maximum of
	// net.ipv4.tcp_rmem and tcp_wmem. Linux advertises a smaller window. 0: the lab's own buffers.
	Window int `json:",omitempty"`
	// NoSACK switches selective acknowledgements off (net.ipv4.tcp_sack, RFC 2018).
	NoSACK bool `json:",omitempty"`
}

// ErrNoTUN means that /dev/net/tun cannot be opened.
var ErrNoTUN = errors.New("/dev/net/tun cannot be opened")

// CheckTUN returns an error that wraps ErrNoTUN and says what to do if this
// user cannot open /dev/net/tun.
func CheckTUN() error {
	if f := checkTUN(); !f.OK {
		return fmt.Errorf("%w: %s; %s", ErrNoTUN, f.Detail, f.Remedy)
	}
	return nil
}

// openTUN makes a TUN device in the current namespace and returns its file.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w (run 'wiretime doctor' to see what this machine lacks)", ErrNoTUN, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make TUN device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// AddTUN makes a TUN device with an address (nil: none) in the current
// namespace, brings it up and returns its file.
func AddTUN(name string, address *net.IPNet) (*os.File, error) {
	tun, err := openTUN(name)
	if err != nil {
		return nil, err
	}
	if err := configure(name, address); err != nil {
		_ = tun.Close()
		return nil, err
	}
	return tun, nil
}

// configure gives a new network device an address (nil: none) and brings it up.
func configure(name string, address *net.IPNet) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetMTU(link, MTU)
	}
	if err == nil {
		err = netlink.LinkSetTxQLen(link, tunQueue)
	}
	if err == nil && address != nil {
		err = netlink.AddrAdd(link, &netlink.Addr{IPNet: address})
	}
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err == nil {
		// The machine's default queueing discipline must not differ between
		// two machines that run the same study.
		err = netlink.QdiscReplace(&netlink.GenericQdisc{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
			QdiscType:  "pfifo",
		})
	}
	if err != nil {
		return fmt.Errorf("configure network device %s: %w", name, err)
	}
	return nil
}

// route is a route of one of the hosts through an access link's device.
type route struct {
	access int
	to     *net.IPNet
	from   net.IP // the source address of what takes it; nil: the kernel chooses
	table  int
}

// replace puts the route into its table in place of one to the same destination.
func (r route) replace(tcp TCPOptions) error {
	name := tunName(r.access)
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find TUN device %s: %w", name, err)
	}
	err = netlink.RouteReplace(&netlink.Route{
		LinkIndex: link.Attrs().Index,
		Dst:       r.to,
		Src:       r.from,
		Table:     r.table,
		Scope:     netlink.SCOPE_LINK,
		InitCwnd:  tcp.InitCwnd,
		Congctl:   tcp.Congestion,
	})
	if err != nil {
		return fmt.Errorf("route %v through %s with congestion control %q, initcwnd %d: %w%s",
			r.to, name, tcp.Congestion, tcp.InitCwnd, err, congestionHint(tcp.Congestion))
	}
	return nil
}

func congestionHint(name string) string {
	available, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil || name == "" {
		return ""
	}
	known := strings.Fields(string(available))
	if slices.Contains(known, name) {
		return ""
	}
	return fmt.Sprintf(" (this kernel has %s)", strings.Join(known, ", "))
}
