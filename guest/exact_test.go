package guest

import (
	"math"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
	"wiretime/workload/pageload"
)

// Virtual time advances slightly with readings of the clock, so that a program that polls
// the clock makes progress. Only every sixteenth reading costs time, for all sixteen. This
// is the excess that programs measure over the path's arithmetic.
const (
	reading = 256 * time.Nanosecond
	charge  = 16 * reading
)

// TestPingTakesWhatThePathTakes pings over a path with a round trip of 100 ms. Without a
// rate that is all it takes; with one, each direction adds the packet's transmission time,
// for example 120 ms for 1500 bytes at 100 kbit/s. On the wire this holds to the
// microsecond, and for the pinging program too, except for pings during which clock
// readings are charged.
func TestPingTakesWhatThePathTakes(t *testing.T) {
	tests := []struct {
		name string
		rate network.BitRate
		size int
		want time.Duration
	}{
		{"no rate", 0, 84, 100 * time.Millisecond},
		{"1500 bytes at 100 kbit/s", 100_000, 1500, (100 + 2*120) * time.Millisecond},
		{"100 bytes at 10 Mbit/s", 10_000_000, 100, 100*time.Millisecond + 2*80*time.Microsecond},
		{"84 bytes at 7 Mbit/s", 7_000_000, 84, 100*time.Millisecond + 2*96*time.Microsecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := pings{Path: oneLink(network.Link{Rate: test.rate, Delay: 50 * time.Millisecond}), Seed: 1,
				Count: 10, Size: test.size, Spacing: time.Second, Wait: time.Second}
			times, packets := p.virtually(t)
			for i, took := range times {
				if took < test.want || took > test.want+charge+time.Microsecond {
					t.Errorf("ping %d took %v, want %v and no more than %v more", i, took, test.want, charge+time.Microsecond)
				}
			}
			slices.Sort(times)
			// How many are charged depends on the number of readings per ping, which may be a
			// multiple of sixteen.
			if times[0] > test.want+time.Microsecond {
				t.Errorf("the quickest ping took %v, want %v and no more than a microsecond more", times[0], test.want)
			}
			t.Logf("pings take %v to %v more", times[0]-test.want, times[len(times)-1]-test.want)
			onTheWire(t, packets, test.want)
		})
	}
}

// onTheWire checks how long packets take one way, and when answers follow their requests at
// the client's end of the wire.
func onTheWire(t *testing.T, packets *capture.Packets, rtt time.Duration) {
	t.Helper()
	sent := map[uint64]int64{}
	var asked int64
	for _, r := range packets.Records {
		if !r.Inbound {
			sent[r.ID] = r.Time
		} else if took := time.Duration(r.Time - sent[r.ID]); took < rtt/2 || took > rtt/2+time.Microsecond {
			t.Errorf("packet %d took %v one way, want %v and no more than a microsecond more", r.ID, took, rtt/2)
		}
		if at := packets.Interfaces[r.Interface].Name; at == "client.0" && !r.Inbound {
			asked = r.Time
		} else if took := time.Duration(r.Time - asked); at == "client.0" && (took < rtt || took > rtt+time.Microsecond) {
			t.Errorf("the answer in packet %d came %v after the request, want %v and no more than a microsecond more", r.ID, took, rtt)
		}
	}
	if len(sent) != 20 {
		t.Errorf("%d packets were sent, want 10 requests and 10 answers", len(sent))
	}
}

// TestHandshakesTakeWholeRoundTrips loads a small page over a path with 200 ms of round
// trip and no rate: the first byte arrives after the round trips of the handshakes (one for
// TCP, one for TLS 1.3, one for QUIC with TLS 1.3) and that of the request. The excess is
// only readings of the clock, most of them by Go's crypto, scheduler and QUIC.
// TestBuiltinComesBackInWholeRoundTrips covers visits other than cold.
func TestHandshakesTakeWholeRoundTrips(t *testing.T) {
	const rtt = 200 * time.Millisecond
	const mostReadings = 300
	tests := []struct {
		protocol   string
		roundTrips int
	}{
		{"http/1.1", 2},
		{"https/1.1", 3},
		{"spdy/2", 3},
		{"spdy/3", 3},
		{"spdy/3.1", 3},
		{"h2", 3},
		{"h3", 2},
	}
	path := oneLink(network.Link{Delay: rtt / 2})
	b := Batch{Station: stationConfig(1)}
	for _, test := range tests {
		b.Loads = append(b.Loads, Load{ID: "at-" + name(test.protocol), Site: tiny, Order: order(test.protocol, path, 1)})
	}
	// With the DNS server behind the path there is one more round trip.
	far := b
	far.Station.Lab.InstantDNS = false
	near, behind := run(t, host(t), machine(1), b), run(t, host(t), machine(1), far)
	for _, test := range tests {
		t.Run(test.protocol, func(t *testing.T) {
			want := time.Duration(test.roundTrips) * rtt
			for _, dns := range []struct {
				name  string
				loads map[string]done
				want  time.Duration
			}{{"instant DNS", near, want}, {"DNS behind the path", behind, want + rtt}} {
				r := dns.loads["at-"+name(test.protocol)].record.(*pageload.Record)
				if r.LoadError != nil {
					t.Fatal(r.LoadError)
				}
				first := time.Duration(math.Round(r.Timing.TTFB * float64(time.Millisecond)))
				over := first - dns.want
				if over < 0 || over > mostReadings*reading || over%reading != 0 {
					t.Errorf("%s: the first byte came after %v, want %v and no more than %d readings of the clock of %v",
						dns.name, first, dns.want, mostReadings, reading)
				}
				t.Logf("%s: the first byte came after %d round trips and %v: %d readings of the clock", dns.name, dns.want/rtt, over, over/reading)
			}
		})
	}
}
