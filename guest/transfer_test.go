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
	"strconv"
	"time"

	"wiretime/capture"
	"wiretime/lab"
	"wiretime/lab/emulator"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/network"
	"wiretime/protocol"
)

// transfer is the transfer of a file from a server to a client through a lab, over a
// path on which the client moves from one access link to the other.
type transfer struct {
	Transport string // "" is no transport: the client looks which addresses it has
	Strategy  transport.Strategy
	Path      network.Path
	Octets    int64           // of the file
	Looks     []time.Duration // since the path's first packet: when to look
}

// transferred is the outcome of a transfer.
type transferred struct {
	Failure   string
	Took      time.Duration   // from the first packet to the last octet
	Handovers []time.Duration // since the first packet
	Addresses []string        // at each look: all of the client's, then the one it uses
	Log       []capture.ServerEntry
	Emulator  emulator.Report
}

// These are the files in a guest with the transfers and their outcomes; captures are in
// numbered folders.
const (
	transfersFile   = "transfers.json"
	transferredFile = "transferred.json"
)

// serveTransfers carries out transfers in a guest, one after the other in one lab.
func serveTransfers() error {
	var list []transfer
	if err := readJSON(transfersFile, &list); err != nil {
		return err
	}
	outcomes, err := transferAll(context.Background(), labConfig(2), "/tmp/ca", filepath.Join(shared, outDir), list)
	if err != nil {
		return err
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(shared, outDir, transferredFile), text, 0o644)
}

// transferAll runs transfers on either clock and stores captures in folders below out.
func transferAll(ctx context.Context, config lab.Config, authority, out string, list []transfer) (outcomes []transferred, err error) {
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
		outcome, err := p.run(ctx, l, ca, dir)
		if err != nil {
			return nil, fmt.Errorf("transfer %d: %w", i, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// run carries out one transfer in a lab, which it renews, and stores the capture in dir.
func (p transfer) run(ctx context.Context, l *lab.Lab, ca *protocol.Authority, dir string) (outcome transferred, err error) {
	h, err := l.Prepare(p.Path, cubic)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	s := &ends{Hosts: h, outcome: &outcome}
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

// ends are the two ends of a transfer, and what it comes to.
type ends struct {
	*lab.Hosts
	lab.Progress
	server  *transport.Server // nil until it has started
	outcome *transferred
}

// look starts the path's time with an unsolicited datagram, and records the client's
// addresses.
func (p transfer) look(ctx context.Context, s *ends) error {
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
func (p transfer) take(ctx context.Context, s *ends, ca *protocol.Authority) error {
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
func (p transfer) follow(ctx context.Context, s *ends, epoch time.Time, session *transport.Session) error {
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
				err = session.Close() // ends the transfer
			}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
