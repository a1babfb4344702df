package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/manager"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/protocol"
)

// performance is the transfer of a file from a server to a client through a lab, over a
// path on which the client moves from one access link to the other.
type performance struct {
	Transport string // "" is no transport: the client looks which addresses it has
	Strategy  transport.Strategy
	Path      network.Path
	Octets    int64           // of the file
	Looks     []time.Duration // since the path's first packet: when to look
}

// performed is the outcome of a performance.
type performed struct {
	Failure   string
	Took      time.Duration   // from the first packet to the last octet
	Handovers []time.Duration // since the first packet
	Addresses []string        // at each look: all of the client's, then the one it uses
	Log       []capture.ServerEntry
	Emulator  emulator.Report
}

// These are the files in a guest with the performances and their outcomes; captures are in
// numbered folders.
const (
	playsFile     = "plays.json"
	performedFile = "performed.json"
)

// servePlays performs in a guest, one after the other in one lab.
func servePlays() error {
	var list []performance
	if err := readJSON(playsFile, &list); err != nil {
		return err
	}
	outcomes, err := performAll(context.Background(), labConfig(2), "/tmp/ca", filepath.Join(shared, outDir), list)
	if err != nil {
		return err
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(shared, outDir, performedFile), text, 0o644)
}

// performAll runs performances on either clock and stores captures in folders below out.
func performAll(ctx context.Context, config lab.Config, authority, out string, list []performance) (outcomes []performed, err error) {
	ca, err := protocol.OpenAuthority(authority)
	if err != nil {
		return nil, err
	}
	l, err := lab.New(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for i, p := range list {
		dir := filepath.Join(out, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		outcome, err := p.perform(ctx, l, ca, dir)
		if err != nil {
			return nil, fmt.Errorf("performance %d: %w", i, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// perform runs one performance in a lab, which it renews, and stores the capture in dir.
func (p performance) perform(ctx context.Context, l *lab.Lab, ca *protocol.Authority, dir string) (outcome performed, err error) {
	h, err := l.Prepare(p.Path, cubic)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	s := &stage{Hosts: h, outcome: &outcome}
	report, err := h.Run(ctx, lab.Task{Seed: 1, Keep: emulator.Keep{Octets: 64}, Do: func(ctx context.Context, path lab.Progress) error {
		s.Progress = path
		if p.Transport == "" {
			return p.look(ctx, s)
		}
		return p.take(ctx, s, ca)
	}})
	if s.server != nil {
		err = errors.Join(err, s.server.Close())
		outcome.Log = s.server.Log()
	}
	if err != nil {
		return outcome, err
	}
	if outcome.Emulator = report.Emulator; report.LoadError != nil {
		outcome.Failure = report.LoadError.Error()
	}
	if err := h.SaveCapture(dir); err != nil {
		return outcome, err
	}
	return outcome, l.Renew(ctx)
}

// stage is where a performance takes place.
type stage struct {
	*lab.Hosts
	lab.Progress
	server  *transport.Server // nil if there is none
	outcome *performed
}

// look starts the path's time with an unsolicited datagram, and records the client's
// addresses.
func (p performance) look(ctx context.Context, s *stage) error {
	outcome := s.outcome
	uses := func() (local net.Addr, err error) {
		conn, err := new(net.Dialer).DialContext(ctx, "udp4", netip.AddrPortFrom(lab.ServerAddress(0), 9).String())
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if len(outcome.Addresses) == 0 {
			_, err = conn.Write([]byte("!"))
		}
		return conn.LocalAddr(), err
	}
	if err := s.Client.Do(func() error { _, err := uses(); return err }); err != nil {
		return err
	}
	<-s.Epoch
	epoch := time.Now()
	for _, at := range p.Looks {
		time.Sleep(time.Until(epoch.Add(at)))
		err := s.Client.Do(func() error {
			text := ""
			for i := range s.Locals {
				link, err := net.InterfaceByName("wt" + strconv.Itoa(i))
				if err != nil {
					return err
				}
				addresses, err := link.Addrs()
				if err != nil {
					return err
				}
				for _, a := range addresses {
					text += a.String() + " "
				}
			}
			outcome.Addresses = append(outcome.Addresses, text)
			local, err := uses()
			if err != nil {
				return err
			}
			outcome.Addresses[len(outcome.Addresses)-1] += "> " + local.(*net.UDPAddr).IP.String()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take serves the file and receives it.
func (p performance) take(ctx context.Context, s *stage, ca *protocol.Authority) error {
	row, err := transport.Lookup(p.Transport)
	if err != nil {
		return err
	}
	made, err := storage.Make(1, storage.File("file", p.Octets))
	if err != nil {
		return err
	}
	server, err := transport.Serve(ctx, transport.ServerConfig{
		Transport: row, Address: netip.AddrPortFrom(lab.ServerAddress(0), 4433), Host: s.Hosts.Server.Do, Storage: made, CA: ca, KeyLog: s.Keys,
	})
	if err != nil {
		return err
	}
	s.server = server
	client, err := transport.NewClient(transport.ClientConfig{
		Transport: row, Server: server.Address(), Name: "media.test", Verify: ca.Verify, Host: s.Client.Do,
	})
	if err != nil {
		return err
	}
	locals := s.Locals[:1]
	if p.Strategy == transport.Multihome {
		locals = s.Locals
	}
	begins := make(chan time.Time, 1)
	go func() { <-s.Epoch; begins <- time.Now() }()
	session, err := client.Connect(ctx, locals...)
	if err != nil {
		return err
	}
	epoch := <-begins
	follow, stop := context.WithCancel(ctx)
	moved := make(chan error, 1)
	go func() { moved <- p.follow(follow, s, epoch, session) }()
	err = receive(ctx, session, made)
	s.outcome.Took = time.Since(epoch)
	stop()
	return errors.Join(err, <-moved, session.Close())
}

// receive receives the file and checks every octet.
func receive(ctx context.Context, session *transport.Session, made *storage.Made) error {
	id := storage.ID{Item: "file"}
	response, err := session.Request(ctx, transport.Request{ID: id})
	if err != nil {
		return err
	}
	defer response.Close()
	buffer := make([]byte, 1<<16)
	for at := int64(0); ; {
		n, err := response.Read(buffer)
		if wrong := made.Check(id, at, buffer[:n]); wrong != nil {
			return wrong
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// follow records the handovers and carries out the strategy, except for opening another
// session.
func (p performance) follow(ctx context.Context, s *stage, epoch time.Time, session *transport.Session) error {
	outcome := s.outcome
	for {
		select {
		case h := <-s.Handovers:
			outcome.Handovers = append(outcome.Handovers, time.Since(epoch))
			var err error
			switch p.Strategy {
			case transport.Migrate:
				err = session.Migrate(ctx, s.Locals[h.To])
			case transport.Reconnect:
				err = session.Close() // ends the performance
			}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// perform runs performances in a guest. It returns the folder with the captures.
func perform(t *testing.T, list []performance) ([]performed, string) {
	t.Helper()
	var outcomes []performed
	out := inGuest(t, playsProgram, playsFile, list, performedFile, &outcomes)
	if len(outcomes) != len(list) {
		t.Fatalf("%d performances came back, want %d", len(outcomes), len(list))
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
	list := []performance{
		{Path: twoLinks(true), Looks: []time.Duration{0, at(1, before), at(1, after), at(2, before), at(2, after), at(4, before), at(4, after), at(5, before), at(5, after)}},
		{Path: twoLinks(false), Looks: []time.Duration{0, at(1, before), at(1, after), at(4, before), at(4, after), at(5, after)}},
	}
	want := [][]string{
		{both + usesFirst, both + usesFirst, second + usesSecond, second + usesSecond, both + usesSecond, both + usesSecond, first + usesFirst, first + usesFirst, both + usesFirst},
		{first + usesFirst, first + usesFirst, second + usesSecond, second + usesSecond, first + usesFirst, first + usesFirst},
	}
	outcomes, _ := perform(t, list)
	for i, o := range outcomes {
		if o.Failure != "" || !reflect.DeepEqual(o.Addresses, want[i]) {
			t.Errorf("together: %v: %s, the client has\n%q, want\n%q", list[i].Path.Together, o.Failure, o.Addresses, want[i])
		}
	}
}

// TestStreamsSurviveHandovers receives a file while the client moves to the other access
// link and back, with every transport that keeps its session.
func TestStreamsSurviveHandovers(t *testing.T) {
	const octets = 20_000_000 // 8 s at the rate
	list := []performance{
		{Transport: "sctp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "mptcp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "mptcp-clear", Strategy: transport.Multihome, Path: twoLinks(true), Octets: octets},
		{Transport: "quic", Strategy: transport.Migrate, Path: twoLinks(false), Octets: octets},
	}
	for _, row := range []string{"sctp", "mptcp"} {
		list = append(list, performance{Transport: row, Strategy: transport.Multihome, Path: managed(t), Octets: octets})
	}
	outcomes, out := perform(t, list)
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
				if late := o.Handovers[k] - h.At; late < 0 || late > mostReadings*reading {
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
	list := []performance{{Transport: "quic", Strategy: transport.Migrate, Path: twoLinksBy(unit, false), Octets: octets}}
	for _, name := range []string{"sctp", "mptcp"} {
		row, err := transport.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Available(nil); err != nil {
			t.Log(err)
			continue
		}
		list = append(list, performance{Transport: name, Strategy: transport.Multihome, Path: twoLinksBy(unit, true), Octets: octets})
	}
	config, dir := labConfig(2), t.TempDir()
	config.Virtual, config.Unblocked = false, false
	outcomes, err := performAll(t.Context(), config, filepath.Join(dir, "ca"), dir, list)
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

// TestAPlayLeavesTheLabQuiet makes the client leave in the middle of a file, from an
// address that disappears. Packets that the server's kernel still sends to it must not show
// up in the lab's next performance.
func TestAPlayLeavesTheLabQuiet(t *testing.T) {
	quiet := performance{Path: oneLink(network.Link{Delay: time.Millisecond}), Looks: []time.Duration{5 * time.Second}}
	var list []performance
	for _, row := range transport.Names() {
		list = append(list, performance{Transport: row, Strategy: transport.Reconnect, Path: twoLinks(false), Octets: 20_000_000}, quiet)
	}
	outcomes, out := perform(t, list)
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
	list := []performance{
		{Transport: "sctp", Strategy: transport.Multihome, Path: twoLinks(true), Octets: 10_000_000},
		{Transport: "mptcp-clear", Strategy: transport.Multihome, Path: twoLinks(true), Octets: 10_000_000},
		{Transport: "quic", Strategy: transport.Migrate, Path: twoLinks(false), Octets: 10_000_000},
	}
	first, _ := perform(t, list)
	second, _ := perform(t, list)
	for i := range list {
		if !reflect.DeepEqual(first[i], second[i]) {
			t.Errorf("%s: %+v, and again %+v", list[i].Transport, first[i], second[i])
		}
	}
}
