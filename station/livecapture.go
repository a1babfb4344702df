package station

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"wiretime/capture"
	"wiretime/evidence"
	"wiretime/lab"
	"wiretime/tap"
)

// ofLoad returns the packets of a load: those of connections that were opened during it, to the addresses of the hosts
// that its HAR names, and of look-ups of these hosts. Another program that turns to the same address during the load
// cannot be told from it.
func (s *Live) ofLoad(seen *tap.Recording, har *capture.HAR, page *url.URL) *tap.Recording {
	hosts, ports, addresses := places(har, page)
	for host := range hosts {
		if a, known := s.config.Addresses[host]; known {
			addresses[a] = true
		}
	}
	for _, a := range s.found.all() {
		addresses[a] = true
	}
	resolvers := nameservers()
	for i := range seen.Packets {
		p := &seen.Packets[i]
		if p.Inbound && p.Flow.Destination.Port() == evidence.PortDNS && asks(p.Headers.Payload, hosts) {
			for _, a := range answersIn(p.Headers.Payload) {
				addresses[a] = true
			}
		}
	}
	own := *seen
	own.Packets = nil
	lookups := map[capture.Flow]bool{}
	for _, p := range seen.Packets {
		to := p.Flow.Destination
		keep := addresses[to.Addr()] && ports[to.Port()]
		if to.Port() == evidence.PortDNS {
			// A resolver on this machine asks another one in turn: that is not the client's.
			lookups[p.Flow] = lookups[p.Flow] || asks(p.Headers.Payload, hosts)
			keep = lookups[p.Flow] && (len(resolvers) == 0 || slices.Contains(resolvers, to.Addr()))
		}
		if keep {
			own.Packets = append(own.Packets, p)
		}
	}
	return &own
}

// places returns the hosts that a load turned to, with their ports and addresses, as far as its HAR knows them.
func places(har *capture.HAR, page *url.URL) (hosts map[string]bool, ports map[uint16]bool, addresses map[netip.Addr]bool) {
	hosts, ports, addresses = map[string]bool{strings.ToLower(page.Hostname()): true}, map[uint16]bool{80: true, evidence.PortHTTPS: true}, map[netip.Addr]bool{}
	note := func(u *url.URL) {
		hosts[strings.ToLower(u.Hostname())] = true
		if literal, err := netip.ParseAddr(u.Hostname()); err == nil {
			addresses[literal] = true
		}
		if at, err := netip.ParseAddrPort("0.0.0.0:" + u.Port()); err == nil {
			ports[at.Port()] = true
		}
	}
	note(page)
	if har == nil {
		return hosts, ports, addresses
	}
	for i := range har.Log.Entries {
		e := &har.Log.Entries[i]
		if u, err := url.Parse(e.Request.URL); err == nil {
			note(u)
		}
		if a, err := netip.ParseAddr(strings.Trim(e.ServerIPAddress, "[]")); err == nil {
			addresses[a.Unmap()] = true
		}
	}
	return hosts, ports, addresses
}

// asks reports whether a DNS message is about one of the hosts.
func asks(message []byte, hosts map[string]bool) bool {
	var m dns.Msg
	if m.Unpack(message) != nil {
		return false
	}
	return slices.ContainsFunc(m.Question, func(q dns.Question) bool { return hosts[strings.ToLower(strings.TrimSuffix(q.Name, "."))] })
}

// answersIn returns the addresses in a DNS message.
func answersIn(message []byte) (list []netip.Addr) {
	var m dns.Msg
	if m.Unpack(message) != nil {
		return nil
	}
	for _, record := range m.Answer {
		var octets []byte
		switch r := record.(type) {
		case *dns.A:
			octets = r.A
		case *dns.AAAA:
			octets = r.AAAA
		}
		if a, ok := netip.AddrFromSlice(octets); ok {
			list = append(list, a.Unmap())
		}
	}
	return list
}

// nameservers returns the resolvers that this machine's programs ask (resolv.conf(5)).
func nameservers() (list []netip.Addr) {
	config, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	for _, server := range config.Servers {
		if a, err := netip.ParseAddr(server); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// saveCapture writes a load's packets, after its TLS keys, into the folder dir. Each network device is one of the
// client's interfaces.
func saveCapture(dir, comment string, seen *tap.Recording, keys []byte) error {
	comment += fmt.Sprintf("; captured by the kernel's packet socket on this machine, which dropped %d packets of all its traffic", seen.Lost)
	if seen.Full {
		comment += "; incomplete, since there was more traffic than is kept"
	}
	header := capture.Header{Application: "wiretime", Comment: comment}
	for _, name := range seen.Interfaces {
		header.Interfaces = append(header.Interfaces, capture.Interface{Name: "client." + name})
	}
	text := capture.AppendHeader(nil, header)
	for i, p := range seen.Packets {
		text = capture.AppendPacket(text, &capture.PacketRecord{
			Interface: p.Interface, Time: p.Time, Inbound: p.Inbound, ID: uint64(i + 1), Length: len(p.Data), Data: p.Data,
		})
	}
	file, err := os.Create(filepath.Join(dir, lab.CaptureFile))
	if err == nil {
		err = errors.Join(capture.InsertSecrets(file, bytes.NewReader(text), keys), file.Close())
	}
	if err != nil {
		return fmt.Errorf("write the capture: %w", err)
	}
	return nil
}

// addresses are those that the built-in loader has found for hosts, which its HAR does not tell. The zero value is empty.
type addresses struct {
	mu   sync.Mutex
	list []netip.Addr
}

func (a *addresses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = nil
}

func (a *addresses) all() []netip.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

// noting returns a resolver that notes what it finds.
func (a *addresses) noting(resolve func(context.Context, string) (netip.Addr, error)) func(context.Context, string) (netip.Addr, error) {
	return func(ctx context.Context, host string) (netip.Addr, error) {
		found, err := resolve(ctx, host)
		if err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.list = append(a.list, found)
		}
		return found, err
	}
}
