package transport

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/lab"
)

// field is a client with two access links, a router, and a server behind it, each
// a network namespace. The client's routes prefer its first link; what leaves from
// the second's address takes the second.
//
//	client 10.1.0.1 -- 10.1.0.254 router 10.9.0.254 -- 10.9.0.1 server
//	       10.2.0.1 -- 10.2.0.254
type field struct {
	client, router, server *lab.Namespace
}

var (
	serverAddress   = netip.MustParseAddr("10.9.0.1")
	clientAddresses = []netip.Addr{netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.2.0.1")}
)

func newField(t *testing.T) *field {
	t.Helper()
	f := &field{}
	for _, host := range []**lab.Namespace{&f.client, &f.router, &f.server} {
		n, err := lab.NewNamespace()
		must(t, err)
		t.Cleanup(func() { _ = n.Close() })
		*host = n
	}
	must(t, f.router.Do(setForwarding))
	must(t, f.join(f.client, "first", "10.1.0.1/24", "10.1.0.254/24"))
	must(t, f.join(f.client, "second", "10.2.0.1/24", "10.2.0.254/24"))
	must(t, f.join(f.server, "server", "10.9.0.1/24", "10.9.0.254/24"))
	must(t, f.server.Do(func() error { return addRoute("10.9.0.254", unix.RT_TABLE_MAIN, 0) }))
	must(t, f.client.Do(func() error {
		if err := addRoute("10.1.0.254", unix.RT_TABLE_MAIN, 1); err != nil {
			return err
		}
		if err := addRoute("10.2.0.254", unix.RT_TABLE_MAIN, 2); err != nil {
			return err
		}
		rule := netlink.NewRule()
		rule.Src, rule.Table = &net.IPNet{IP: net.IPv4(10, 2, 0, 1), Mask: net.CIDRMask(32, 32)}, 2
		if err := netlink.RuleAdd(rule); err != nil {
			return err
		}
		return addRoute("10.2.0.254", 2, 0)
	}))
	return f
}

func setForwarding() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }

// giveUpSoon makes MPTCP treat a subflow as lost after one timeout without an answer.
func giveUpSoon() error {
	return os.WriteFile("/proc/sys/net/mptcp/stale_loss_cnt", []byte("1"), 0)
}

// join makes a link between a host and the router.
func (f *field) join(host *lab.Namespace, name, own, routers string) error {
	router, err := unix.Open(f.router.Path(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(router)
	if err := host.Do(func() error {
		link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name, PeerNamespace: netlink.NsFd(router)}
		if err := netlink.LinkAdd(link); err != nil {
			return err
		}
		return configure(name, own)
	}); err != nil {
		return err
	}
	return f.router.Do(func() error { return configure(name, routers) })
}

func configure(name, address string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

func addRoute(gateway string, table, priority int) error {
	_, all, _ := net.ParseCIDR("0.0.0.0/0")
	return netlink.RouteAdd(&netlink.Route{Dst: all, Gw: net.ParseIP(gateway), Table: table, Priority: priority})
}

// cut makes the router silently drop everything from or to the client's link; mend lets it
// pass again.
func (f *field) cut(t *testing.T, link int)  { must(t, f.drop(link, netlink.RuleAdd)) }
func (f *field) mend(t *testing.T, link int) { must(t, f.drop(link, netlink.RuleDel)) }

func (f *field) drop(link int, change func(*netlink.Rule) error) error {
	return f.router.Do(func() error {
		prefix := &net.IPNet{IP: clientAddresses[link].AsSlice(), Mask: net.CIDRMask(32, 32)}
		from, to := netlink.NewRule(), netlink.NewRule()
		from.Src, to.Dst = prefix, prefix
		for i, rule := range []*netlink.Rule{from, to} {
			rule.Type, rule.Priority = unix.RTN_BLACKHOLE, 10*(link+1)+i
			if err := change(rule); err != nil {
				return err
			}
		}
		return nil
	})
}

// leave removes the client's first link with its address and routes.
func (f *field) leave(t *testing.T) {
	t.Helper()
	must(t, f.client.Do(func() error {
		link, err := netlink.LinkByName("first")
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(link)
	}))
	must(t, f.client.Do(func() error {
		link, err := netlink.LinkByName("first")
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr("10.1.0.1/24")
		if err != nil {
			return err
		}
		return netlink.AddrDel(link, address)
	}))
}

// awaitSubflows waits until the server has so many TCP connections. MPTCP opens further
// ones some round trips after the first.
func (f *field) awaitSubflows(t *testing.T, want int) {
	t.Helper()
	const established = " 01 "
	for have := 0; have < want; time.Sleep(time.Millisecond) {
		must(t, f.server.Do(func() error {
			table, err := os.ReadFile("/proc/thread-self/net/tcp")
			have = strings.Count(string(table), established)
			return err
		}))
	}
}
