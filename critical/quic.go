package critical

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"wiretime/capture"
)

const version1 = 1

// level is an encryption level (RFC 9001 section 4).
type level uint8

const (
	initial level = iota
	early         // its packets stay encrypted
	handshake
	application
)

// identity is how packets of a QUIC connection are recognised by their
// connection IDs.
type identity struct {
	lengths [2]int   // of the connection IDs in packets of each direction
	known   [][]byte // those that the server issued
}

// quicReader reads the packets of a QUIC version 1 connection.
type quicReader struct {
	connection *connection
	keys       keyLog
	suite      *suite
	secrets    map[string][]byte
	seals      [2][4]*protection
	largest    [2][4]uint64 // packet numbers, by direction and level; early data counts as application
	greetings  [2]assembly  // what the ends send at the initial level
	crypto     map[cryptoLane]*lane
	streams    map[streamLane]*lane
	order      []uint64 // requests' streams
	requests   map[uint64]*assembly
}

type cryptoLane struct {
	direction direction
	level     level
}

type streamLane struct {
	direction direction
	id        uint64
}

// protection is the keys of one direction at one level.
type protection struct {
	*seal
	header []byte // header protection key
	phase  byte   // of the seal's keys
	before *seal  // of the previous phase
}

func newProtection(s *suite, secret []byte) *protection {
	return &protection{seal: newSeal(s, secret, "quic "), header: s.expand(secret, "quic hp", s.size)}
}

// readQUIC decrypts the connection's packets, assigns the octets of its handshake
// and streams to lanes, and reads the HTTP/3 requests. Early data stays encrypted,
// since Go servers do not log its secret: a request in it leaves an exchange without
// a URL.
func (c *connection) readQUIC(keys keyLog) {
	q := &quicReader{
		connection: c, keys: keys,
		crypto: map[cryptoLane]*lane{}, streams: map[streamLane]*lane{}, requests: map[uint64]*assembly{},
	}
	for _, p := range c.packets {
		for data := p.headers.Payload; len(data) > 0; {
			data = q.packet(p, data)
		}
	}
	for _, id := range q.order {
		x := &exchange{connection: c, url: requestURL(q.requests[id].data)}
		for _, d := range []direction{up, down} {
			if l := q.streams[streamLane{d, id}]; l != nil {
				x.lanes[d], x.parts[d] = l, []part{{span{0, never}, true}}
			}
		}
		c.exchanges = append(c.exchanges, x)
	}
}

// packet reads the first packet of a datagram (RFC 9000 section 17) and returns
// the rest.
func (q *quicReader) packet(p *packet, data []byte) []byte {
	r := reader{data: data}
	first := r.octet()
	at, end := application, len(data)
	if first&0x80 == 0 {
		r.take(q.connection.identity.lengths[p.direction])
	} else {
		version := binary.BigEndian.Uint32(r.take(4))
		destination, source := r.take(int(r.octet())), r.take(int(r.octet()))
		const retry = 3
		kind := first >> 4 & 3
		if r.failed || version != version1 || kind == retry {
			return nil
		}
		at = level(kind)
		if at == initial {
			r.take(int(r.number()))
		}
		length := r.number()
		if end = r.at + int(min(length, uint64(len(data)))); r.failed || end > len(data) {
			return nil
		}
		q.identify(p.direction, source)
		if p.direction == up && at == initial && q.seals[up][initial] == nil {
			q.begin(destination)
		}
	}
	if !r.failed {
		q.open(p, at, data[:end], r.at)
	}
	return data[end:]
}

// identify records the connection ID that a sender chose: packets to it carry that
// ID.
func (q *quicReader) identify(d direction, source []byte) {
	i := &q.connection.identity
	i.lengths[1-d] = len(source)
	if d == down && len(source) > 0 {
		i.known = append(i.known, source)
	}
}

// begin derives the first keys from the connection ID that the client chose for
// the server (RFC 9001 section 5.2).
func (q *quicReader) begin(destination []byte) {
	s := suites[0x1301]
	secret, err := capture.InitialSecret(destination)
	if err != nil {
		return
	}
	for d, label := range [2]string{"client in", "server in"} {
		q.seals[d][initial] = newProtection(s, s.expand(secret, label, sha256.Size))
	}
}

// open removes the header and packet protection (RFC 9001 section 5) and reads
// the packet's frames. at is the offset of the packet number.
func (q *quicReader) open(p *packet, l level, data []byte, at int) {
	keys := q.seals[p.direction][l]
	if keys == nil || at+4+16 > len(data) {
		return
	}
	mask := keys.suite.mask(keys.header, data[at+4:at+20])
	data = bytes.Clone(data)
	if data[0]&0x80 != 0 {
		data[0] ^= mask[0] & 0x0f
	} else {
		data[0] ^= mask[0] & 0x1f
	}
	size := int(data[0]&3) + 1
	truncated := uint64(0)
	for i := range size {
		data[at+i] ^= mask[1+i]
		truncated = truncated<<8 | uint64(data[at+i])
	}
	space := l
	if space == early {
		space = application
	}
	number := packetNumber(q.largest[p.direction][space], truncated, size)
	head, body := data[:at+size], data[at+size:]
	text, ok := []byte(nil), false
	if phase := data[0] >> 2 & 1; l == application && phase != keys.phase {
		text, ok = keys.other(number, body, head)
	} else {
		text, ok = keys.open(number, body, head)
	}
	if !ok {
		return
	}
	q.largest[p.direction][space] = max(q.largest[p.direction][space], number)
	q.frames(p, l, text)
}

