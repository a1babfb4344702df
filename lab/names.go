package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

// resolverAddress is where the lab's DNS server answers.
const resolverAddress = "198.19.0.53"

// nameTTL is the time to live of the lab's records, in seconds. It is longer than a
// load, so that each name is looked up once, as on a user's machine.
const nameTTL = 300

// resolverFiles make programs ask the lab's DNS server.
var resolverFiles = map[string]string{
	"/etc/resolv.conf":   "nameserver " + resolverAddress + "\noptions timeout:5 attempts:3\n",
	"/etc/hosts":         "127.0.0.1 localhost\n",
	"/etc/nsswitch.conf": "hosts: files dns\n",
}

// useLabResolver makes every program that the lab starts ask the lab's DNS
// server: it mounts its own resolver configuration over the machine's, for this
// program and its children alone.
func useLabResolver() error {
	for target, text := range resolverFiles {
		source := filepath.Join(Scratch, filepath.Base(target))
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the lab's %s: %w", filepath.Base(target), err)
		}
		if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
			if target == "/etc/resolv.conf" {
				return fmt.Errorf("mount the lab's resolver configuration: this machine has no %s: make it, even if it is empty", target)
			}
			continue // minimal systems lack the others, and what the C library does without them is right for a lab
		}
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount the lab's resolver configuration on %s: %w", target, err)
		}
	}
	return nil
}

// resolver is the lab's DNS server: authoritative for the names it was given,
// NXDOMAIN for the rest of the world.
type resolver struct {
	mu      sync.Mutex
	hosts   map[string]netip.Addr
	queries int
	udp     *dns.Server
	stopped chan error
}

// startResolver answers on the lab's resolver address inside namespace n.
func startResolver(n *Namespace) (*resolver, error) {
	var conn net.PacketConn
	err := n.Do(func() (err error) {
		conn, err = net.ListenPacket("udp4", resolverAddress+":53")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen for DNS queries: %w", err)
	}
	r := &resolver{stopped: make(chan error, 1)}
	ready := make(chan struct{})
	r.udp = &dns.Server{PacketConn: conn, Handler: r, NotifyStartedFunc: func() { close(ready) }}
	go func() { r.stopped <- r.udp.ActivateAndServe() }()
	select {
	case <-ready:
		return r, nil
	case err := <-r.stopped:
		return nil, fmt.Errorf("serve DNS: %w", err)
	}
}

// serve sets the hosts that exist from now on and counts queries anew.
func (r *resolver) serve(hosts map[string]netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts, r.queries = hosts, 0
}

// asked returns how many queries have come since serve.
func (r *resolver) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries
}

// ServeDNS answers one query. A host has an A record and nothing else: no AAAA,
// as the lab is IPv4, and no HTTPS record (RFC 9460), so that only the study
// decides whether a browser uses HTTP/3.
func (r *resolver) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	answer := new(dns.Msg)
	answer.SetReply(query)
	answer.Authoritative = true
	r.mu.Lock()
	r.queries++
	hosts := r.hosts
	r.mu.Unlock()
	for _, q := range query.Question {
		address, ok := hosts[strings.ToLower(strings.TrimSuffix(q.Name, "."))]
		if !ok {
			answer.Rcode = dns.RcodeNameError
			continue
		}
		if q.Qtype == dns.TypeA {
			answer.Answer = append(answer.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: nameTTL},
				A:   net.IP(address.AsSlice()),
			})
		}
	}
	// The client may be gone by now.
	_ = w.WriteMsg(answer)
}

func (r *resolver) close() error {
	if err := r.udp.ShutdownContext(context.Background()); err != nil {
		return fmt.Errorf("stop the DNS server: %w", err)
	}
	return <-r.stopped
}
