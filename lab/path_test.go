package lab

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"wiretime/capture"
	"wiretime/network"
)

// TestHandoverMovesTheClient puts the client on its second access link while it
// sends: packets then leave there, from the address of that link, and the
// server answers to it.
func TestHandoverMovesTheClient(t *testing.T) {
	l := newLab(t)
	link := network.Link{Rate: 10_000_000, Delay: 5 * time.Millisecond}
	const handover = 150 * time.Millisecond
	path := network.Path{
		Name:   "two",
		Access: []network.Access{{Name: "wlan", Up: link, Down: link}, {Name: "lte", Up: link, Down: link}},
		Events: []network.Event{{At: handover, Handover: "lte"}},
	}
	echo(t, l)
	name := arm(t, l, path)
	followed := make(chan error, 1)
	go func() { followed <- l.follow(t.Context(), newEmulation(path)) }()
	// The client asks until an answer has come by the second link.
	deadline := time.Now().Add(10 * time.Second)
	for from := ""; !strings.HasPrefix(from, "198.18.1.2:"); {
		if time.Now().After(deadline) {
			t.Fatal("the client is still on its first access link")
		}
		from = ask(t, l)
	}
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	_, packets := finishCapture(t, l, name)
	began := packets.Records[0].Time
	seen := map[string]int{}
	for _, r := range packets.Records {
		at := packets.Interfaces[r.Interface].Name
		seen[at]++
		if after := time.Duration(r.Time - began); at == "client.1" && after < handover {
			t.Errorf("a packet on the second access link %v after the first, before the handover at %v", after, handover)
		}
	}
	for _, at := range []string{"client.0", "server.0", "client.1", "server.1"} {
		if seen[at] == 0 {
			t.Errorf("no packet at %s", at)
		}
	}
}

// echo answers every datagram on the server with the address it came from.
func echo(t *testing.T, l *Lab) {
	t.Helper()
	conn, err := l.server.ListenPacket(t.Context(), "udp4", ServerAddress(0).String()+":7")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 100)
		for {
			_, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(from.String()), from)
		}
	}()
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
}

// ask sends a datagram to echo from a fresh socket and returns the answer, ""
// if none comes within 50 ms.
func ask(t *testing.T, l *Lab) string {
	t.Helper()
	conn, err := dial(t.Context(), l, "udp4", ServerAddress(0).String()+":7")
	if err != nil {
		return "" // between two access links there is no route
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("?")); err != nil {
		return ""
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

// TestInitialWindowIsTheCells counts the segments that the server sends before
// it has heard from the client again.
func TestInitialWindowIsTheCells(t *testing.T) {
	for _, segments := range []int{4, 10, 32} {
		l := newLab(t)
		if err := l.setRoutes(TCPOptions{Congestion: "reno", InitCwnd: segments}); err != nil {
			t.Fatal(err)
		}
		const delay = 150 * time.Millisecond
		name := arm(t, l, oneLink("long", 0, delay))
		transfer(t, l, 200_000)
		_, packets := finishCapture(t, l, name)
		first, flight := int64(0), 0
		for _, r := range packets.Records {
			h, err := capture.Dissect(r.Data)
			if err != nil || r.Inbound || len(h.Payload) == 0 || h.Flow.Source.Port() != 80 {
				continue
			}
			if first == 0 {
				first = r.Time
			}
			if time.Duration(r.Time-first) < delay {
				flight++
			}
		}
		if flight != segments {
			t.Errorf("initcwnd %d: the first flight has %d segments", segments, flight)
		}
	}
}

// TestUnknownCongestionControl names the ones that this kernel has.
func TestUnknownCongestionControl(t *testing.T) {
	err := newLab(t).setRoutes(TCPOptions{Congestion: "nosuch", InitCwnd: 10})
	if err == nil || !strings.Contains(err.Error(), "reno") {
		t.Errorf("error %v, want one that says what this kernel has", err)
	}
}

// TestLookUpsCostARoundTrip asks the lab's DNS server, behind the path and
// beside the client.
func TestLookUpsCostARoundTrip(t *testing.T) {
	const delay = 50 * time.Millisecond
	for _, test := range []struct {
		name    string
		instant bool
	}{{"emulated", false}, {"instant", true}} {
		t.Run(test.name, func(t *testing.T) {
			config := linuxBuffers
			config.InstantDNS = test.instant
			l, err := New(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := l.setRoutes(TCPOptions{Congestion: "reno", InitCwnd: 10}); err != nil {
				t.Fatal(err)
			}
			l.names.serve(map[string]netip.Addr{"www.page.test": ServerAddress(3)})
			arm(t, l, oneLink("path", 0, delay))
			conn, err := dial(t.Context(), l, "udp4", net.JoinHostPort(resolverAddress, "53"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			query := new(dns.Msg).SetQuestion("www.page.test.", dns.TypeA)
			answer, took, err := new(dns.Client).ExchangeWithConn(query, &dns.Conn{Conn: conn})
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Answer) != 1 || !strings.Contains(answer.Answer[0].String(), ServerAddress(3).String()) {
				t.Errorf("answer %v, want the address %v", answer.Answer, ServerAddress(3))
			}
			if slow := took >= 2*delay; slow == test.instant {
				t.Errorf("the look-up took %v over a path with an RTT of %v", took, 2*delay)
			}
			if n := l.names.asked(); n != 1 {
				t.Errorf("%d queries were counted, want 1", n)
			}
		})
	}
}
