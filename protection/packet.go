package protection

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// Level is the encryption level of a QUIC packet (RFC 9001 section 4). The first three are the
// types of packets with a long header (RFC 9000 section 17.2).
type Level uint8

// The encryption levels in the order in which a connection reaches them.
const (
	Initial Level = iota
	Early
	Handshake
	Application
)

// Packet is a protected packet of QUIC version 1.
type Packet struct {
	Level               Level
	Destination, Source []byte // connection IDs; Source is nil at the level Application
	data                []byte // from the first octet to the last
	number              int    // offset of the packet number
}

// ParsePacket parses the header of a datagram's first packet (RFC 9000 section 17) and returns the
// rest of the datagram. Short headers do not say how long their connection ID is: idLength does,
// in octets. ok is false if the packet is truncated, a Retry, or of another version.
func ParsePacket(datagram []byte, idLength int) (p Packet, rest []byte, ok bool) {
	const longHeader, version1, retry = 0x80, 1, 3
	r := NewReader(datagram)
	first := r.Octet()
	if first&longHeader == 0 {
		p = Packet{Level: Application, Destination: r.Take(uint64(idLength)), data: datagram, number: r.at}
		return p, nil, !r.failed
	}
	version, kind := r.Take(4), first>>4&3
	p.Level = Level(kind)
	p.Destination = r.Take(uint64(r.Octet()))
	p.Source = r.Take(uint64(r.Octet()))
	if r.failed || kind == retry || binary.BigEndian.Uint32(version) != version1 {
		return Packet{}, nil, false
	}
	if p.Level == Initial {
		r.Take(r.Number()) // token
	}
	length := r.Number()
	p.number = r.at
	r.Take(length)
	p.data = datagram[:r.at]
	return p, datagram[r.at:], !r.failed
}

// PacketKeys decrypts the QUIC packets of one direction and level. It is for one goroutine at a time.
type PacketKeys struct {
	keys    *Keys
	mask    func(mask, sample []byte) // of header protection
	phase   byte                      // of the keys
	before  *Keys                     // of the previous phase
	largest uint64                    // packet number

	// These hold the packet that was opened last.
	number             uint64
	masked, head, text []byte
}

// NewPacketKeys derives the keys of a traffic secret (RFC 9001 section 5.1).
func NewPacketKeys(s *Suite, secret []byte) *PacketKeys {
	return &PacketKeys{keys: newKeys(s, secret, "quic "), mask: s.masker(s.expand(secret, "quic hp", s.size)), masked: make([]byte, 16)}
}

// initialSalt is the salt of QUIC version 1 (RFC 9001 section 5.2).
var initialSalt = []byte{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a}

// InitialKeys derives the keys of both ends' Initial packets (RFC 9001 section 5.2) from the
// connection ID to which the client sends its first packet.
func InitialKeys(destination []byte) (client, server *PacketKeys) {
	s := suites[0x1301]
	secret, err := hkdf.Extract(sha256.New, destination, initialSalt)
	if err != nil {
		secret = nil // only FIPS 140 mode refuses the salt: decryption will fail
	}
	derive := func(label string) *PacketKeys { return NewPacketKeys(s, s.expand(secret, label, sha256.Size)) }
	return derive("client in"), derive("server in")
}

// Open removes the header and packet protection of a packet (RFC 9001 section 5) and returns its
// frames, which are valid until the next call. ok is false if the keys are not the packet's.
func (k *PacketKeys) Open(p Packet) (frames []byte, ok bool) {
	const longestNumber, sample = 4, 16 // octets
	if len(p.data) < p.number+longestNumber+sample {
		return nil, false
	}
	mask := k.masked
	k.mask(mask, p.data[p.number+longestNumber:][:sample])
	head := append(k.head[:0], p.data[:p.number+longestNumber]...)
	k.head = head
	if p.Level == Application {
		head[0] ^= mask[0] & 0x1f
	} else {
		head[0] ^= mask[0] & 0x0f
	}
	size := int(head[0]&3) + 1
	head = head[:p.number+size]
	truncated := uint64(0)
	for i := range size {
		head[p.number+i] ^= mask[1+i]
		truncated = truncated<<8 | uint64(head[p.number+i])
	}
	number, body := packetNumber(k.largest, truncated, size), p.data[len(head):]
	if phase := head[0] >> 2 & 1; p.Level == Application && phase != k.phase {
		frames, ok = k.other(number, body, head)
	} else {
		frames, ok = k.keys.Open(k.text[:0], number, body, head)
	}
	if ok {
		k.largest, k.number, k.text = max(k.largest, number), number, frames
	}
	return frames, ok
}

// other decrypts a packet of the next key phase (RFC 9001 section 6) or of the previous one.
func (k *PacketKeys) other(number uint64, body, head []byte) ([]byte, bool) {
	s := k.keys.suite
	next := newKeys(s, s.expand(k.keys.secret, "quic ku", s.hash().Size()), "quic ")
	if text, ok := next.Open(k.text[:0], number, body, head); ok {
		k.keys, k.before, k.phase = next, k.keys, 1-k.phase
		return text, true
	}
	if k.before == nil {
		return nil, false
	}
	return k.before.Open(k.text[:0], number, body, head)
}

// packetNumber restores a full packet number (RFC 9000 appendix A.3).
func packetNumber(largest, truncated uint64, size int) uint64 {
	expected, window := largest+1, uint64(1)<<(8*size)
	candidate := expected&^(window-1) | truncated
	switch {
	case candidate+window/2 <= expected && candidate < 1<<62-window:
		return candidate + window
	case candidate > expected+window/2 && candidate >= window:
		return candidate - window
	}
	return candidate
}
