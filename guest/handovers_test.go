package guest

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/media/manager"
	"wiretime/media/transport"
	"wiretime/needtest"
	"wiretime/network"
)

// runTransfers runs transfers in a guest. It returns the folder with the captures.
func runTransfers(t *testing.T, list []transfer) ([]transferred, string) {
	t.Helper()
	var outcomes []transferred
	out := inGuest(t, transfersProgram, transfersFile, list, transferredFile, &outcomes)
	if len(outcomes) != len(list) {
		t.Fatalf("%d transfers came back, want %d", len(outcomes), len(list))
	}
	return outcomes, out
}

// twoLinks is a path of two access links of 20 Mbit/s and 20 ms, on which the client
// moves to the other after a second and back after four. With together, the link it
// leaves is lost for a second.
func twoLinks(together bool) network.Path { return twoLinksBy(time.Second, together) }

// twoLinksBy is twoLinks on another time scale.
func twoLinksBy(second time.Duration, together bool) network.Path {
	link := network.Link{Rate: 20_000_000, Delay: 20 * time.Millisecond, Queue: network.DefaultQueue(20_000_000)}
	p := network.Path{
		Name: "two", Together: together,
		Access: []network.Access{{Name: "a", Up: link, Down: link}, {Name: "b", Up: link, Down: link}},
		Events: []network.Event{{At: second, Handover: "b"}, {At: 4 * second, Handover: "a"}},
	}
	if together {
		p.Events = append(p.Events,
			network.Event{At: second, Access: "a", Outage: second, OutageDrops: true},
			network.Event{At: 4 * second, Access: "b", Outage: second, OutageDrops: true})
	}
	return p
}

