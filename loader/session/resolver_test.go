package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// nameServer answers queries with answer until the test ends.
func nameServer(t *testing.T, answer func(w dns.ResponseWriter, query *dns.Msg)) string {
	t.Helper()
	c, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	must(t, err)
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(answer)}
	stopped := make(chan error, 1)
	ready := make(chan struct{})
	s.NotifyStartedFunc = func() { close(ready) }
	go func() { stopped <- s.ActivateAndServe() }()
	<-ready
	t.Cleanup(func() {
		must(t, s.ShutdownContext(context.Background()))
		must(t, <-stopped)
	})
	return c.LocalAddr().String()
}

func record(name, address string) dns.RR {
	return &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300}, A: net.ParseIP(address)}
}

func TestResolver(t *testing.T) {
	numbers := make(chan uint16, 10)
	server := nameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		numbers <- query.Id
		answer := new(dns.Msg).SetReply(query)
		switch q := query.Question[0]; q.Name {
		case "www.page.test.":
			stray := answer.Copy()
			stray.Id += 1000
			stray.Answer = []dns.RR{record(q.Name, "10.9.9.9")}
			must(t, w.WriteMsg(stray))
			answer.Answer = []dns.RR{record(q.Name, "10.0.0.1")}
		case "alias.page.test.":
			answer.Answer = []dns.RR{
				&dns.CNAME{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: 300}, Target: "www.page.test."},
				record("www.page.test.", "10.0.0.1"),
			}
		case "empty.page.test.":
		default:
			answer.Rcode = dns.RcodeNameError
		}
		must(t, w.WriteMsg(answer))
	})
	resolve := Resolver(new(net.Dialer).DialContext, server)
	for _, c := range []struct{ host, want, failure string }{
		{"www.page.test", "10.0.0.1", ""},
		{"alias.page.test", "10.0.0.1", ""},
		{"empty.page.test", "", "no address"},
		{"nobody.test", "", "NXDOMAIN"},
		{strings.Repeat("a", 64) + ".test", "", server},
	} {
		address, err := resolve(t.Context(), c.host)
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) || err == nil && address.String() != c.want {
			t.Errorf("%s: %v, %v, want %s %s", c.host, address, err, c.want, c.failure)
		}
	}
	for want := range uint16(4) {
		if got := <-numbers; got != want+1 {
			t.Errorf("query %d has number %d", want+1, got)
		}
	}
	if len(numbers) > 0 {
		t.Errorf("%d queries too many", len(numbers))
	}
}

func TestResolverStops(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := nameServer(t, func(dns.ResponseWriter, *dns.Msg) { cancel(enough) })
	if _, err := Resolver(new(net.Dialer).DialContext, server)(ctx, "www.page.test"); !errors.Is(err, enough) {
		t.Errorf("error is %v, want the cause", err)
	}
	refused := errors.New("refused by the test")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	if _, err := Resolver(dial, server)(t.Context(), "www.page.test"); !errors.Is(err, refused) || !strings.Contains(err.Error(), server) {
		t.Errorf("error is %v, want the cause and the server", err)
	}
}

func FuzzReadAnswer(f *testing.F) {
	query := new(dns.Msg)
	query.SetQuestion("www.page.test.", dns.TypeA)
	query.Id = 7
	answer := new(dns.Msg).SetReply(query)
	for _, records := range [][]dns.RR{nil, {record("www.page.test.", "10.0.0.1")}} {
		answer.Answer = records
		wire, err := answer.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
		f.Add(wire[:len(wire)-3])
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		address, ours, err := readAnswer(message, query)
		if address.IsValid() != (ours && err == nil) || address.IsValid() && !address.Is4() {
			t.Errorf("%v, %v, %v", address, ours, err)
		}
		if (address != netip.Addr{}) && len(message) < 12+16+4 {
			t.Errorf("an address was parsed from %d octets", len(message))
		}
	})
}
