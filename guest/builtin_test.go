package guest

import (
	"math"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
	"wiretime/protocol"
	"wiretime/workload/pageload"
)

// builtinOrder returns an order for a load by the built-in loader.
func builtinOrder(row, visit string, path network.Path, seed uint64) *pageload.Order {
	o := order(row, path, seed)
	o.Loader, o.Visit = pageload.Builtin, visit
	return o
}

// TestBuiltinComesBackInWholeRoundTrips checks the built-in loader's visits over a path
// with 200 ms of round trip and no rate: the first byte arrives after the remaining round
// trips and some readings of the clock. A resumed session of TLS 1.3 over TCP saves none,
// early data over HTTP/3 saves one, an open connection all but the request's own.
func TestBuiltinComesBackInWholeRoundTrips(t *testing.T) {
	const rtt = 200 * time.Millisecond
	type visit struct {
		protocol, word string
		roundTrips     int
		resumed, early bool
	}
	var tests []visit
	for _, row := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		whole := 3 // TCP's, TLS's, the request's own
		if row == "h3" {
			whole = 2 // QUIC's, the request's own
			tests = append(tests, visit{row, "0rtt", 1, true, true})
		}
		tests = append(tests, visit{row, "cold", whole, false, false}, visit{row, "resumed", whole, true, false},
			visit{row, "connected", 1, false, false}, visit{row, "cached", whole, true, false},
			visit{row, "again", 1, false, false}, visit{row, "reload", 1, false, false})
	}
	path := oneLink(network.Link{Delay: rtt / 2})
	b := Batch{Station: stationConfig(1)}
	for _, test := range tests {
		b.Loads = append(b.Loads, Load{ID: test.word + "-" + name(test.protocol), Site: tiny, Order: builtinOrder(test.protocol, test.word, path, 1)})
	}
	loads := run(t, host(t), machine(1), b)
	for _, test := range tests {
		t.Run(name(test.protocol)+" "+test.word, func(t *testing.T) {
			r := loads[test.word+"-"+name(test.protocol)].record.(*pageload.Record)
			if r.LoadError != nil {
				t.Fatal(r.LoadError)
			}
			first, want := time.Duration(math.Round(r.Timing.TTFB*float64(time.Millisecond))), time.Duration(test.roundTrips)*rtt
			over := first - want
			if over < 0 || over > mostReadings*reading || over%reading != 0 {
				t.Errorf("the first byte came after %v, want %v and no more than %d readings of the clock of %v", first, want, mostReadings, reading)
			}
			if e := r.Server[0]; e.Resumed != test.resumed || e.EarlyData != test.early {
				t.Errorf("the server's log says of the document resumed: %v, early: %v; want %v, %v", e.Resumed, e.EarlyData, test.resumed, test.early)
			}
			t.Logf("the first byte came after %d round trips and %d readings of the clock", test.roundTrips, over/reading)
		})
	}
}

// distant is a path on which the loader opens second connections and packets are lost.
var distant = oneLink(network.Link{Rate: 5_000_000, Delay: 150 * time.Millisecond, Loss: network.Loss{Rate: 0.005}, Queue: network.Queue{Bytes: 128_000}})

// everyBuiltin is a batch of loads by the built-in loader over lossy paths: the small page
// and one of many parts over each protocol, and visits other than cold.
func everyBuiltin(seed uint64) Batch {
	b := Batch{Station: stationConfig(1)}
	add := func(row, visit string) {
		b.Loads = append(b.Loads, Load{ID: visit + "-by-" + name(row), Site: small, Order: builtinOrder(row, visit, lossy, seed+uint64(len(b.Loads)))})
	}
	for _, row := range protocol.Names() {
		add(row, "cold")
		b.Loads = append(b.Loads, Load{ID: "many-by-" + name(row), Site: many, Order: builtinOrder(row, "cold", distant, seed+uint64(len(b.Loads)))})
	}
	for _, row := range []string{"https/1.1", "spdy/3.1", "h2", "h3"} {
		for _, visit := range capture.Visits()[1:] {
			if visit != "0rtt" || row == "h3" {
				add(row, visit)
			}
		}
	}
	return b
}

// TestBuiltinSameSeedSameNanoseconds repeats TestSameSeedSameNanoseconds for the built-in
// loader and its visits.
func TestBuiltinSameSeedSameNanoseconds(t *testing.T) {
	first := run(t, host(t), machine(1), everyBuiltin(1))
	other, err := newHost(built(t))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for id, again := range run(t, other, machine(1), everyBuiltin(1)) {
		if where := difference(t, first[id], again); where != "" {
			t.Errorf("load %s differs: %s", id, where)
		}
		if err := again.record.Common().LoadError; err != nil {
			t.Errorf("load %s: %v", id, err)
		}
	}
	for id, again := range run(t, host(t), machine(1), everyBuiltin(100)) {
		if difference(t, first[id], again) == "" {
			t.Errorf("load %s is the same with another seed of its path", id)
		}
	}
}

// TestSecondConnections compares the built-in loader's second connections with Chromium's,
// over a path with 400 ms of round trip and the DNS server behind it: SYNs 400 and 650 ms
// after the first packet, and in the clear 400 and 500 ms after it.
func TestSecondConnections(t *testing.T) {
	const rtt = 400 * time.Millisecond
	tests := []struct {
		protocol string
		syns     []time.Duration
	}{
		{"http/1.1", []time.Duration{rtt, 500 * time.Millisecond}},
		{"https/1.1", []time.Duration{rtt, 650 * time.Millisecond}},
		{"h2", []time.Duration{rtt, 650 * time.Millisecond}},
		{"h3", nil},
	}
	b := Batch{Station: stationConfig(1)}
	b.Station.Lab.InstantDNS = false
	for _, test := range tests {
		b.Loads = append(b.Loads, Load{ID: "by-" + name(test.protocol), Site: tiny, Order: builtinOrder(test.protocol, "cold", oneLink(network.Link{Delay: rtt / 2}), 1)})
	}
	loads := run(t, host(t), machine(1), b)
	for _, test := range tests {
		l := loads["by-"+name(test.protocol)]
		if l.record.Common().LoadError != nil {
			t.Fatal(l.record.Common().LoadError)
		}
		packets := l.packets(t)
		var syns []time.Duration
		for _, p := range packets.Records {
			h, err := capture.Dissect(p.Data)
			if err != nil {
				t.Fatal(err)
			}
			if !p.Inbound && h.Flags.Has(capture.SYN) && !h.Flags.Has(capture.ACK) {
				syns = append(syns, time.Duration(p.Time-packets.Records[0].Time))
			}
		}
		same := slices.EqualFunc(syns, test.syns, func(got, want time.Duration) bool { return got >= want && got < want+time.Millisecond })
		if !same {
			t.Errorf("%s: SYNs %v after the first packet, want %v and less than a millisecond more", test.protocol, syns, test.syns)
		}
		t.Logf("%s: SYNs after %v", test.protocol, syns)
	}
}
