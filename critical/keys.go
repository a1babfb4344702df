package critical

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"

	"wiretime/capture"
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

// suite is a TLS 1.3 cipher suite (RFC 8446 appendix B.4).
type suite struct {
	hash   func() hash.Hash
	size   int // octets of its keys
	chacha bool
}

// suites are the suites that TLS implementations offer, by number.
var suites = map[uint16]*suite{
	0x1301: {hash: sha256.New, size: 16},
	0x1302: {hash: sha512.New384, size: 32},
	0x1303: {hash: sha256.New, size: 32, chacha: true},
}

// expand returns HKDF-Expand-Label with an empty context.
func (s *suite) expand(secret []byte, label string, length int) []byte {
	out, err := capture.ExpandLabel(s.hash, secret, label, nil, length)
	if err != nil {
		return make([]byte, length) // the secret is too short for the hash: decryption will fail
	}
	return out
}

// seal decrypts what was protected with one traffic secret.
type seal struct {
	suite  *suite
	secret []byte
	aead   cipher.AEAD
	iv     []byte
}

// newSeal derives the keys of a secret; prefix is "" for TLS and "quic " for QUIC
// (RFC 9001 section 5.1).
func newSeal(s *suite, secret []byte, prefix string) *seal {
	k := &seal{suite: s, secret: secret, iv: s.expand(secret, prefix+"iv", 12)}
	key := s.expand(secret, prefix+"key", s.size)
	if s.chacha {
		k.aead, _ = chacha20poly1305.New(key) // the key has the right size
		return k
	}
	block, _ := aes.NewCipher(key) // likewise
	k.aead, _ = cipher.NewGCM(block)
	return k
}

// open decrypts the record or packet with that number (RFC 8446 section 5.3).
func (k *seal) open(number uint64, sealed, associated []byte) ([]byte, bool) {
	nonce := bytes.Clone(k.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(number >> (56 - 8*i))
	}
	text, err := k.aead.Open(nil, nonce, sealed, associated)
	return text, err == nil
}

// mask computes QUIC's header protection mask from a sample of 16 octets (RFC
// 9001 section 5.4).
func (s *suite) mask(key, sample []byte) []byte {
	mask := make([]byte, 16)
	if s.chacha {
		stream, err := chacha20.NewUnauthenticatedCipher(key, sample[4:16])
		if err != nil {
			return mask
		}
		stream.SetCounter(binary.LittleEndian.Uint32(sample))
		stream.XORKeyStream(mask[:5], mask[:5])
		return mask
	}
	if block, err := aes.NewCipher(key); err == nil {
		block.Encrypt(mask, sample)
	}
	return mask
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

// chosenSuite returns the cipher suite in a ServerHello's body, or nil if this
// package does not know it.
func chosenSuite(hello []byte) *suite {
	if len(hello) < 35 {
		return nil
	}
	after := 35 + int(hello[34])
	if len(hello) < after+2 {
		return nil
	}
	return suites[binary.BigEndian.Uint16(hello[after:])]
}
