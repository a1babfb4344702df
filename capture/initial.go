package capture

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// ClientHellos returns the TLS ClientHello of each QUIC connection that a client of
// the capture opened, in the order of their first packets. Anyone who sees a
// connection's first packet can read it, because the keys follow from that packet
// (RFC 9001 section 5.2). Connections whose ClientHello is incomplete are left out,
// and so are other versions than QUIC version 1.
func ClientHellos(p *Packets) [][]byte {
	begun := map[Flow]*beginning{}
	var order []*beginning
	for _, r := range p.Records {
		h, err := Dissect(r.Data)
		if err != nil || r.Inbound || h.Flow.Protocol != UDP || h.Flow.Destination.Port() != 443 {
			continue
		}
		b := begun[h.Flow]
		if b == nil {
			b = &beginning{crypto: map[uint64][]byte{}}
			begun[h.Flow] = b
			order = append(order, b)
		}
		b.datagram(h.Payload)
	}
	var hellos [][]byte
	for _, b := range order {
		if hello := b.hello(); hello != nil {
			hellos = append(hellos, hello)
		}
	}
	return hellos
}

// beginning holds what a client sent in the Initial packets of a connection.
type beginning struct {
	keys   *initialKeys      // from its first packet; nil before that
	crypto map[uint64][]byte // by offset
}

// datagram takes in the Initial packets of a datagram. It stops at the first it
// cannot read.
func (b *beginning) datagram(data []byte) {
	for len(data) > 0 {
		packet, ok := parseInitial(data)
		if !ok {
			return
		}
		data = data[packet.end:]
		if b.keys == nil {
			b.keys = clientInitialKeys(packet.destination)
		}
		if payload, ok := b.keys.open(packet); ok {
			b.frames(payload)
		}
	}
}

// hello returns the first handshake message once it is complete.
func (b *beginning) hello() []byte {
	const clientHello, head = 1, 4
	var message []byte
	for {
		before := len(message)
		for offset, data := range b.crypto {
			if at := uint64(len(message)); offset <= at && offset+uint64(len(data)) > at {
				message = append(message, data[at-offset:]...)
			}
		}
		if len(message) == before {
			return nil
		}
		if len(message) >= head {
			if message[0] != clientHello {
				return nil
			}
			if size := head + int(binary.BigEndian.Uint32(message)&0xffffff); len(message) >= size {
				return message[:size]
			}
		}
	}
}

// frames collects the CRYPTO frames of a packet (RFC 9000 section 12.4 says which
// frames a client's Initial may have).
func (b *beginning) frames(data []byte) {
	const padding, ping, ack, ackECN, crypto = 0, 1, 2, 3, 6
	r := reader{data: data}
	for !r.failed && len(r.data) > 0 {
		switch kind := r.varint(); kind {
		case padding, ping:
		case ack, ackECN:
			r.varint()
			r.varint()
			ranges := r.varint()
			r.varint()
			for i := uint64(0); i < ranges && !r.failed; i++ {
				r.varint()
				r.varint()
			}
			for i := 0; kind == ackECN && i < 3; i++ {
				r.varint()
			}
		case crypto:
			offset, size := r.varint(), r.varint()
			if content := r.take(size); !r.failed && size > 0 && len(content) > len(b.crypto[offset]) {
				b.crypto[offset] = content
			}
		default:
			return
		}
	}
}

// initial is a protected QUIC version 1 Initial packet (RFC 9000 section 17.2.2).
type initial struct {
	bytes       []byte // from its first octet to its last
	destination []byte // connection ID
	number      int    // where the packet number begins
	end         int    // of the packet within its datagram
}

func parseInitial(data []byte) (p initial, ok bool) {
	const longHeader, kind, version = 0x80, 0x30, 1
	r := reader{data: data}
	first := r.take(1)
	v := r.take(4)
	if r.failed || first[0]&longHeader == 0 || first[0]&kind != 0 || binary.BigEndian.Uint32(v) != version {
		return p, false
	}
	p.destination = r.short()
	r.short() // source connection ID
	r.take(r.varint())
	size := r.varint()
	p.number = len(data) - len(r.data)
	r.take(size)
	p.end = len(data) - len(r.data)
	p.bytes = data[:p.end]
	return p, !r.failed
}

// initialKeys protect a client's Initial packets.
type initialKeys struct {
	aead   cipher.AEAD
	header cipher.Block
	iv     []byte
}

// initialSalt is the salt of QUIC version 1 (RFC 9001 section 5.2).
var initialSalt, _ = hex.DecodeString("38762cf7f55934b34d179ae6a4c80cadccbb7f0a")

// InitialSecret returns the secret from which both ends of a QUIC version 1 connection derive the keys of their Initial
// packets (RFC 9001 section 5.2). destination is the connection ID that the client chose for the server.
func InitialSecret(destination []byte) ([]byte, error) {
	return hkdf.Extract(sha256.New, destination, initialSalt)
}

func clientInitialKeys(destination []byte) *initialKeys {
	secret, err := InitialSecret(destination)
	expand := func(secret []byte, label string, size int) (out []byte) {
		if err == nil {
			out, err = ExpandLabel(sha256.New, secret, label, nil, size)
		}
		return out
	}
	client := expand(secret, "client in", sha256.Size)
	key, iv, protection := expand(client, "quic key", 16), expand(client, "quic iv", 12), expand(client, "quic hp", 16)
	k := &initialKeys{iv: iv}
	var block cipher.Block
	if err == nil {
		block, err = aes.NewCipher(key)
	}
	if err == nil {
		k.aead, err = cipher.NewGCM(block)
	}
	if err == nil {
		k.header, err = aes.NewCipher(protection)
	}
	if err != nil {
		panic(err) // the sizes are constants
	}
	return k
}

// open removes a packet's protection (RFC 9001 section 5).
func (k *initialKeys) open(p initial) (payload []byte, ok bool) {
	const longest = 4 // octets of a packet number
	if len(p.bytes) < p.number+longest+aes.BlockSize {
		return nil, false
	}
	var mask [aes.BlockSize]byte
	k.header.Encrypt(mask[:], p.bytes[p.number+longest:][:aes.BlockSize])
	head := append([]byte(nil), p.bytes[:p.number+longest]...)
	head[0] ^= mask[0] & 0x0f
	size := int(head[0]&3) + 1
	head = head[:p.number+size]
	nonce := append([]byte(nil), k.iv...)
	for i := range size {
		head[p.number+i] ^= mask[1+i]
		nonce[len(nonce)-size+i] ^= head[p.number+i]
	}
	payload, err := k.aead.Open(nil, nonce, p.bytes[len(head):], head)
	return payload, err == nil
}

// reader reads the fields of QUIC headers and frames. After a failure it
// returns nothing more.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.data)) {
		r.failed = true
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

// short reads a byte string with a one-octet length.
func (r *reader) short() []byte {
	if n := r.take(1); !r.failed {
		return r.take(uint64(n[0]))
	}
	return nil
}

// varint reads a variable-length integer (RFC 9000 section 16).
func (r *reader) varint() uint64 {
	if r.failed || len(r.data) == 0 {
		r.failed = true
		return 0
	}
	var v uint64
	for i, b := range r.take(1 << (r.data[0] >> 6)) {
		if i == 0 {
			b &= 0x3f
		}
		v = v<<8 | uint64(b)
	}
	return v
}
