package metric

import (
	"slices"
	"testing"

	"wiretime/evidence"
	"wiretime/study"
)

// crowd is a sound load: two clients with six connections each loaded three pages of 1000 octets.
func crowd() *evidence.Crowd {
	return &evidence.Crowd{
		Clients: 2, PerClient: 6, Asked: 1000, Held: 12,
		Connect: evidence.Phase{Connections: 12, Handshakes: 12},
		Load:    evidence.Phase{Pages: 3, Octets: 3000},
		TLS:     []string{"TLS 1.3, TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256"},
	}
}

func TestCheckCrowd(t *testing.T) {
	for _, test := range []struct {
		name, protocol string
		change         func(*evidence.Crowd)
		want           []study.Violation
	}{
		{"sound", "https/1.1", func(*evidence.Crowd) {}, nil},
		{"in the clear", "http/1.1", func(c *evidence.Crowd) { c.TLS, c.Connect.Handshakes = nil, 0 }, nil},
		{"QUIC, whose connections the kernel does not know", "h3", func(c *evidence.Crowd) { c.Held = -1 }, nil},
		{"another cipher suite", "h2", func(c *evidence.Crowd) { c.TLS[0] = "TLS 1.3, TLS_AES_256_GCM_SHA384, X25519, ECDSA P-256" }, nil},
		{"no TLS where there must be", "h2", func(c *evidence.Crowd) { c.TLS, c.Connect.Handshakes = nil, 0 }, []study.Violation{
			{Rule: 1, Detail: "12 connections made 0 handshakes"}}},
		{"an older TLS", "h2", func(c *evidence.Crowd) { c.TLS[0] = "TLS 1.2, TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256" }, []study.Violation{
			{Rule: 1, Detail: "handshakes agreed on TLS 1.2, TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256, want TLS 1.3, a cipher suite, X25519, ECDSA P-256"}}},
		{"two suites", "h2", func(c *evidence.Crowd) { c.TLS = append(c.TLS, "TLS 1.3, other, X25519, ECDSA P-256") }, []study.Violation{
			{Rule: 1, Detail: "handshakes agreed on different terms: TLS 1.3, TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256; TLS 1.3, other, X25519, ECDSA P-256"}}},
		{"a connection too few", "h2", func(c *evidence.Crowd) { c.Connect.Connections, c.Connect.Handshakes, c.Held = 11, 11, 11 }, []study.Violation{
			{Rule: 4, Detail: "connections that the clients opened: 11 instead of 12"}}},
		{"a connection that the server lost", "h2", func(c *evidence.Crowd) { c.Held = 11 }, []study.Violation{
			{Rule: 4, Detail: "connections that the server's kernel held: 11 instead of 12"}}},
		{"connected anew", "h2", func(c *evidence.Crowd) { c.Load.Connections = 1 }, []study.Violation{
			{Rule: 4, Detail: "connections opened while pages were loaded: 1 instead of 0"}}},
		{"an octet short", "h2", func(c *evidence.Crowd) { c.Load.Octets-- }, []study.Violation{
			{Rule: 4, Detail: "octets of content: 2999 instead of 3000"}}},
		{"a client without a page", "h2", func(c *evidence.Crowd) { c.Load.Pages, c.Load.Octets = 1, 1000 }, []study.Violation{
			{Rule: 4, Detail: "2 clients loaded only 1 page"}}},
	} {
		c := crowd()
		test.change(c)
		if got := Crowds().Violations(&evidence.Evidence{Protocol: test.protocol, Crowd: c}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if got := Crowds().Violations(&evidence.Evidence{Protocol: "h2"}); len(got) != 1 || got[0].Rule != 4 {
		t.Errorf("no measurements: %v", got)
	}
}
