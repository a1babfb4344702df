package critical

import "wiretime/protection"

// quicReader reads the packets of a QUIC version 1 connection.
type quicReader struct {
	connection *connection
	keys       keyLog
	suite      *protection.Suite
	secrets    map[string][]byte
	openers    [2][4]*protection.PacketKeys // by direction and level; none for early data, which stays encrypted
	greetings  [2]assembly                  // what the ends send at the initial level
	crypto     map[cryptoLane]*lane
	streams    map[streamLane]*lane
	order      []uint64 // requests' streams
	requests   map[uint64]*assembly
}

type cryptoLane struct {
	direction direction
	level     protection.Level
}

type streamLane struct {
	direction direction
	id        uint64
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

// packet reads the first packet of a datagram and returns the rest.
func (q *quicReader) packet(p *packet, datagram []byte) []byte {
	parsed, rest, ok := protection.ParsePacket(datagram, q.connection.idLengths[p.direction])
	if !ok {
		return nil
	}
	if parsed.Level != protection.Application {
		q.connection.idLengths[1-p.direction] = len(parsed.Source) // packets to a sender carry the ID that it chose
	}
	if p.direction == up && parsed.Level == protection.Initial && q.openers[up][protection.Initial] == nil {
		q.openers[up][protection.Initial], q.openers[down][protection.Initial] = protection.InitialKeys(parsed.Destination)
	}
	if keys := q.openers[p.direction][parsed.Level]; keys != nil {
		if frames, ok := keys.Open(parsed); ok {
			q.frames(p, parsed.Level, frames)
		}
	}
	return rest
}

// frames takes in what a packet carries.
func (q *quicReader) frames(p *packet, l protection.Level, payload []byte) {
	for f := range protection.Frames(payload) {
		switch f.Kind {
		case protection.Crypto:
			q.handshake(p, l, f.Offset, f.Data)
		case protection.Stream:
			q.stream(p, f.StreamID, f.Offset, f.Data, f.Fin)
		}
	}
}

// handshake takes in octets of the TLS handshake, and the secrets that it
// selects.
func (q *quicReader) handshake(p *packet, l protection.Level, offset uint64, content []byte) {
	key := cryptoLane{p.direction, l}
	if q.crypto[key] == nil {
		q.crypto[key] = &lane{direction: p.direction, greets: true}
		q.connection.lanes = append(q.connection.lanes, q.crypto[key])
	}
	q.crypto[key].add(p, int64(offset), int64(offset)+int64(len(content)))
	if l != protection.Initial {
		return
	}
	greeting := &q.greetings[p.direction]
	greeting.add(offset, content)
	rest := messages(greeting.data[greeting.read:], func(kind byte, body []byte) {
		switch kind {
		case clientHello:
			q.secrets = q.keys[string(clientRandom(body))]
		case serverHello:
			q.suite = chosenSuite(body)
		}
	})
	greeting.read = len(greeting.data) - len(rest)
	q.derive()
}

// derive creates every key whose inputs are known.
func (q *quicReader) derive() {
	if q.suite == nil {
		return
	}
	for d := range q.openers {
		for level, label := range map[protection.Level]string{protection.Handshake: handshakeLabels[d], protection.Application: trafficLabels[d]} {
			if secret := q.secrets[label]; secret != nil && q.openers[d][level] == nil {
				q.openers[d][level] = protection.NewPacketKeys(q.suite, secret)
			}
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
