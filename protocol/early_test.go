package protocol

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
)

// ends are the two ends of a QUIC handshake without a network, with what they
// reveal.
type ends struct {
	client, server *tls.QUICConn
	hello          []byte // the ClientHello
	early          []byte // the server's early data secret
	done           int
}

// shake completes the handshake and makes the server send a ticket.
func (e *ends) shake(t *testing.T) {
	t.Helper()
	e.client.SetTransportParameters(nil)
	e.server.SetTransportParameters(nil)
	must(t, e.client.Start(context.Background()))
	must(t, e.server.Start(context.Background()))
	for e.done < 2 {
		e.pass(t)
	}
	must(t, e.server.SendSessionTicket(tls.QUICSessionTicketOptions{EarlyData: true}))
	e.pass(t)
}

// pass carries messages between the ends until neither has any.
func (e *ends) pass(t *testing.T) {
	t.Helper()
	for _, from := range []*tls.QUICConn{e.client, e.server} {
		to := map[*tls.QUICConn]*tls.QUICConn{e.client: e.server, e.server: e.client}[from]
		for event := from.NextEvent(); event.Kind != tls.QUICNoEvent; event = from.NextEvent() {
			switch event.Kind {
			case tls.QUICWriteData:
				if from == e.client && event.Level == tls.QUICEncryptionLevelInitial {
					e.hello = append(e.hello, event.Data...)
				}
				must(t, to.HandleData(event.Level, event.Data))
			case tls.QUICSetReadSecret:
				if from == e.server && event.Level == tls.QUICEncryptionLevelEarly {
					e.early = append([]byte(nil), event.Data...)
				}
			case tls.QUICHandshakeDone:
				e.done++
			}
		}
	}
}

// TestEarlySecretIsTheOneInUse compares the derived secret with the one that
// crypto/tls gives to QUIC.
func TestEarlySecretIsTheOneInUse(t *testing.T) {
	s := serve(t, "h3", func(c *ServerConfig) { c.Resume, c.EarlyData = true, true })
	other := serve(t, "h3", func(c *ServerConfig) { c.Resume, c.EarlyData = true, true })
	row := s.config.Protocol
	client := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: s.roots, ServerName: pageHost, NextProtos: []string{"h3"}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for visit := range 2 {
		e := &ends{client: tls.QUICClient(&tls.QUICConfig{TLSConfig: client}), server: tls.QUICServer(&tls.QUICConfig{TLSConfig: s.tls(row)})}
		e.shake(t)
		line, err := s.EarlySecret(e.hello)
		must(t, err)
		if visit == 0 {
			if line != "" || e.early != nil {
				t.Errorf("a first visit has early data: %q, %x", line, e.early)
			}
			continue
		}
		if e.early == nil {
			t.Fatal("the second visit had no early data")
		}
		if want := fmt.Sprintf("CLIENT_EARLY_TRAFFIC_SECRET %x %x\n", e.hello[6:38], e.early); line != want {
			t.Errorf("the line is %q, want %q", line, want)
		}
		if line, err := other.EarlySecret(e.hello); line != "" || err != nil {
			t.Errorf("a server with another key accepted the ticket: %q, %v", line, err)
		}
		for size := range e.hello {
			if line, err := s.EarlySecret(e.hello[:size]); err == nil || line != "" {
				t.Fatalf("%d octets of the ClientHello returned %q and no error", size, line)
			}
		}
	}
}

func FuzzAnnounced(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x00", 45)))
	f.Add([]byte("\x01\x00\x00\x40\x03\x03" + strings.Repeat("r", 32) + "\x00\x00\x02\x13\x01\x01\x00\x00\x10\x00\x2a\x00\x00\x00\x29\x00\x08\x00\x06\x00\x01t\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, hello []byte) {
		random, ticket, err := announced(hello)
		if err == nil && len(random) != 32 || err != nil && ticket != nil {
			t.Errorf("random %x, ticket %x, error %v", random, ticket, err)
		}
	})
}
