package guest

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/network"
)

// paths returns the paths whose packets are checked one by one, each for a different
// feature.
func paths() []network.Path {
	cable := network.Link{Rate: 10_000_000, Delay: 20 * time.Millisecond, Queue: network.Queue{Bytes: 64_000}}
	with := func(name string, change func(*network.Link), events ...network.Event) network.Path {
		l := cable
		change(&l)
		return network.Path{Name: name, Access: []network.Access{{Name: "access", Up: l, Down: l}}, Events: events}
	}
	lte := network.Link{Rate: 3_000_000, Delay: 40 * time.Millisecond, Queue: network.Queue{Packets: 30}}
	return []network.Path{
		with("nothing", func(l *network.Link) { *l = network.Link{} }),
		with("rate", func(*network.Link) {}),
		with("slow", func(l *network.Link) { l.Rate, l.Delay = 100_000, 250*time.Millisecond }),
		with("short queue", func(l *network.Link) { l.Queue = network.Queue{Packets: 4} }),
		with("loss", func(l *network.Link) { l.Loss.Rate = 0.02 }),
		with("bursts", func(l *network.Link) {
			l.Loss.GilbertElliott = &network.GilbertElliott{P: 0.02, R: 0.3, BadLoss: 0.5}
		}),
		with("jitter", func(l *network.Link) { l.Jitter = 3 * time.Millisecond }),
		with("jitter wider than the delay", func(l *network.Link) { l.Delay, l.Jitter = time.Millisecond, 3*time.Millisecond }),
		with("jitter and reordering", func(l *network.Link) { l.Jitter, l.Reorder = 3*time.Millisecond, true }),
		with("trace", func(l *network.Link) {
			l.Rate, l.Trace = 0, &network.Trace{Name: "uneven", Opportunities: []int64{1, 2, 2, 2, 7, 11, 30, 31}}
		}),
		with("events", func(*network.Link) {},
			network.Event{At: 100 * time.Millisecond, Rate: new(network.BitRate(1_000_000))},
			network.Event{At: 150 * time.Millisecond, Outage: 70 * time.Millisecond},
			network.Event{At: 300 * time.Millisecond, Direction: "down", Outage: 20 * time.Millisecond, OutageDrops: true},
			network.Event{At: 400 * time.Millisecond, Rate: new(network.BitRate(20_000_000))}),
		{
			Name: "handover", Access: []network.Access{{Name: "wlan", Up: cable, Down: cable}, {Name: "lte", Up: lte, Down: lte}},
			Events: []network.Event{{At: 160 * time.Millisecond, Handover: "lte"}, {At: 400 * time.Millisecond, Handover: "wlan"}},
		},
		{
			Name: "far", Access: []network.Access{{Name: "access", Up: cable, Down: cable}},
			Far: map[netip.Addr]time.Duration{netip.MustParseAddr("198.19.1.1"): 33*time.Millisecond + 333*time.Microsecond},
		},
	}
}

// TestEveryPacketGoesTheWayOfTheArithmetic loads a page over each path and by each
// protocol, replays the sent packets through network.Path, and compares packet by packet:
// the fates must agree, and departures must be late by no more than some readings of the
// clock.
func TestEveryPacketGoesTheWayOfTheArithmetic(t *testing.T) {
	b := Batch{Station: stationConfig(2)}
	protocols := []string{"http/1.1", "https/1.1", "h2", "h3"}
	for i, p := range paths() {
		for k, protocol := range protocols {
			o := order(protocol, p, uint64(10*i+k))
			if len(p.Access) > 1 {
				o.Timeout = 5 * time.Second // a connection does not survive a handover
			}
			b.Loads = append(b.Loads, Load{ID: "over-" + p.Name + "-" + name(protocol), Site: small, Order: o})
		}
	}
	loads := run(t, host(t), machine(1), b)
	for i, p := range paths() {
		t.Run(p.Name, func(t *testing.T) {
			var seen tally
			for k, protocol := range protocols {
				l := loads["over-"+p.Name+"-"+name(protocol)]
				if l.record.Common().LoadError != nil && p.Name != "handover" {
					t.Error(l.record.Common().LoadError)
				}
				seen.add(replay(t, p, uint64(10*i+k), l.packets(t)))
			}
			t.Log(seen)
		})
	}
}

