package firefox

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"wiretime/needtest"
	"wiretime/protocol"
)

// asked is a request as a server saw it.
type asked struct {
	path, client   string
	resumed, known bool // the TLS session; the visitor, by a cookie
}

// memorable is a server on the client's loopback that tries everything to
// recognise a client: session tickets, cookies, cacheable content. Unlike the
// lab's servers it outlives a visit.
type memorable struct {
	mu       sync.Mutex
	requests []asked
}

func (m *memorable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := r.Cookie("visitor")
	m.mu.Lock()
	m.requests = append(m.requests, asked{r.URL.Path, r.RemoteAddr, r.TLS.DidResume, err == nil})
	m.mu.Unlock()
	w.Header().Set("Set-Cookie", "visitor=1; Max-Age=3600")
	if r.URL.Path == "/style.css" {
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write([]byte("p { color: green }"))
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("<!DOCTYPE html><link rel=stylesheet href=/style.css><p>Hello"))
}

// taken returns the requests since the last call.
func (m *memorable) taken() []asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.requests = nil }()
	return m.requests
}

// serve serves the site until stop is called, which closes all connections so
// that the site can be served again.
func (m *memorable) serve(t *testing.T, b *bench, config *tls.Config, quic bool) (stop func()) {
	t.Helper()
	var serving sync.WaitGroup
	if quic {
		var socket net.PacketConn
		must(t, b.lab.Client().Do(func() (err error) {
			socket, err = new(net.ListenConfig).ListenPacket(context.Background(), "udp4", "127.0.0.1:443")
			return err
		}))
		s := &http3.Server{Handler: m, TLSConfig: http3.ConfigureTLSConfig(config)}
		serving.Go(func() { _ = s.Serve(socket) })
		return func() {
			must(t, s.Close())
			must(t, socket.Close())
			serving.Wait()
		}
	}
	var listener net.Listener
	must(t, b.lab.Client().Do(func() (err error) {
		listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:443")
		return err
	}))
	s := &http.Server{Handler: m, TLSConfig: config}
	serving.Go(func() { _ = s.ServeTLS(listener, "", "") })
	return func() {
		must(t, s.Close())
		serving.Wait()
	}
}

// TestVisitsShareNothing returns to a site in the same visit, which shows that
// the browser remembers what it may, and then in another visit, which must show
// nothing of it.
func TestVisitsShareNothing(t *testing.T) {
	needtest.Long(t)
	for _, name := range []string{"h2", "h3"} {
		t.Run(name, func(t *testing.T) {
			quic := row(t, name).Transport == "udp"
			b := newBenchWith(t, quic, "localhost")
			config := serverTLS(b.authority)
			m := &memorable{}
			load := func(v *Visit) []asked {
				t.Helper()
				stop := m.serve(t, b, config, quic)
				defer stop()
				_, _, err := v.Load(t.Context(), "https://localhost/")
				must(t, err)
				return m.taken()
			}
			visit, err := b.browser.Open(t.Context(), nil)
			must(t, err)
			if got := load(visit); len(got) != 2 || got[0].resumed || got[0].known || got[1].path != "/style.css" {
				t.Errorf("the first load requested %+v", got)
			}
			if got := load(visit); len(got) != 1 || !got[0].resumed || !got[0].known {
				t.Errorf("the second load of the visit requested %+v, want only the document, over a resumed session and with a cookie", got)
			}
			must(t, visit.Close())
			visit, err = b.browser.Open(t.Context(), nil)
			must(t, err)
			if got := load(visit); len(got) != 2 || got[0].resumed || got[0].known || got[1].path != "/style.css" {
				t.Errorf("the second visit requested %+v", got)
			}
			must(t, visit.Close())

			// This server stays up and keeps its connections open.
			stop := m.serve(t, b, config, quic)
			defer stop()
			used := map[string]bool{}
			for range 2 {
				visit, err := b.browser.Open(t.Context(), nil)
				must(t, err)
				_, _, err = visit.Load(t.Context(), "https://localhost/")
				must(t, err)
				used[m.taken()[0].client] = true
				must(t, visit.Close())
			}
			if len(used) != 2 {
				t.Errorf("two visits used the connection from %v", used)
			}
		})
	}
}

// serverTLS issues session tickets, with the same keys for every server.
func serverTLS(a *protocol.Authority) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "" {
				return nil, errors.New("the client names no host")
			}
			return a.Certificate(hello.ServerName)
		},
	}
	config.SetSessionTicketKeys([][32]byte{{1}})
	return config
}
