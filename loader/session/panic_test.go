package session

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"wiretime/loader/loadertest"
	"wiretime/panics"
	"wiretime/protocol"
)

// TestPanics has each function panic that the session calls, over every protocol: the load must end with the panic, and closing
// the session must not wait for ever.
func TestPanics(t *testing.T) {
	loadertest.EachRow(t, func(t *testing.T, p protocol.Protocol) {
		for name, arm := range map[string]func(*Options, *answer) bool{
			"resolve": func(o *Options, _ *answer) bool {
				o.Resolve = func(context.Context, string) (netip.Addr, error) { panic("boom") }
				return true
			},
			"dial": func(o *Options, _ *answer) bool {
				o.Dial = func(context.Context, string, string) (net.Conn, error) { panic("boom") }
				o.ListenPacket = func(context.Context, string, string) (net.PacketConn, error) { panic("boom") }
				return true
			},
			"verify": func(o *Options, _ *answer) bool {
				o.Verify = func(tls.ConnectionState) error { panic("boom") }
				return p.ALPN != ""
			},
			"data": func(_ *Options, a *answer) bool { a.onData = func() { panic("boom") }; return true },
			"end":  func(_ *Options, a *answer) bool { a.onEnd = func() { panic("boom") }; return true },
		} {
			t.Run(name, func(t *testing.T) {
				b := newBench(t, p)
				a := &answer{}
				if !arm(&b.options, a) {
					return
				}
				b.serve(t, http.HandlerFunc(path))
				err := panics.Run(t.Context(), func(ctx context.Context) error {
					s := New(b.options)
					fetch(t, ctx, s, http.MethodGet, b.url(pageHost, "/1000"), Highest, a)
					select {
					case <-ctx.Done():
					case <-a.ended:
					}
					return errors.Join(context.Cause(ctx), a.err, s.Close())
				}, nil)
				if panicked := panics.In(err); panicked == nil || panicked.Value != "boom" || !strings.Contains(panicked.Stack, "session.TestPanics") {
					t.Errorf("the load ended with %v", err)
				}
			})
		}
	})
}
