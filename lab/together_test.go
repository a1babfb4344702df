package lab

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"wiretime/network"
)

// TestAccessLinksTogether asks, over a path whose links carry together, from the address
// of each and from none: what leaves from the address of a link takes that link, also
// once the client uses the other; a link that was lost is there again in the end.
func TestAccessLinksTogether(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	echo(t, l)
	const handover, outage = 200 * time.Millisecond, 200 * time.Millisecond
	link := network.Link{Rate: 10_000_000, Delay: time.Millisecond}
	lost := network.Event{At: handover, Access: "wlan", Outage: outage, OutageDrops: true}
	path := network.Path{
		Name: "two", Together: true,
		Access: []network.Access{{Name: "wlan", Up: link, Down: link}, {Name: "lte", Up: link, Down: link}},
		Events: []network.Event{{At: handover, Handover: "lte"}, lost},
	}
	first, second := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.1.2")
	do := func(ctx context.Context, p Progress) error {
		if got := askFrom(t, l, netip.Addr{}); got != first { // and the path's time begins
			t.Errorf("at first it is %v that asks, want %v", got, first)
		}
		if got := askFrom(t, l, second); got != second {
			t.Errorf("from %v it is %v that asks", second, got)
		}
		want := network.Handover{At: handover, From: 0, To: 1, Back: handover + outage}
		if h := <-p.Handovers; h != want {
			t.Errorf("the handover is %+v, want %+v", h, want)
		}
		for _, from := range []netip.Addr{second, {}} {
			if got := askFrom(t, l, from); got != second {
				t.Errorf("after the handover it is %v that asks from %v, want %v", got, from, second)
			}
		}
		for askFrom(t, l, first) != first { // until it is back
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		for _, from := range []netip.Addr{second, {}} {
			if got := askFrom(t, l, from); got != second {
				t.Errorf("with both links again it is %v that asks from %v, want %v", got, from, second)
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hosts, err := l.Prepare(path, renoTen)
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close()
	if want := []netip.Addr{first, second}; !reflect.DeepEqual(hosts.Locals, want) {
		t.Errorf("the client's addresses are %v, want %v", hosts.Locals, want)
	}
	r, err := hosts.Run(ctx, Task{Do: do})
	if err == nil {
		err = errors.Join(r.LoadError, hosts.SaveCapture(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	wayOfEach := map[string]string{"198.18.0.2": "0", "198.18.1.2": "1"}
	packets := readCapture(t, dir)
	for _, p := range packets.Records {
		source := net.IP(p.Data[12:16]).String()
		at := packets.Interfaces[p.Interface].Name
		if way := wayOfEach[source]; way != "" && at[len(at)-1:] != way {
			t.Errorf("a packet from %s is at %s", source, at)
		}
		if at == "client.0" && !p.Inbound && p.Comment == "" {
			if after := time.Duration(p.Time - r.Emulator.Epoch); after >= handover && after < handover+outage {
				t.Errorf("a packet passes the lost link %v after the first", after)
			}
		}
	}
}

// TestALabBeginsOnItsFirstAccessLink looks before any load, when browsers are started.
func TestALabBeginsOnItsFirstAccessLink(t *testing.T) {
	l, err := New(t.Context(), linuxBuffers)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if up := addresses(t, l); !reflect.DeepEqual(up, []string{"198.18.0.2"}) {
		t.Errorf("the client begins with the addresses %v", up)
	}
}

// TestTogetherEnds puts the client on a path whose links carry together, and then on one
// of which they do not: nothing is left of the first, be one of its links lost or not.
func TestTogetherEnds(t *testing.T) {
	l := newLab(t)
	two := network.Path{Name: "two", Together: true, Access: []network.Access{{Name: "a"}, {Name: "b"}}}
	alone := two
	alone.Together = false
	lost := network.Handover{To: 1, Back: time.Second}
	for _, happens := range [][]move{
		{}, {{handover: &lost}}, {{handover: &lost}, {back: 0}}, {{handover: &network.Handover{To: 1}}},
	} {
		if err := l.associate(two); err != nil {
			t.Fatal(err)
		}
		for _, m := range happens {
			if err := l.move(m); err != nil {
				t.Fatal(err)
			}
		}
		if n := rules(t, l); n < 3 {
			t.Errorf("%d rules and routes by source address, want two rules and a route at least", n)
		}
		if err := l.associate(alone); err != nil {
			t.Fatal(err)
		}
		if up := addresses(t, l); !reflect.DeepEqual(up, []string{"198.18.0.2"}) {
			t.Errorf("after %v the client has %v", happens, up)
		}
		if n := rules(t, l); n != 0 {
			t.Errorf("after %v there are still %d rules and routes by source address", happens, n)
		}
	}
}

// askFrom sends a datagram to echo from an address, or from none, and returns the one
// that echo has seen: none if the client has no such address, or no answer comes.
func askFrom(t *testing.T, l *Lab, from netip.Addr) netip.Addr {
	t.Helper()
	var dialer net.Dialer
	if from.IsValid() {
		dialer.LocalAddr = &net.UDPAddr{IP: from.AsSlice()}
	}
	var conn net.Conn
	err := l.client.Do(func() (err error) {
		conn, err = dialer.DialContext(t.Context(), "udp4", ServerAddress(0).String()+":7")
		return err
	})
	if err != nil {
		return netip.Addr{} // it is not the client's, or there is no way
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("?")); err != nil {
		return netip.Addr{}
	}
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if err != nil {
		return netip.Addr{}
	}
	return netip.MustParseAddrPort(string(buffer[:n])).Addr()
}

// addresses are those that the client has on access links.
func addresses(t *testing.T, l *Lab) (list []string) {
	t.Helper()
	err := l.client.Do(func() error {
		for i := range l.upLinks {
			link, err := netlink.LinkByName(tunName(i))
			if err != nil {
				return err
			}
			of, err := netlink.AddrList(link, unix.AF_INET)
			if err != nil {
				return err
			}
			for _, a := range of {
				list = append(list, a.IP.String())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// rules counts what the client has of routing by source address.
func rules(t *testing.T, l *Lab) (n int) {
	t.Helper()
	err := l.client.Do(func() error {
		list, err := netlink.RuleList(unix.AF_INET)
		for _, r := range list {
			if r.Src != nil {
				n++
			}
		}
		for k := range l.upLinks {
			routes, failed := netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Table: tableFrom(k)}, netlink.RT_FILTER_TABLE)
			if failed != nil {
				return failed
			}
			n += len(routes)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMoves orders what happens to the access links of a path.
func TestMoves(t *testing.T) {
	const ms = time.Millisecond
	lost := func(access string, at time.Duration) network.Event {
		return network.Event{At: at, Access: access, Outage: 5 * ms, OutageDrops: true}
	}
	path := network.Path{
		Name: "two", Together: true, Access: []network.Access{{Name: "a"}, {Name: "b"}},
		Events: []network.Event{{At: ms, Handover: "b"}, lost("a", ms), {At: 6 * ms, Handover: "a"}, lost("b", 6*ms), {At: 20 * ms, Handover: "b"}},
	}
	type seen struct {
		at   time.Duration
		to   int // by a handover, or -1
		back int // or -1
	}
	var got []seen
	for _, m := range moves(path) {
		if m.handover == nil {
			got = append(got, seen{m.at, -1, m.back})
		} else {
			got = append(got, seen{m.at, m.handover.To, -1})
		}
	}
	want := []seen{{ms, 1, -1}, {6 * ms, -1, 0}, {6 * ms, 0, -1}, {11 * ms, -1, 1}, {20 * ms, 1, -1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
