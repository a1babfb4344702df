package protocol

import (
	"crypto"
	"crypto/hkdf"
	"crypto/tls"
	"encoding/binary"
	"fmt"

	_ "crypto/sha256" // the hashes of TLS 1.3's cipher suites
	_ "crypto/sha512"

	"wiretime/protection"
)

// EarlySecret derives the secret that protects the early data after a ClientHello,
// which crypto/tls does not write into key logs. It returns a key log line with its
// newline, or "" if the ClientHello announces no early data or uses another server's
// ticket. It fails if the ClientHello is malformed.
func (s *Server) EarlySecret(hello []byte) (string, error) {
	random, ticket, err := announced(hello)
	if err != nil {
		return "", fmt.Errorf("parse ClientHello: %w", err)
	}
	if ticket == nil || !s.config.EarlyData {
		return "", nil
	}
	session, err := s.tls(s.config.Protocol).DecryptTicket(ticket, tls.ConnectionState{})
	if err != nil || session == nil {
		return "", err
	}
	suite, psk, err := sessionSecret(session)
	if err != nil {
		return "", err
	}
	hash := crypto.SHA256
	if suite == tls.TLS_AES_256_GCM_SHA384 {
		hash = crypto.SHA384
	}
	// RFC 8446 section 7.1.
	early, err := hkdf.Extract(hash.New, psk, nil)
	if err != nil {
		return "", err
	}
	transcript := hash.New()
	transcript.Write(hello)
	secret, err := protection.ExpandLabel(hash.New, early, "c e traffic", transcript.Sum(nil), hash.Size())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("CLIENT_EARLY_TRAFFIC_SECRET %x %x\n", random, secret), nil
}

// sessionSecret extracts cipher suite and pre-shared key from a session in
// crypto/tls's serialised form.
func sessionSecret(session *tls.SessionState) (suite uint16, psk []byte, err error) {
	text, err := session.Bytes()
	if err != nil {
		return 0, nil, err
	}
	// Version, role, suite, creation time, length of the secret.
	const before = 2 + 1 + 2 + 8 + 1
	if len(text) < before || len(text) < before+int(text[before-1]) {
		return 0, nil, fmt.Errorf("unknown session format: %d octets", len(text))
	}
	return binary.BigEndian.Uint16(text[3:]), text[before:][:text[before-1]], nil
}

// announced extracts the client's random from a ClientHello and, if it announces
// early data, the ticket that protects it: the first one (RFC 8446 sections
// 4.1.2, 4.2.10 and 4.2.11).
func announced(hello []byte) (random, ticket []byte, err error) {
	const earlyData, preSharedKey = 42, 41
	m := vectors{rest: hello}
	m.take(1 + 3 + 2) // type, length, version
	random = m.take(32)
	m.vector(1) // session
	m.vector(2) // cipher suites
	m.vector(1) // compression methods
	extensions := vectors{rest: m.vector(2)}
	early := false
	for len(extensions.rest) > 0 && !extensions.short {
		kind := extensions.take(2)
		content := extensions.vector(2)
		if extensions.short {
			break
		}
		switch binary.BigEndian.Uint16(kind) {
		case earlyData:
			early = true
		case preSharedKey:
			offered := vectors{rest: content}
			identities := vectors{rest: offered.vector(2)}
			ticket = identities.vector(2)
			extensions.short = extensions.short || offered.short || identities.short
		}
	}
	if m.short || extensions.short {
		return nil, nil, fmt.Errorf("truncated after %d octets", len(hello))
	}
	if !early {
		ticket = nil
	}
	return random, ticket, nil
}

// vectors reads TLS vectors (RFC 8446 section 3.4).
type vectors struct {
	rest  []byte
	short bool
}

func (v *vectors) take(n int) []byte {
	if v.short || n > len(v.rest) {
		v.short = true
		return nil
	}
	out := v.rest[:n]
	v.rest = v.rest[n:]
	return out
}

// vector reads a byte string with a length prefix of so many octets.
func (v *vectors) vector(octets int) []byte {
	n := 0
	for _, b := range v.take(octets) {
		n = n<<8 | int(b)
	}
	return v.take(n)
}
