package guest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/player"
	"wiretime/media/transport"
	"wiretime/needtest"
	"wiretime/workload/playback"
)

// download orders a file over a link with constant delay.
func download(row, media string, delay time.Duration) *playback.Order {
	return &playback.Order{
		Media: media, Transport: row, Seed: 1, TCP: cubic, Timeout: 10 * time.Minute, Player: playback.Download, Strategy: transport.Reconnect,
		Manager: manager.Config{Name: "link", Access: manager.AccessPoints(), Delay: delay},
		Keep:    emulator.Keep{Octets: 128, Packets: 100_000},
	}
}

// moving orders a file during which the client changes its access link once, after a
// second.
func moving(row string, strategy transport.Strategy, loss float64, seed uint64) *playback.Order {
	o := download(row, "file@10MB", 50*time.Millisecond)
	o.Seed, o.Strategy = seed, strategy
	m := &o.Manager
	m.Rate, m.Loss = manager.DefaultRate, loss
	m.Period, m.Duration, m.Window, m.Reconnections = time.Second, time.Minute, 2*time.Second, 1
	return o
}

// viewing orders a video that is watched for four seconds.
func viewing(row, rule string, loss float64, seed uint64) *playback.Order {
	o := moving(row, transport.Reconnect, loss, seed)
	o.Media, o.Player, o.For, o.Seeks = "clip", rule, 4*time.Second, 0.3
	return o
}

// oneAddress returns a transport's strategies except multihome.
func oneAddress(t *testing.T, row string) []transport.Strategy {
	t.Helper()
	found, err := transport.Lookup(row)
	if err != nil {
		t.Fatal(err)
	}
	all := []transport.Strategy{transport.Reconnect, transport.ZeroRTT, transport.Migrate}
	return slices.DeleteFunc(all, func(s transport.Strategy) bool { return found.Supports(s) != nil })
}

// streams plays orders in a guest, by ID.
func streams(t *testing.T, h *Host, orders map[string]*playback.Order) map[string]done {
	t.Helper()
	b := Batch{Station: stationConfig(2)}
	for id, o := range orders {
		b.Loads = append(b.Loads, Load{ID: id, Order: o})
	}
	slices.SortFunc(b.Loads, func(a, b Load) int { return strings.Compare(a.ID, b.ID) })
	return run(t, h, machine(1), b)
}

// TestStreamsTakeWholeRoundTrips fetches a file that fits into the first packets, over a
// path with 200 ms of round trip and no rate: it takes the session's set-up and the
// request's own round trip.
func TestStreamsTakeWholeRoundTrips(t *testing.T) {
	const rtt = 200 * time.Millisecond
	const mostReadings = 500 // DTLS computes more than TLS does
	setUp := map[string]int{
		"tcp": 2, "tcp-clear": 1, "mptcp": 2, "mptcp-clear": 1, // TCP's handshake, TLS's
		"sctp": 2, "sctp-udp": 2, // INIT, COOKIE ECHO
		"sctp-udp-dtls": 5, // DTLS 1.2's with its cookie: three more
		"quic":          1,
	}
	orders := map[string]*playback.Order{}
	for row := range setUp {
		orders[row] = download(row, "file@1kB", rtt/2)
	}
	for row, d := range streams(t, host(t), orders) {
		if d.record.Common().LoadError != nil {
			t.Errorf("%s: %v", row, d.record.Common().LoadError)
			continue
		}
		s := d.record.(*playback.Record).Stream
		ttd, _ := s.Figures.TTD()
		for _, phase := range []struct {
			what string
			took time.Duration
			want int
		}{{"opening the session", s.Sessions[0].SetUp, setUp[row]}, {"all", ttd, setUp[row] + 1}} {
			over := phase.took - time.Duration(phase.want)*rtt
			if over < 0 || over > mostReadings*reading {
				t.Errorf("%s: %s took %v, want %d round trips and no more than %d readings of the clock", row, phase.what, phase.took, phase.want, mostReadings)
			}
			t.Logf("%s: %s took %d round trips and %v", row, phase.what, phase.want, over)
		}
	}
}

