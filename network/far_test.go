package network

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"
)

var near, far = netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")

// distant returns a path of 1 Mbit/s and 10 ms one-way, with servers at these
// distances beyond it.
func distant(servers map[netip.Addr]time.Duration) Path {
	p := oneLink(Link{Rate: mbit, Delay: 10 * time.Millisecond})
	p.Far = servers
	return p
}

// TestFarServersArePastTheLink sends packets of two servers over one link, on which each
// takes 12 ms. They leave it in the order of their arrival, and packets to or from the
// far server take longer by exactly its distance.
func TestFarServersArePastTheLink(t *testing.T) {
	const distance = 40*time.Millisecond + 1
	p := distant(map[netip.Addr]time.Duration{far: distance})
	for _, d := range []Direction{Up, Down} {
		e := start(t, p, 1)
		for i, server := range []netip.Addr{far, near, far, far, near} {
			due, fate := e.Arrive(0, d, 0, 1500)
			want := time.Duration(i+1)*12*time.Millisecond + 10*time.Millisecond
			if server == far {
				want += distance
			}
			if got := time.Duration(due + e.Far(server)); got != want || fate != Delivered {
				t.Errorf("%v, packet %d of %v: due %v, %v; want %v", d, i, server, got, fate, want)
			}
		}
		if got, want := e.LeastDelay(), int64(10*time.Millisecond); got != want {
			t.Errorf("least delay %d, want %d: the near server's", got, want)
		}
	}
}

// TestFarServersMakeAnotherPath checks that the written form of a path tells far servers
// apart, in whatever order they are named.
func TestFarServersMakeAnotherPath(t *testing.T) {
	text := func(servers map[netip.Addr]time.Duration) string {
		b, err := json.Marshal(distant(servers))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	none := text(nil)
	if got := text(map[netip.Addr]time.Duration{}); got != none {
		t.Errorf("no server far away: %s, want %s", got, none)
	}
	one := text(map[netip.Addr]time.Duration{far: 5, near: 0})
	if again := text(map[netip.Addr]time.Duration{near: 0, far: 5}); again != one {
		t.Errorf("%s and %s are the same path", one, again)
	}
	if other := text(map[netip.Addr]time.Duration{far: 6, near: 0}); other == one || one == none {
		t.Errorf("want three different paths: %s, %s and %s", none, one, other)
	}
}
