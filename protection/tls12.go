package protection

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
)

// masterLabel is the key log's label of a TLS 1.2 connection's master secret.
const masterLabel = "CLIENT_RANDOM"

const masterOctets = 48 // RFC 5246 section 8.1

// suites12 are the TLS 1.2 cipher suites that TLS 1.3 implementations still offer by default, by number: ephemeral keys
// and authenticated encryption (RFC 5289 section 3.2, RFC 7905 section 2).
var suites12 = map[uint16]*Suite{
	0xc02b: {hash: sha256.New, size: 16},
	0xc02c: {hash: sha512.New384, size: 32},
	0xc02f: {hash: sha256.New, size: 16},
	0xc030: {hash: sha512.New384, size: 32},
	0xcca8: {hash: sha256.New, size: 32, chacha: true},
	0xcca9: {hash: sha256.New, size: 32, chacha: true},
}

// chosenSuite12 returns the TLS 1.2 cipher suite in a ServerHello's body, or nil if it is another or unknown.
func chosenSuite12(hello []byte) *Suite { return suites12[suiteNumber(hello)] }

// unseal12 decrypts both directions of a TLS 1.2 connection, each up to the first record that it cannot decrypt.
func unseal12(s *Suite, random, hello, fromClient, fromServer []byte, secrets map[string][]byte) (Unsealed, error) {
	u := Unsealed{ALPN: chosenALPN(serverExtensions(hello))}
	master := secrets[masterLabel]
	if len(master) != masterOctets {
		return u, ErrNoSecrets
	}
	for d, o := range s.openers12(master, random, hello[2:34]) {
		data := [2][]byte{fromClient, fromServer}[d]
		text := &u.Texts[d]
		text.Data, text.Head = data[:0], RecordHeader+o.explicit
		o.text = text
		text.Unread = len(data) - eachRecord(data, o.record)
	}
	return u, nil
}

// The parts of a nonce in octets: RFC 5288 section 3 for AES-GCM, RFC 7905 section 2 for ChaCha20.
const (
	gcmSalt     = 4
	gcmExplicit = 8
	chachaIV    = 12
)

// opener12 decrypts the TLS 1.2 records of one direction.
type opener12 struct {
	text     *Text
	aead     cipher.AEAD
	iv       []byte // what of the nonce is not in the record
	explicit int    // octets of the nonce at the beginning of each record
	sealed   bool   // the sender has changed to the negotiated keys
	number   uint64
}

// openers12 derives the keys of both directions from a master secret (RFC 5246 section 6.3).
func (s *Suite) openers12(master, client, server []byte) [2]*opener12 {
	iv := gcmSalt
	if s.chacha {
		iv = chachaIV
	}
	seed := append([]byte("key expansion"), server...)
	block := NewReader(expand12(s.hash, master, append(seed, client...), 2*(s.size+iv)))
	keys := [2][]byte{block.Take(uint64(s.size)), block.Take(uint64(s.size))}
	var openers [2]*opener12
	for d, key := range keys {
		o := &opener12{iv: block.Take(uint64(iv))}
		if s.chacha {
			o.aead, _ = chacha20poly1305.New(key) // the key has the right size
		} else {
			cipherBlock, _ := aes.NewCipher(key) // likewise
			o.aead, _ = cipher.NewGCM(cipherBlock)
			o.explicit = gcmExplicit
		}
		openers[d] = o
	}
	return openers
}

// expand12 returns octets of P_hash, which is TLS 1.2's PRF with the label in the seed (RFC 5246 section 5).
func expand12(h func() hash.Hash, secret, seed []byte, octets int) []byte {
	sum := func(parts ...[]byte) []byte {
		mac := hmac.New(h, secret)
		for _, part := range parts {
			mac.Write(part)
		}
		return mac.Sum(nil)
	}
	var out []byte
	for a := sum(seed); len(out) < octets; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:octets]
}

func (o *opener12) record(offset int, r []byte) bool {
	if !o.sealed {
		o.sealed = r[0] == recordChangeCipher
		return true
	}
	body := r[RecordHeader:]
	length := len(body) - o.explicit - o.aead.Overhead()
	if length < 0 {
		return false
	}
	nonce := make([]byte, 0, o.aead.NonceSize())
	nonce = append(append(nonce, o.iv...), body[:o.explicit]...)
	if o.explicit == 0 {
		for i := range 8 {
			nonce[4+i] ^= byte(o.number >> (56 - 8*i))
		}
	}
	// RFC 5246 section 6.2.3.3: the number, the type, the version and the length of the content.
	associated := binary.BigEndian.AppendUint64(nil, o.number)
	associated = binary.BigEndian.AppendUint16(append(associated, r[:3]...), uint16(length))
	sealed := body[o.explicit:]
	content, err := o.aead.Open(sealed[:0], nonce, sealed, associated)
	if err != nil {
		return false
	}
	o.number++
	if r[0] == recordApplication {
		from := len(o.text.Data)
		o.text.Data = append(o.text.Data, content...)
		o.text.Records = append(o.text.Records, Record{Offset: offset, Size: len(r), Text: from, Length: length})
	}
	return true
}