// TestStreamsComeWhole plays a file and a video over each transport, including the kernel's
// SCTP, and compares the record with the server's log and the packets.
func TestStreamsComeWhole(t *testing.T) {
	needtest.Long(t)
	const icmp = 1 // port unreachable, for a late packet
	protocols := map[string]uint8{"tcp": capture.TCP, "udp": capture.UDP, "sctp": capture.SCTP}
	orders := map[string]*playback.Order{}
	for _, row := range transport.Names() {
		orders["file-over-"+row] = moving(row, transport.Reconnect, 0, 1)
		orders["clip-over-"+row] = viewing(row, playback.Players()[1], 0, 1)
	}
	loads := streams(t, host(t), orders)
	for _, row := range transport.All() {
		for _, media := range []string{"file", "clip"} {
			t.Run(media+" over "+row.Name, func(t *testing.T) {
				id := media + "-over-" + row.Name
				d := loads[id]
				s := d.record.(*playback.Record).Stream
				if d.record.Common().LoadError != nil || s == nil {
					t.Fatalf("%v; %+v", d.record.Common().LoadError, s)
				}
				if o := orders[id]; s.Transport != row.Name || s.Media != o.Media || s.Player != o.Player || s.Strategy != string(o.Strategy) || s.Epoch < 0 || len(s.Manager) == 0 {
					t.Errorf("the record is of %+v", s)
				}
				var served int64
				for _, e := range d.record.Common().Server {
					served += e.BodyBytes
					if e.Protocol != row.Name {
						t.Errorf("the server says of %s that it was over %s", e.URL, e.Protocol)
					}
				}
				f := s.Figures
				if f.Received > served || f.Received != f.Played+f.Wasted+f.Held || len(s.Sessions) < 2 || len(f.Handovers) != 1 {
					t.Errorf("%d octets served, %d received: %d played, %d wasted, %d held; %d sessions, %d handovers",
						served, f.Received, f.Played, f.Wasted, f.Held, len(s.Sessions), len(f.Handovers))
				}
				if _, whole := f.TTD(); media == "file" && (!whole || f.Held != 10_000_000) {
					t.Errorf("%d octets are held; %+v", f.Held, f.Loads)
				}
				if media == "clip" && (f.Duration != 4*time.Second || f.Received == 0) {
					t.Errorf("it lasted %v, and %d octets came", f.Duration, f.Received)
				}
				for _, p := range d.packets(t).Records {
					if h, err := capture.Dissect(p.Data); err != nil || h.Flow.Protocol != protocols[row.Protocol] && h.Flow.Protocol != icmp {
						t.Fatalf("packet %d: %+v, %v", p.ID, h.Flow, err)
					}
				}
				qlogs := 0
				for name, text := range d.files {
					if strings.HasPrefix(name, "client-") && bytes.Contains(text, []byte("packet_received")) {
						qlogs++
					}
				}
				if want := len(s.Sessions); row.Name == "quic" && qlogs != want || row.Name != "quic" && qlogs != 0 {
					t.Errorf("%d qlogs of %d sessions", qlogs, want)
				}
			})
		}
	}
}

// early is how much sooner than the link the player may be told. A guest's ticks are no
// multiples of its clock's steps of 256 ns, so Linux steers that clock, and the one that programs
// read without a trap is not steered along: they part by about a microsecond in a minute.
const early = 8 * 256 * time.Nanosecond

// TestRecoveryTakesWholeRoundTrips changes the access link in the middle of a file. Data
// resumes after the time to open or move a session, plus half a round trip for the request
// and half for the first octets.
func TestRecoveryTakesWholeRoundTrips(t *testing.T) {
	needtest.Long(t)
	roundTrips := map[transport.Strategy]map[string]int{
		transport.Reconnect: {"tcp": 3, "tcp-clear": 2, "mptcp": 3, "mptcp-clear": 2, "sctp": 3, "sctp-udp": 3, "sctp-udp-dtls": 6, "quic": 2},
		transport.ZeroRTT:   {"quic": 1},
		transport.Migrate:   {"quic": 2}, // one to see that the new way leads there, one until the server hears that it is taken
	}
	orders := map[string]*playback.Order{}
	for _, row := range transport.Names() {
		for _, strategy := range oneAddress(t, row) {
			orders[row+"-"+string(strategy)] = moving(row, strategy, 0, 1)
		}
	}
	for id, d := range streams(t, host(t), orders) {
		t.Run(id, func(t *testing.T) {
			if d.record.Common().LoadError != nil {
				t.Fatal(d.record.Common().LoadError)
			}
			s := d.record.(*playback.Record).Stream
			if len(s.Figures.Handovers) != 1 {
				t.Fatalf("the handovers are %+v", s.Figures.Handovers)
			}
			h := s.Figures.Handovers[0]
			moved := slices.IndexFunc(s.Manager, func(e manager.Event) bool { return e.Access == h.Access })
			if late := h.At - s.Epoch - s.Manager[moved].At; late < -early || late > time.Millisecond {
				t.Errorf("the player was told %v after the link had changed", late)
			}
			rtt := 2 * s.Manager[moved].Delay
			want := time.Duration(roundTrips[transport.Strategy(s.Strategy)][s.Transport]) * rtt
			if took := h.Recovered - h.At; took < want || took > want+3*time.Millisecond {
				t.Errorf("octets came again after %v, want %v (round trips of %v) and little more", took, want, rtt)
			}
			sessions := 2
			if s.Strategy == string(transport.Migrate) {
				sessions = 1
			}
			last := s.Sessions[len(s.Sessions)-1]
			if len(s.Sessions) != sessions || last.EarlyData != (s.Strategy == string(transport.ZeroRTT)) || last.Local.Addr().String() != "198.18.1.2" {
				t.Errorf("the sessions are %+v", s.Sessions)
			}
			t.Logf("a round trip of %v; ready after %v, octets after %v", rtt, h.Ready-h.At, h.Recovered-h.At)
		})
	}
}

