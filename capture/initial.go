package capture

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"wiretime/protection"
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
	keys   *protection.PacketKeys // from its first packet; nil before that
	crypto map[uint64][]byte      // by offset
}

// datagram takes in the Initial packets of a datagram. It stops at the first packet
// it cannot parse.
func (b *beginning) datagram(data []byte) {
	for len(data) > 0 {
		packet, rest, ok := protection.ParsePacket(data, 0)
		if !ok {
			return
		}
		data = rest
		if packet.Level != protection.Initial {
			continue
		}
		if b.keys == nil {
			b.keys, _ = protection.InitialKeys(packet.Destination)
		}
		if payload, ok := b.keys.Open(packet); ok {
			b.collect(payload)
		}
	}
}

// collect collects the CRYPTO frames of a packet.
func (b *beginning) collect(payload []byte) {
	for f := range protection.Frames(payload) {
		if f.Kind == protection.Crypto && len(f.Data) > len(b.crypto[f.Offset]) {
			b.crypto[f.Offset] = bytes.Clone(f.Data)
		}
	}
}

// hello returns the first handshake message once it is complete.
func (b *beginning) hello() []byte {
	const clientHello, head = 1, 4
	var message []byte
	for _, offset := range slices.Sorted(maps.Keys(b.crypto)) {
		data, at := b.crypto[offset], uint64(len(message))
		if offset > at {
			break
		}
		if offset+uint64(len(data)) > at {
			message = append(message, data[at-offset:]...)
		}
	}
	if len(message) < head || message[0] != clientHello {
		return nil
	}
	size := head + int(binary.BigEndian.Uint32(message)&0xffffff)
	if len(message) < size {
		return nil
	}
	return message[:size]
}
