package lab

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/network"
)

// setRoutes applies TCP options to both hosts and puts the client on its first
// access link.
func (l *Lab) setRoutes(tcp TCPOptions) error {
	if tcp.Window != l.tcp.Window {
		for _, host := range []*Namespace{l.client, l.server} {
			if err := host.Do(func() error { return l.setTCPWindow(tcp.Window) }); err != nil {
				return fmt.Errorf("set TCP's window to %d octets: %w", tcp.Window, err)
			}
		}
	}
	if tcp.NoSACK != l.tcp.NoSACK {
		for _, host := range []*Namespace{l.client, l.server} {
			if err := host.Do(func() error { return setSACK(!tcp.NoSACK) }); err != nil {
				return fmt.Errorf("switch TCP's selective acknowledgements: %w", err)
			}
		}
	}
	l.tcp = tcp
	if err := l.useAccess(0); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	err := l.server.Do(func() error {
		for i := range l.config.AccessLinks {
			if err := (route{access: i, to: clientPrefix(i), table: unix.RT_TABLE_MAIN}).replace(tcp); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// setTCPWindow limits the receive and send buffers of new connections on the current host to a number
// of octets (net.ipv4.tcp_rmem and tcp_wmem). 0 restores the lab's own buffers.
func (l *Lab) setTCPWindow(octets int) error {
	for _, p := range []struct {
		name string
		own  [3]int
	}{{"net/ipv4/tcp_rmem", l.config.TCPRmem}, {"net/ipv4/tcp_wmem", l.config.TCPWmem}} {
		buffer := p.own
		if octets > 0 {
			buffer = [3]int{min(buffer[0], octets), min(buffer[1], octets), octets}
		}
		if err := sysctl(p.name, fmt.Sprintf("%d\t%d\t%d", buffer[0], buffer[1], buffer[2])); err != nil {
			return err
		}
	}
	return nil
}

// setSACK says whether new connections on the current host may acknowledge selectively.
func setSACK(on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	return sysctl("net/ipv4/tcp_sack", value)
}

// useAccess makes access link i the client's only one, as a handover to it does:
// the others lose their addresses and go down, which the kernel tells programs
// that watch for network changes.
func (l *Lab) useAccess(i int) error {
	up := make([]bool, len(l.upLinks))
	up[i] = true
	return l.client.Do(func() error {
		if err := l.endTogether(); err != nil {
			return err
		}
		return l.use(i, up)
	})
}

// associate puts the client on the first access link of a path or, where all of them
// carry together, on all.
func (l *Lab) associate(path network.Path) error {
	err := l.useAccess(0)
	if err == nil && path.Together {
		err = l.useTogether(len(path.Access))
	}
	if err != nil {
		return fmt.Errorf("put the client on path %s: %w", path.Name, err)
	}
	return nil
}

// useTogether gives the client the first n access links at once. Its default route
// is through the first, but packets from the address of another leave through that one.
func (l *Lab) useTogether(n int) error {
	up := make([]bool, len(l.upLinks))
	return l.client.Do(func() error {
		for i := range n {
			up[i] = true
			if err := netlink.RuleAdd(ruleFrom(i)); err != nil {
				return fmt.Errorf("route by source address: %w", err)
			}
			l.together = i + 1
		}
		return l.use(0, up)
	})
}

// use brings up exactly these of the client's access links and routes through the active
// one. It must run in the client's namespace.
func (l *Lab) use(active int, up []bool) error {
	for k, is := range l.upLinks {
		if is != up[k] {
			if err := switchAccess(k, up[k]); err != nil {
				return err
			}
			l.upLinks[k] = up[k]
		}
	}
	for k := range l.together {
		if up[k] { // the routes of a link go when it goes
			if err := (route{access: k, to: anywhere, table: tableFrom(k)}).replace(l.tcp); err != nil {
				return err
			}
		}
	}
	l.active = active
	return route{access: active, to: anywhere, from: clientAddress(active), table: unix.RT_TABLE_MAIN}.replace(l.tcp)
}

// endTogether undoes useTogether.
func (l *Lab) endTogether() error {
	for ; l.together > 0; l.together-- {
		k := l.together - 1
		if err := netlink.RuleDel(ruleFrom(k)); err != nil {
			return fmt.Errorf("stop routing by source address: %w", err)
		}
		if !l.upLinks[k] {
			continue
		}
		link, err := netlink.LinkByName(tunName(k))
		if err == nil {
			err = netlink.RouteDel(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: anywhere, Table: tableFrom(k), Scope: netlink.SCOPE_LINK})
		}
		if err != nil {
			return fmt.Errorf("remove the route of access link %s: %w", tunName(k), err)
		}
	}
	return nil
}

// tableFrom is the number of the routing table for packets from the address of access link
// k: any number that Linux does not use itself.
func tableFrom(k int) int { return 100 + k }

func ruleFrom(k int) *netlink.Rule {
	rule := netlink.NewRule()
	rule.Family, rule.Priority, rule.Table = unix.AF_INET, 100+k, tableFrom(k)
	rule.Src = ownPrefix(k)
	return rule
}

// ownPrefix is the client's address on an access link, as a prefix.
func ownPrefix(k int) *net.IPNet {
	return &net.IPNet{IP: clientAddress(k), Mask: net.CIDRMask(32, 32)}
}

// switchAccess brings the client's access link k up and gives it its address, or takes
// both away.
func switchAccess(k int, up bool) error {
	link, err := netlink.LinkByName(tunName(k))
	address := &netlink.Addr{IPNet: ownPrefix(k)}
	if err == nil && up {
		if err = netlink.LinkSetUp(link); err == nil {
			err = netlink.AddrReplace(link, address)
		}
	} else if err == nil {
		if err = netlink.AddrDel(link, address); err == nil {
			err = netlink.LinkSetDown(link)
		}
	}
	if err != nil {
		return fmt.Errorf("switch access link %s: %w", tunName(k), err)
	}
	return nil
}

// move is a moment at which the client's access links change.
type move struct {
	at       time.Duration
	handover *network.Handover // nil: a link that was lost is there again
	back     int               // that link
}

// moves returns the moves of a path in order of time. At the same moment links come back
// before others are lost, since the client may be about to use them.
func moves(path network.Path) []move {
	var list []move
	for _, h := range path.Handovers() {
		list = append(list, move{at: h.At, handover: &h})
		if h.Back > 0 {
			list = append(list, move{at: h.Back, back: h.From})
		}
	}
	slices.SortStableFunc(list, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order(), b.order()))
	})
	return list
}

func (m move) order() int {
	if m.handover == nil {
		return 0
	}
	return 1
}

// move changes the client's access links.
func (l *Lab) move(m move) error {
	up, active := slices.Clone(l.upLinks), l.active
	switch {
	case m.handover == nil:
		up[m.back] = true
	case l.together == 0:
		return l.useAccess(m.handover.To)
	default:
		active = m.handover.To
		up[m.handover.From] = m.handover.Back == 0
	}
	return l.client.Do(func() error { return l.use(active, up) })
}
