package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"

	"wiretime/network"
)

// Hosts are the client and the server of a lab, made ready for a path. They are of use
// until the lab prepares the next ones.
type Hosts struct {
	Client, Server *Namespace
	// Locals are the client's addresses, by access link of the path.
	Locals []netip.Addr
	// Keys takes TLS keys in NSS key log format, for the capture.
	Keys io.Writer

	lab     *Lab
	path    network.Path
	place   CapturePlace
	capture *os.File // nil until Run
	spool   *spool   // nil unless the capture is being written to a disk
	keys    keyLog
	orders  sync.Mutex // held while the emulator carries one out
}

// Virtual reports whether the hosts are in a guest of the virtual clock.
func (h *Hosts) Virtual() bool { return h.lab.config.Virtual }

// Prepare makes the lab's hosts ready for a path. The kernel's own settings stay as they are
// for SCTP (net.sctp) and for how many more subflows MPTCP may open (two). The caller closes
// the hosts, and then calls Lab.Renew or has called Hosts.Release.
func (l *Lab) Prepare(path network.Path, tcp TCPOptions) (*Hosts, error) {
	if n := len(path.Access); n > l.config.AccessLinks {
		return nil, fmt.Errorf("path %s has %d access links, this lab was built with %d", path.Name, n, l.config.AccessLinks)
	}
	if err := l.setRoutes(tcp); err != nil {
		return nil, err
	}
	if err := l.associate(path); err != nil {
		return nil, err
	}
	if !l.config.Virtual { // there its own rights do
		AskForUrgency(l.emulator.PID())
	}
	l.names.serve(nil)
	h := &Hosts{Client: l.client, Server: l.server, lab: l, path: path, place: l.place}
	h.Keys = &h.keys
	for i := range path.Access {
		local, _ := netip.AddrFromSlice(clientAddress(i)) // it has the size of one
		h.Locals = append(h.Locals, local)
	}
	return h, nil
}

// Resolve sets which names the lab's DNS server knows from now on, and counts queries anew.
func (h *Hosts) Resolve(names map[string]netip.Addr) { h.lab.names.serve(names) }

// Rejoin puts the client back where the path begins.
func (h *Hosts) Rejoin() error { return h.lab.associate(h.path) }

// Drain waits until the hosts have nothing more to say to each other. No path may be
// emulated.
func (h *Hosts) Drain(ctx context.Context) error { return h.lab.drain(ctx) }

// ForgetKeys drops all TLS keys gathered so far, so that later captures have only the keys of connections
// opened from now on.
func (h *Hosts) ForgetKeys() {
	h.keys.mu.Lock()
	defer h.keys.mu.Unlock()
	h.keys.keys = nil
}

// Release leaves the hosts to whoever uses the lab next: it drains them, and puts the client
// on its first access link.
func (h *Hosts) Release(ctx context.Context) error {
	return errors.Join(h.Drain(ctx), h.lab.useAccess(0))
}

// keyLog gathers TLS keys in NSS key log format.
type keyLog struct {
	mu   sync.Mutex
	keys []byte
}

func (k *keyLog) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = append(k.keys, b...)
	return len(b), nil
}

func (k *keyLog) text() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.keys)
}