// TestEveryPingGoesTheWayOfTheArithmetic does the same with pings, which continue after a
// handover and whose answers can be due at once.
func TestEveryPingGoesTheWayOfTheArithmetic(t *testing.T) {
	for i, p := range paths() {
		if !slices.Contains([]string{"handover", "events", "jitter and reordering"}, p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			train := pings{Path: p, Seed: uint64(i), Count: 600, Size: 400, Spacing: time.Millisecond, Wait: time.Second}
			_, packets := train.virtually(t)
			seen := replay(t, p, train.Seed, packets)
			if t.Log(seen); p.Name == "handover" && (seen.fates[network.DroppedHandover] == 0 || seen.at["client.1"] == 0) {
				t.Error("no packet met the handover")
			}
		})
	}
}

// tally counts what happened to a capture's packets.
type tally struct {
	fates    map[network.Fate]int
	at       map[string]int // by the interface they were sent at
	held     int            // on the path at the end of the capture
	latest   time.Duration
	punctual int // not late by even a nanosecond
}

func (t tally) String() string {
	return fmt.Sprintf("fates %v, sent at %v, %d on the path at the end, at most %v late, %d not late at all", t.fates, t.at, t.held, t.latest, t.punctual)
}

func (t *tally) add(o tally) {
	if t.fates == nil {
		*t = o
		return
	}
	for f, n := range o.fates {
		t.fates[f] += n
	}
	for at, n := range o.at {
		t.at[at] += n
	}
	t.held += o.held
	t.latest = max(t.latest, o.latest)
	t.punctual += o.punctual
}

// lateness limits how late a packet may leave. If the path's delay can be zero, a packet
// may be due when it is sent, before the emulator has been notified, while programs read
// the clock. Otherwise only the emulator's own few readings pass.
func lateness(p network.Path) time.Duration {
	if down := p.Access[0].Down; down.Delay <= down.Jitter {
		return 4 * charge
	}
	return 8 * reading
}

// replay sends the packets of a capture through a path and compares the results.
func replay(t *testing.T, p network.Path, seed uint64, packets *capture.Packets) tally {
	t.Helper()
	emulation, err := p.Start(seed)
	if err != nil {
		t.Fatal(err)
	}
	received := map[uint64]capture.PacketRecord{}
	for _, r := range packets.Records {
		if r.Inbound {
			received[r.ID] = r
		}
	}
	if len(received) == 0 {
		t.Fatal("the capture has no packet that was received")
	}
	epoch, end := packets.Records[0].Time, packets.Records[len(packets.Records)-1].Time
	seen := tally{fates: map[network.Fate]int{}, at: map[string]int{}}
	number := uint64(0)
	for _, r := range packets.Records {
		if r.Inbound {
			continue
		}
		if number++; r.ID != number {
			t.Fatalf("packet %d is the %d. that was sent", r.ID, number)
		}
		seen.at[packets.Interfaces[r.Interface].Name]++
		direction := network.Direction(r.Interface % 2) // the client's end of each access link comes first
		due, fate := emulation.Arrive(r.Interface/2, direction, r.Time-epoch, r.Length)
		due += emulation.Far(serverOf(t, direction, r.Data))
		seen.fates[fate]++
		got, arrived := received[r.ID]
		if was := fateIn(r); was != fate || arrived && fate != network.Delivered {
			t.Fatalf("packet %d, sent %v after the first: %s; the path says %s", r.ID, time.Duration(r.Time-epoch), was, fate)
		}
		if fate != network.Delivered {
			continue
		}
		if !arrived {
			if seen.held++; epoch+due <= end {
				t.Errorf("packet %d, due %v after the first, never left", r.ID, time.Duration(due))
			}
			continue
		}
		late := time.Duration(got.Time - epoch - due)
		if late < 0 || late > lateness(p) || int64(late) != got.Lateness {
			t.Errorf("packet %d left %v after it was due, the capture says %v; want 0 to %v", r.ID, late, time.Duration(got.Lateness), lateness(p))
		}
		if got.Interface != r.Interface^1 || string(got.Data) != string(r.Data) {
			t.Errorf("packet %d came out elsewhere, or as another", r.ID)
		}
		if seen.latest = max(seen.latest, late); late == 0 {
			seen.punctual++
		}
	}
	return seen
}

// serverOf returns the server's address in a packet.
func serverOf(t *testing.T, d network.Direction, packet []byte) netip.Addr {
	t.Helper()
	h, err := capture.Dissect(packet)
	if err != nil {
		t.Fatal(err)
	}
	if d == network.Up {
		return h.Flow.Destination.Addr()
	}
	return h.Flow.Source.Addr()
}

// fateIn returns the fate of a sent packet according to the capture.
func fateIn(r capture.PacketRecord) network.Fate {
	for _, f := range []network.Fate{network.DroppedHandover, network.LostRandom, network.DroppedQueue, network.DroppedOutage} {
		if r.Comment == capture.DroppedPrefix+f.String() {
			return f
		}
	}
	return network.Delivered
}