// other decrypts a packet of the next key phase (RFC 9001 section 6) or of the
// previous one.
func (k *protection) other(number uint64, body, head []byte) ([]byte, bool) {
	s := k.suite
	next := newSeal(s, s.expand(k.secret, "quic ku", s.hash().Size()), "quic ")
	if text, ok := next.open(number, body, head); ok {
		k.seal, k.before, k.phase = next, k.seal, 1-k.phase
		return text, true
	}
	if k.before == nil {
		return nil, false
	}
	return k.before.open(number, body, head)
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

// frames reads a packet's frames (RFC 9000 section 19) up to the first unknown one.
func (q *quicReader) frames(p *packet, l level, text []byte) {
	r := reader{data: text}
	for len(r.data) > r.at && !r.failed {
		switch kind := r.number(); kind {
		case 0x00, 0x01, 0x1e: // PADDING, PING, HANDSHAKE_DONE
		case 0x02, 0x03: // ACK
			r.numbers(2)
			ranges := r.number()
			r.number()
			for ; ranges > 0 && !r.failed; ranges-- {
				r.numbers(2)
			}
			if kind == 0x03 {
				r.numbers(3)
			}
		case 0x04: // RESET_STREAM
			r.numbers(3)
		case 0x06: // CRYPTO
			offset := r.number()
			q.handshake(p, l, offset, r.take(int(min(r.number(), uint64(len(text))))))
		case 0x07: // NEW_TOKEN
			r.take(int(min(r.number(), uint64(len(text)))))
		case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f: // STREAM
			r.stream(kind, func(id, offset uint64, content []byte, ends bool) { q.stream(p, id, offset, content, ends) })
		case 0x10, 0x12, 0x13, 0x14, 0x16, 0x17, 0x19: // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
			r.number()
		case 0x05, 0x11, 0x15: // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
			r.numbers(2)
		case 0x18: // NEW_CONNECTION_ID
			r.numbers(2)
			id := r.take(int(r.octet()))
			r.take(16)
			if p.direction == down && !r.failed && len(id) > 0 {
				q.connection.identity.known = append(q.connection.identity.known, bytes.Clone(id))
			}
		case 0x1a, 0x1b: // PATH_CHALLENGE, PATH_RESPONSE
			r.take(8)
		default:
			return
		}
	}
}

// handshake takes in octets of the TLS handshake, and the secrets that it
// selects.
func (q *quicReader) handshake(p *packet, l level, offset uint64, content []byte) {
	if offset >= 1<<62 {
		return
	}
	key := cryptoLane{p.direction, l}
	if q.crypto[key] == nil {
		q.crypto[key] = &lane{direction: p.direction, greets: true}
		q.connection.lanes = append(q.connection.lanes, q.crypto[key])
	}
	q.crypto[key].add(p, int64(offset), int64(offset)+int64(len(content)))
	if l != initial {
		return
	}
	greeting := &q.greetings[p.direction]
	greeting.add(offset, content)
	messages(greeting.data, func(kind byte, body []byte) {
		switch kind {
		case clientHello:
			q.secrets = q.keys[string(clientRandom(body))]
		case serverHello:
			q.suite = chosenSuite(body)
		}
	})
	q.derive()
}

// derive creates every key whose inputs are known.
func (q *quicReader) derive() {
	if q.suite == nil || q.seals[up][application] != nil {
		return
	}
	for d := range q.seals {
		if secret := q.secrets[handshakeLabels[d]]; secret != nil {
			q.seals[d][handshake] = newProtection(q.suite, secret)
		}
		if secret := q.secrets[trafficLabels[d]]; secret != nil {
			q.seals[d][application] = newProtection(q.suite, secret)
		}
	}
}

// stream takes in octets of a stream. Its end counts as one more octet.
func (q *quicReader) stream(p *packet, id, offset uint64, content []byte, ends bool) {
	key := streamLane{p.direction, id}
	if q.streams[key] == nil {
		q.streams[key] = &lane{direction: p.direction}
		q.connection.lanes = append(q.connection.lanes, q.streams[key])
	}
	from, to := int64(offset), int64(offset)+int64(len(content))
	if ends {
		to++
	}
	q.streams[key].add(p, from, to)
	const kinds = 4 // stream types; 0 is for requests (RFC 9000 section 2.1)
	if id%kinds != 0 {
		return
	}
	if q.requests[id] == nil {
		q.requests[id] = &assembly{}
		q.order = append(q.order, id)
	}
	if p.direction == up {
		q.requests[id].add(offset, content)
	}
}

// migrated finds the QUIC connection of a packet from a new address (RFC 9000
// section 9): the one whose server issued the packet's connection ID.
func (t *traffic) migrated(p *packet) *connection {
	payload := p.headers.Payload
	if p.direction != up || len(payload) == 0 || payload[0]&0x80 != 0 {
		return nil
	}
	for _, c := range t.connections {
		for _, id := range c.identity.known {
			if bytes.HasPrefix(payload[1:], id) {
				return c
			}
		}
	}
	return nil
}
