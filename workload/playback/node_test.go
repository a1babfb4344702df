package playback

import (
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab/labtest"
	"wiretime/media/player"
	"wiretime/media/transport"
	"wiretime/metric"
	"wiretime/network"
)

// broken returns which rules a stream breaks.
func broken(t *testing.T, r *Record, dir string) (list []string) {
	t.Helper()
	ev := &evidence.Evidence{
		Protocol: r.Stream.Transport, Server: r.Server, Packets: labtest.ReadCapture(t, dir), ServerLost: r.ServerLost,
		Stream: r.Stream, CaptureCut: r.Emulator.Uncaptured > 0,
	}
	for _, v := range metric.Streams().Violations(ev) {
		list = append(list, v.Detail)
	}
	return list
}

// TestManagerNode has a third node decide: it moves the client, sets the delay at both ends and has the viewer seek, by
// messages that are no part of the stream.
func TestManagerNode(t *testing.T) {
	b := newBench(t)
	o := stream("tcp", transport.Reconnect)
	o.ManagerNode = true
	o.Media, o.Player, o.For = "clip", string(player.Throughput), 4*time.Second
	o.Seeks, o.StartAt, o.ResumeAt, o.Ahead = 1, 1, 2, 10
	o.Manager.Rate = 100_000_000
	o.Keep.Octets, o.Keep.Packets = 128, 0
	r, dir := b.play(t, o)
	f := r.Stream.Figures
	if len(f.Handovers) != 1 || f.Handovers[0].Access != "AP2" || len(f.Sessions) < 2 {
		t.Errorf("handovers %+v, %d sessions", f.Handovers, len(f.Sessions))
	}
	if f.Seeks < 2 || f.Seeks > 3 { // the last comes as the viewing ends
		t.Errorf("%d seeks, want one in each second", f.Seeks)
	}
	delayed := 0
	for _, e := range f.Timeline {
		if e.Event == player.Delayed {
			delayed++
		}
	}
	if log := r.Stream.Manager; delayed < 15 || len(log) < delayed || log[0].At != 0 || log[1].Delay == log[0].Delay {
		t.Errorf("the player was told of %d delays, the manager's log is %+v", delayed, log)
	}
	done := map[string]int{}
	for _, order := range r.Stream.Orders {
		if order.Done > 0 {
			done[order.To]++
		}
	}
	if done["server"] < 15 || done["client"] < 15 || r.Stream.ControlPackets < 60 {
		t.Errorf("%v orders were carried out, by %d packets", done, r.Stream.ControlPackets)
	}
	packets := labtest.ReadCapture(t, dir)
	if last := packets.Interfaces[len(packets.Interfaces)-1]; last.Name != capture.NodeInterface {
		t.Errorf("the capture's interfaces are %v", packets.Interfaces)
	}
	if list := broken(t, r, dir); len(list) > 0 {
		t.Errorf("the stream breaks rules: %s", strings.Join(list, "; "))
	}
	b.play(t, stream("tcp", transport.Reconnect)) // the lab is as it was
}

// TestRebinding changes the client's port or address within a download. TCP needs another connection, QUIC does not.
func TestRebinding(t *testing.T) {
	b := newBench(t)
	for _, kind := range []network.Rebinding{network.RebindPort, network.RebindAddress} {
		for row, sessions := range map[string]int{"tcp": 2, "quic": 1} {
			t.Run(row+" "+string(kind), func(t *testing.T) {
				o := stream(row, transport.Reconnect)
				o.Keep.Packets = 0
				o.Manager.Reconnections = 0
				o.Manager.Rebinding = &network.RebindingAt{At: 500 * time.Millisecond, Kind: kind}
				r, dir := b.play(t, o)
				f := r.Stream.Figures
				if len(f.Rebindings) != 1 || f.Rebindings[0].Recovered == 0 || len(f.Sessions) != sessions || f.Held != 2_000_000 {
					t.Errorf("rebindings %+v, %d sessions, %d octets", f.Rebindings, len(f.Sessions), f.Held)
				}
				if r.Emulator.Dropped["no binding"] == 0 {
					t.Errorf("nothing came for the old binding: %v", r.Emulator.Dropped)
				}
				if list := broken(t, r, dir); len(list) > 0 {
					t.Errorf("the stream breaks rules: %s", strings.Join(list, "; "))
				}
			})
		}
	}
}
