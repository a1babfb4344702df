// Package protection removes the protection of TLS 1.3 and 1.2 records and of QUIC version 1 packets,
// given the secrets of a connection.
package protection

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"
)

// Suite is a TLS 1.3 cipher suite (RFC 8446 appendix B.4).
type Suite struct {
	hash   func() hash.Hash
	size   int // octets of its keys
	chacha bool
}

// suites are the suites that TLS implementations offer, by number.
var suites = map[uint16]*Suite{
	0x1301: {hash: sha256.New, size: 16},
	0x1302: {hash: sha512.New384, size: 32},
	0x1303: {hash: sha256.New, size: 32, chacha: true},
}

// SuiteByNumber returns the suite with a number, as in a ServerHello, or nil if this package does
// not know it.
func SuiteByNumber(number uint16) *Suite { return suites[number] }

// expand returns HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
func (s *Suite) expand(secret []byte, label string, length int) []byte {
	out, err := ExpandLabel(s.hash, secret, label, nil, length)
	if err != nil {
		return make([]byte, length) // the secret is too short for the hash: decryption will fail
	}
	return out
}

// masker returns the function that puts QUIC's header protection mask for a sample of 16 octets into mask, which has
// 16 octets, too (RFC 9001 section 5.4).
func (s *Suite) masker(key []byte) func(mask, sample []byte) {
	if !s.chacha {
		block, _ := aes.NewCipher(key) // the key has the right size
		return block.Encrypt
	}
	return func(mask, sample []byte) {
		stream, _ := chacha20.NewUnauthenticatedCipher(key, sample[4:16]) // so have both
		stream.SetCounter(binary.LittleEndian.Uint32(sample))
		clear(mask)
		stream.XORKeyStream(mask[:5], mask[:5])
	}
}

// Keys decrypts the TLS records that were protected with one traffic secret. It is for one goroutine at a time.
type Keys struct {
	suite  *Suite
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	nonce  []byte // room for one
}

// NewKeys derives the keys of a traffic secret (RFC 8446 section 7.3).
func NewKeys(s *Suite, secret []byte) *Keys { return newKeys(s, secret, "") }

// newKeys derives keys; prefix is "" for TLS and "quic " for QUIC (RFC 9001 section 5.1).
func newKeys(s *Suite, secret []byte, prefix string) *Keys {
	k := &Keys{suite: s, secret: secret, iv: s.expand(secret, prefix+"iv", 12), nonce: make([]byte, 12)}
	key := s.expand(secret, prefix+"key", s.size)
	if s.chacha {
		k.aead, _ = chacha20poly1305.New(key) // the key has the right size
		return k
	}
	block, _ := aes.NewCipher(key) // likewise
	k.aead, _ = cipher.NewGCM(block)
	return k
}

// Next derives the keys that replace these after a KeyUpdate (RFC 8446 section 7.2).
func (k *Keys) Next() *Keys {
	return newKeys(k.suite, k.suite.expand(k.secret, "traffic upd", k.suite.hash().Size()), "")
}

// Open appends the text of the record with that number to into (RFC 8446 section 5.3). associated is the record's header.
// With sealed[:0] as into, the text takes the place of the record, which is lost if the keys are not its own.
func (k *Keys) Open(into []byte, number uint64, sealed, associated []byte) ([]byte, bool) {
	copy(k.nonce, k.iv)
	for i := range 8 {
		k.nonce[4+i] ^= byte(number >> (56 - 8*i))
	}
	text, err := k.aead.Open(into, k.nonce, sealed, associated)
	return text, err == nil
}