// managed is a path of two radios with losses and three handovers in eight seconds, each
// of which takes away the other's link.
func managed(t *testing.T) network.Path {
	t.Helper()
	path, _, err := manager.Plan(manager.Config{
		Name: "managed", Access: manager.AccessPoints(), Rate: 20_000_000, Delay: 20 * time.Millisecond, Loss: 0.001,
		Period: time.Second, Duration: 8 * time.Second, Reconnections: 3, Together: true, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheClientMovesWhenThePathDoes records the client's addresses shortly before and after
// each change. Its own timers may be a millisecond late.
func TestTheClientMovesWhenThePathDoes(t *testing.T) {
	const first, second, both = "198.18.0.2/32 ", "198.18.1.2/32 ", "198.18.0.2/32 198.18.1.2/32 "
	const usesFirst, usesSecond = "> 198.18.0.2", "> 198.18.1.2"
	at := func(s int, more time.Duration) time.Duration { return time.Duration(s)*time.Second + more }
	const before, after = -2 * time.Millisecond, time.Millisecond
	list := []transfer{
		{Path: twoLinks(true), Looks: []time.Duration{0, at(1, before), at(1, after), at(2, before), at(2, after), at(4, before), at(4, after), at(5, before), at(5, after)}},
		{Path: twoLinks(false), Looks: []time.Duration{0, at(1, before), at(1, after), at(4, before), at(4, after), at(5, after)}},
	}
	want := [][]string{
		{both + usesFirst, both + usesFirst, second + usesSecond, second + usesSecond, both + usesSecond, both + usesSecond, first + usesFirst, first + usesFirst, both + usesFirst},
		{first + usesFirst, first + usesFirst, second + usesSecond, second + usesSecond, first + usesFirst, first + usesFirst},
	}
	outcomes, _ := runTransfers(t, list)
	for i, o := range outcomes {
		if o.Failure != "" || !reflect.DeepEqual(o.Addresses, want[i]) {
			t.Errorf("together: %v: %s, the client has\n%q, want\n%q", list[i].Path.Together, o.Failure, o.Addresses, want[i])
		}
	}
}

// TestStreamsSurviveHandovers receives a file while the client moves to the other access
// link and back, with every transport that keeps its session.
func TestStreamsSurviveHandovers(t *testing.T) {
	needtest.Long(t)
	const octets = 20_000_000 // 8 s at the rate
	list := []transfer{
		{Transport: "sctp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "mptcp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "mptcp-clear", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "quic", Strategy: transport.Migrate, Path: twoLinks(false), Octets: octets},
	}
	for _, row := range []string{"sctp", "mptcp"} {
		list = append(list, transfer{Transport: row, Strategy: transport.Multihome, Path: managed(t), Octets: octets})
	}
	outcomes, out := runTransfers(t, list)
	for i, o := range outcomes {
		p := list[i]
		t.Run(p.Transport+" "+p.Path.Name, func(t *testing.T) {
			t.Logf("took %v; %+v", o.Took, o.Emulator)
			if o.Failure != "" || len(o.Log) != 1 || o.Log[0].BodyBytes != octets {
				t.Fatalf("%s; the server's log is %+v", o.Failure, o.Log)
			}
			want := p.Path.Handovers()
			if len(o.Handovers) != len(want) {
				t.Fatalf("%d handovers, want %d", len(o.Handovers), len(want))
			}
			for k, h := range want {
				if late := o.Handovers[k] - h.At; late < -early || late > mostReadings*reading {
					t.Errorf("handover %d came %v after its time", k, late)
				}
			}
			packets := readCaptureFile(t, filepath.Join(out, strconv.Itoa(i), lab.CaptureFile))
			octets := map[string]int{}
			for _, r := range packets.Records {
				if r.Inbound {
					octets[packets.Interfaces[r.Interface].Name] += r.Length
				}
			}
			for _, at := range []string{"client.0", "client.1"} {
				if octets[at] < 100_000 {
					t.Errorf("%d octets came by %s", octets[at], at)
				}
			}
		})
	}
}

// TestStreamsSurviveHandoversOnTheRealClock does the same with this machine's kernel.
func TestStreamsSurviveHandoversOnTheRealClock(t *testing.T) {
	const octets = 4_000_000 // 1.6 s at the rate
	const unit = 200 * time.Millisecond
	list := []transfer{{Transport: "quic", Strategy: transport.Migrate, Path: twoLinksBy(unit, false), Octets: octets}}
	for _, name := range []string{"sctp", "mptcp"} {
		row, err := transport.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Available(nil); err != nil {
			t.Log(err)
			continue
		}
		list = append(list, transfer{Transport: name, Strategy: transport.Multihome, Path: twoLinksBy(unit, true), Octets: octets})
	}
	config, dir := labConfig(2), t.TempDir()
	config.Virtual, config.Unblocked = false, false
	outcomes, err := transferAll(t.Context(), config, filepath.Join(dir, "ca"), dir, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		t.Logf("%s took %v; %+v", list[i].Transport, o.Took, o.Emulator)
		if o.Failure != "" || len(o.Log) != 1 || o.Log[0].BodyBytes != octets {
			t.Errorf("%s: %s; the server's log is %+v", list[i].Transport, o.Failure, o.Log)
		}
		packets := readCaptureFile(t, filepath.Join(dir, strconv.Itoa(i), lab.CaptureFile))
		for _, at := range []string{"client.0", "client.1"} {
			if !slices.ContainsFunc(packets.Records, func(r capture.PacketRecord) bool { return r.Inbound && packets.Interfaces[r.Interface].Name == at }) {
				t.Errorf("%s: nothing came by %s", list[i].Transport, at)
			}
		}
	}
}

// TestATransferLeavesTheLabQuiet makes the client leave in the middle of a file, from an
// address that disappears. Packets that the server's kernel still sends to it must not show
// up in the lab's next transfer.
func TestATransferLeavesTheLabQuiet(t *testing.T) {
	quiet := transfer{Path: oneLink(network.Link{Delay: time.Millisecond}), Looks: []time.Duration{5 * time.Second}}
	var list []transfer
	for _, row := range transport.Names() {
		list = append(list, transfer{Transport: row, Strategy: transport.Reconnect, Path: twoLinks(false), Octets: 20_000_000}, quiet)
	}
	outcomes, out := runTransfers(t, list)
	for i, o := range outcomes {
		if list[i].Transport != "" {
			if o.Failure == "" {
				t.Errorf("%s: nothing was left to say", list[i].Transport)
			}
			continue
		}
		packets := readCaptureFile(t, filepath.Join(out, strconv.Itoa(i), lab.CaptureFile))
		for _, r := range packets.Records {
			h, err := capture.Dissect(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			const icmp = 1 // port unreachable
			if h.Flow.Protocol != icmp && h.Flow.Destination.Port() != 9 {
				t.Errorf("after %s, %v after the first packet: %v", list[i-1].Transport, time.Duration(r.Time-o.Emulator.Epoch), h.Flow)
			}
		}
	}
}

// TestHandoversAreReproduced runs everything twice.
func TestHandoversAreReproduced(t *testing.T) {
	list := []transfer{
		{Transport: "sctp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: 10_000_000},
		{Transport: "mptcp-clear", Strategy: transport.Multihome, Path: twoLinks(true), Octets: 10_000_000},
		{Transport: "quic", Strategy: transport.Migrate, Path: twoLinks(false), Octets: 10_000_000},
	}
	first, _ := runTransfers(t, list)
	second, _ := runTransfers(t, list)
	for i := range list {
		if !reflect.DeepEqual(first[i], second[i]) {
			t.Errorf("%s: %+v, and again %+v", list[i].Transport, first[i], second[i])
		}
	}
}
