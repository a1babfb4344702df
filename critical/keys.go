package critical

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"wiretime/protection"
)

// keyLog holds TLS secrets by the client's random and their label, as in the
// NSS key log format.
type keyLog map[string]map[string][]byte

// Labels of key log secrets, by direction.
var (
	handshakeLabels = [2]string{"CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"}
	trafficLabels   = [2]string{"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}
)

func readKeys(log []byte) keyLog {
	k := keyLog{}
	for line := range bytes.Lines(log) {
		words := bytes.Fields(line)
		if len(words) != 3 {
			continue
		}
		random, err := hex.DecodeString(string(words[1]))
		secret, err2 := hex.DecodeString(string(words[2]))
		if err != nil || err2 != nil {
			continue
		}
		if k[string(random)] == nil {
			k[string(random)] = map[string][]byte{}
		}
		k[string(random)][string(words[0])] = secret
	}
	return k
}

// TLS handshake messages (RFC 8446 section 4).
const (
	clientHello = 1
	serverHello = 2
	finished    = 20
	keyUpdate   = 24
)

// messages calls visit for each whole handshake message, and returns the rest.
func messages(b []byte, visit func(kind byte, body []byte)) []byte {
	for len(b) >= 4 {
		n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
		if len(b) < 4+n {
			break
		}
		visit(b[0], b[4:4+n])
		b = b[4+n:]
	}
	return b
}

// clientRandom returns the random in a ClientHello's body.
func clientRandom(hello []byte) []byte {
	if len(hello) < 34 {
		return nil
	}
	return hello[2:34]
}

// chosenSuite returns the cipher suite in a ServerHello's body, or nil if it
// is unknown.
func chosenSuite(hello []byte) *protection.Suite {
	if len(hello) < 35 {
		return nil
	}
	after := 35 + int(hello[34])
	if len(hello) < after+2 {
		return nil
	}
	return protection.SuiteByNumber(binary.BigEndian.Uint16(hello[after:]))
}
