package study

import (
	"testing"
	"time"

	"wiretime/network"
)

func TestQuantity(t *testing.T) {
	for word, want := range map[string]float64{"10": 10, "64KiB": 65536, "64 kB": 64000, "0.5ms": 0.5, "2s": 2000, "1%": 1, "off": -1, "10furlongs": -1, "2-100": -1, "": -1} {
		got, ok := quantity(word)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %v, want %v", word, got, want)
		}
	}
}

func pageOn(site string, rate network.BitRate, rtt time.Duration, loss float64) Cell {
	l := network.Link{Rate: rate, Delay: rtt / 2, Loss: network.Loss{Rate: loss}, Queue: network.DefaultQueue(rate)}
	return NewCell(Pages(), map[Axis]string{AxisSite: site, AxisInitCwnd: "32"}, network.Path{Name: site, Access: []network.Access{{Up: l, Down: l}}})
}

func TestNumbersOfCells(t *testing.T) {
	page := pageOn("objects@40x20kB", 1_024_000, 50*time.Millisecond, 0.01)
	stream := NewCell(Streams(), map[Axis]string{AxisLinkDelay: "50ms", AxisLoss: "1.5%", AxisReconnections: "3"}, network.Path{})
	for _, test := range []struct {
		id   string
		cell Cell
		want float64
		said string
	}{
		{"rate", page, 1.024, "rate 1.024 Mbit/s"}, {"rtt", page, 50, "RTT 50 ms"}, {"loss", page, 1, "loss 1 %"},
		{"objects", page, 40, "number of objects 40"}, {"pages", page, -1, ""}, {"initcwnd", page, 32, "initcwnd 32"},
		{"hosts", pageOn("world-flags@8", 1, 0, 0), 8, "number of hosts 8"}, {"hosts", pageOn("world-flags", 1, 0, 0), 1, "number of hosts 1"},
		{"pages", pageOn("search-full@10", 1, 0, 0), 10, "number of pages 10"},
		{"link_delay", stream, 50, "link delay 50 ms"}, {"loss", stream, 1.5, "loss 1.5 %"}, {"reconnections", stream, 3, "number of reconnections 3"},
	} {
		n, ok := test.cell.Workload.Number(test.id)
		if !ok {
			t.Fatalf("%s have no number %s", test.cell.Workload.Name, test.id)
		}
		got, has := n.Of(test.cell)
		if !has {
			got = -1
		}
		if got != test.want || n.Say(test.cell) != test.said {
			t.Errorf("%s of %s is %v, said %q; want %v, said %q", test.id, test.cell.Key(), got, n.Say(test.cell), test.want, test.said)
		}
	}
}

func TestAMovingPathHasNoNumbers(t *testing.T) {
	c := pageOn("page", 1_000_000, 0, 0)
	c.Network.Events = []network.Event{{}}
	for _, id := range []string{"rate", "rtt", "loss"} {
		n, _ := Pages().Number(id)
		if v, ok := n.Of(c); ok {
			t.Errorf("%s is %v", id, v)
		}
	}
}

func TestBesideTellsWhatElseDiffers(t *testing.T) {
	number := func(id string) Number {
		n, _ := Pages().Number(id)
		return n
	}
	a, slow, far := pageOn("page", 1e6, 50*time.Millisecond, 0), pageOn("page", 1e5, 50*time.Millisecond, 0), pageOn("page", 1e5, 90*time.Millisecond, 0)
	for _, test := range []struct {
		name    string
		x, y    Cell
		numbers []Number
		equal   bool
	}{
		{"another rate, and its default queue", a, slow, []Number{number("rate")}, true},
		{"another rate beside the RTT", a, slow, []Number{number("rtt")}, false},
		{"another RTT and rate", a, far, []Number{number("rate"), number("rtt")}, true},
		{"another RTT beside the rate", slow, far, []Number{number("rate")}, false},
		{"sites of one family", pageOn("search@1", 1, 0, 0), pageOn("search@9", 1, 0, 0), []Number{number("pages")}, true},
		{"sites of two families", pageOn("search@1", 1, 0, 0), pageOn("search-full@1", 1, 0, 0), []Number{number("pages")}, false},
		{"images of two sizes", pageOn("objects@1x9kB", 1, 0, 0), pageOn("objects@2x8kB", 1, 0, 0), []Number{number("objects")}, false},
		{"all that the axis says", a, slow, []Number{number("initcwnd")}, true},
	} {
		if equal := Beside(test.x, test.numbers...) == Beside(test.y, test.numbers...); equal != test.equal {
			t.Errorf("%s: equal is %v, want %v", test.name, equal, test.equal)
		}
	}
}