// TestMultihoming keeps the session while the old link is lost for a second.
func TestMultihoming(t *testing.T) {
	orders := map[string]*playback.Order{}
	for _, row := range []string{"mptcp", "mptcp-clear", "sctp"} {
		orders[row] = moving(row, transport.Multihome, 0, 1)
	}
	for row, d := range streams(t, host(t), orders) {
		s := d.record.(*playback.Record).Stream
		if d.record.Common().LoadError != nil || len(s.Sessions) != 1 || len(s.Figures.Handovers) != 1 || len(d.record.Common().Server) != 1 {
			t.Errorf("%s: %v; %d sessions, handovers %+v, log %+v", row, d.record.Common().LoadError, len(s.Sessions), s.Figures.Handovers, d.record.Common().Server)
			continue
		}
		h := s.Figures.Handovers[0]
		if h.Recovered <= h.At {
			t.Errorf("%s: it never recovered: %+v", row, h)
		}
		ttd, _ := s.Figures.TTD()
		t.Logf("%s: octets came again after %v; the file took %v", row, h.Recovered-h.At, ttd)
	}
}

// TestStreamsThatDoNotCome has a stream that exceeds its timeout, and one whose path is cut
// off for longer than the viewer waits.
func TestStreamsThatDoNotCome(t *testing.T) {
	slow := download("tcp", "file@100MB", 50*time.Millisecond)
	slow.Timeout, slow.Manager.Rate = time.Second, manager.DefaultRate
	lossy := download("quic", "file@100MB", 50*time.Millisecond)
	lossy.Manager.Loss, lossy.Patience, lossy.GiveUp = 1, 2*time.Second, 5*time.Second
	for id, d := range streams(t, host(t), map[string]*playback.Order{"slow": slow, "lossy": lossy}) {
		want := map[string]string{"slow": "timed out after 1s", "lossy": "timed out after 5s without data; last failure: "}[id]
		if err := d.record.Common().LoadError; err == nil || !strings.Contains(err.Error(), want) || d.record.(*playback.Record).Stream == nil || d.record.(*playback.Record).Stream.Figures.Failure != err.Error() {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

// TestStreamsSameSeedSameNanoseconds repeats TestSameSeedSameNanoseconds for streams over
// lossy links, with handovers and seeks.
func TestStreamsSameSeedSameNanoseconds(t *testing.T) {
	needtest.Long(t)
	every := func(seed uint64) map[string]*playback.Order {
		orders := map[string]*playback.Order{"mptcp-multihome": moving("mptcp", transport.Multihome, 0.001, seed), "sctp-multihome": moving("sctp", transport.Multihome, 0.001, seed)}
		for _, row := range transport.Names() {
			for _, strategy := range oneAddress(t, row) {
				orders[row+"-"+string(strategy)] = moving(row, strategy, 0.001, seed)
			}
			orders[row+"-clip"] = viewing(row, string(player.BOLA), 0.001, seed)
		}
		return orders
	}
	first := streams(t, host(t), every(1))
	other, err := newHost(built(t))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for id, again := range streams(t, other, every(1)) {
		if where := difference(t, first[id], again); where != "" {
			t.Errorf("%s differs: %s", id, where)
		}
		if err := again.record.Common().LoadError; err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	another := streams(t, host(t), map[string]*playback.Order{"tcp-reconnect": moving("tcp", transport.Reconnect, 0.001, 2)})
	if id := "tcp-reconnect"; bytes.Equal(first[id].files[playback.StreamFile], another[id].files[playback.StreamFile]) {
		t.Errorf("%s is the same with another seed", id)
	}
}
