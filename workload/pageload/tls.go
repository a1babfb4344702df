package pageload

import (
	"fmt"

	"wiretime/study"
)

// oldTLS returns the cell's version of TLS, or "" if it is the usual one.
func (b *bound) oldTLS() string {
	if b.cell.Unusual(study.AxisTLS) {
		return b.cell.On(study.AxisTLS)
	}
	return ""
}

// wantedTLS returns the version of TLS that the server must have logged for each request, as crypto/tls writes it. It
// returns "" in the clear, and for third-party servers, some of which log none.
func (b *bound) wantedTLS() string {
	if b.protocol.ALPN == "" || b.foreign() {
		return ""
	}
	return "TLS " + b.cell.On(study.AxisTLS)
}

// checkTLS returns why the load cannot use the cell's version of TLS, or "" if it can.
func (b *bound) checkTLS() string {
	version := b.oldTLS()
	switch {
	case version == "":
		return ""
	case b.protocol.ALPN == "":
		return fmt.Sprintf("tls %s over %s: it has no TLS", version, b.protocol.Name)
	case b.protocol.Transport == "udp":
		return fmt.Sprintf("tls %s over %s: QUIC has TLS 1.3 alone (RFC 9001 section 4.2)", version, b.protocol.Name)
	case b.foreign():
		return fmt.Sprintf("tls %s: the server %s is set up for TLS 1.3 alone; use %s", version, b.server.Name, study.ServerOwn)
	}
	return ""
}
