package protection

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// KeyLog holds TLS secrets by the client's random and by label. Both are those of the NSS key log format.
type KeyLog map[string]map[string][]byte

// Labels of key log secrets, of the client and of the server.
var (
	handshakeLabels = [2]string{"CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"}
	trafficLabels   = [2]string{"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}
)

// ReadKeyLog parses a key log. It ignores lines that are not in its format.
func ReadKeyLog(log []byte) KeyLog {
	k := KeyLog{}
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
	clientHello         = 1
	serverHello         = 2
	encryptedExtensions = 8
	finished            = 20
	keyUpdate           = 24
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

// chosenSuite returns the TLS 1.3 cipher suite in a ServerHello's body, or nil if it is another or unknown.
func chosenSuite(hello []byte) *Suite { return SuiteByNumber(suiteNumber(hello)) }

// suiteNumber returns the number of the cipher suite in a ServerHello's body, or 0, which no cipher has.
func suiteNumber(hello []byte) uint16 {
	r := NewReader(hello)
	r.Take(34) // the version and the random
	r.Take(uint64(r.Octet()))
	number := r.Take(2)
	if number == nil {
		return 0
	}
	return binary.BigEndian.Uint16(number)
}

// serverExtensions returns the list of extensions in a ServerHello's body, or nil.
func serverExtensions(hello []byte) []byte {
	r := NewReader(hello)
	r.Take(34)
	r.Take(uint64(r.Octet()))
	r.Take(3) // the cipher suite and the compression
	return r.Take(uint64(r.Left()))
}

// Numbers of TLS extensions.
const (
	extensionALPN      = 16 // RFC 7301
	extensionTransport = 57 // RFC 9001 section 8.2
)

// extension returns the content of an extension in a list that starts with its length, or nil.
func extension(list []byte, kind uint16) []byte {
	if len(list) < 2 {
		return nil
	}
	list = list[2:]
	for len(list) >= 4 {
		n := int(binary.BigEndian.Uint16(list[2:]))
		if len(list) < 4+n {
			return nil
		}
		if binary.BigEndian.Uint16(list) == kind {
			return list[4 : 4+n]
		}
		list = list[4+n:]
	}
	return nil
}

// helloExtensions returns the list of extensions in a ClientHello's body, or nil.
func helloExtensions(hello []byte) []byte {
	r := NewReader(hello)
	r.Take(34)
	r.Take(uint64(r.Octet()))
	suites := r.Take(2)
	if suites == nil {
		return nil
	}
	r.Take(uint64(binary.BigEndian.Uint16(suites)))
	r.Take(uint64(r.Octet()))
	if r.failed {
		return nil
	}
	return r.Take(uint64(r.Left()))
}

// chosenALPN returns the protocol in the server's list of extensions, which is the body of EncryptedExtensions; empty if
// there is none.
func chosenALPN(extensions []byte) string {
	list := extension(extensions, extensionALPN)
	if len(list) < 3 || len(list) < 3+int(list[2]) {
		return ""
	}
	return string(list[3 : 3+int(list[2])])
}
