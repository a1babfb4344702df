package session

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestFallback connects to an origin that should speak HTTP/3, with various listeners
// at its ports.
func TestFallback(t *testing.T) {
	for _, c := range []struct {
		name, fallback string
		udp            string // "h3", "silent", "refused"
		tcp            bool
		proto, failure string
	}{
		{"HTTP/3 and HTTP/2", "h2", "h3", true, "h3", ""},
		{"HTTP/3 only", "h2", "h3", false, "h3", ""},
		{"nothing comes back over UDP", "h2", "silent", true, "h2", ""},
		{"no UDP at all", "h2", "refused", true, "h2", ""},
		{"no UDP at all, and no fallback", "", "refused", true, "", "open a UDP socket: refused"},
		{"neither", "h2", "refused", false, "", "connect to www.page.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, row(t, "h3"))
			b.options.Fallback = c.fallback
			udp := ""
			switch c.udp {
			case "h3":
				b.serveTLS(t, &tls.Config{}, http.HandlerFunc(path))
				udp = b.url(pageHost, "/x")
			case "silent":
				socket, err := b.ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
				must(t, err)
				defer socket.Close()
				udp = b.url(pageHost, "/x")
			case "refused":
				b.options.ListenPacket = func(context.Context, string, string) (net.PacketConn, error) { return nil, errors.New("refused") }
				udp = b.url(pageHost, "/x")
			}
			address := strings.TrimPrefix(strings.TrimSuffix(udp, "/x"), "https://"+pageHost)
			// The TCP server has its own port, to which dials are redirected.
			tcp := newBench(t, row(t, "h2"))
			tcp.Authority = b.Authority
			if c.tcp {
				tcp.serveTLS(t, &tls.Config{}, http.HandlerFunc(path))
			}
			dial := b.options.Dial
			b.options.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
				if !c.tcp {
					return nil, errors.New("refused")
				}
				if !strings.HasSuffix(to, address) {
					t.Errorf("dialled %s, not port %s", to, address)
				}
				_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(tcp.url(pageHost, ""), "https://"), "/"))
				return dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
			}
			s := b.session(t)
			for range 2 {
				a := get(t, s, udp, Highest).wait(t)
				if c.failure != "" {
					if a.err == nil || !strings.Contains(a.err.Error(), c.failure) {
						t.Errorf("error is %v, want %q", a.err, c.failure)
					}
					continue
				}
				if must(t, a.err); a.record.Proto != c.proto || string(a.body) != "/x" || a.record.Connection != 1 {
					t.Errorf("the body is %q, the record %+v, want %s", a.body, a.record, c.proto)
				}
			}
		})
	}
}
