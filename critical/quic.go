package critical

import "wiretime/protection"

// quicReader reads the packets of a QUIC version 1 connection.
type quicReader struct {
	connection *connection
	crypto     map[cryptoLane]*lane
	streams    map[streamLane]*lane
	order      []uint64 // requests' streams
	requests   map[uint64]*protection.Assembly
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
func (c *connection) readQUIC(keys protection.KeyLog) {
	q := &quicReader{
		connection: c,
		crypto:     map[cryptoLane]*lane{}, streams: map[streamLane]*lane{}, requests: map[uint64]*protection.Assembly{},
	}
	conversation := protection.NewConversation(keys)
	for _, p := range c.packets {
		conversation.Datagram(int(p.direction), p.headers.Payload, func(o protection.Opened) { q.frames(p, o.Level, o.Payload) })
	}
	for _, id := range q.order {
		x := &exchange{connection: c, url: requestURL(q.requests[id].Data)}
		for _, d := range []direction{up, down} {
			if l := q.streams[streamLane{d, id}]; l != nil {
				x.lanes[d], x.parts[d] = l, []part{{span{0, never}, true}}
			}
		}
		c.exchanges = append(c.exchanges, x)
	}
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

// handshake takes in octets of the TLS handshake.
func (q *quicReader) handshake(p *packet, l protection.Level, offset uint64, content []byte) {
	key := cryptoLane{p.direction, l}
	if q.crypto[key] == nil {
		q.crypto[key] = &lane{direction: p.direction, greets: true}
		q.connection.lanes = append(q.connection.lanes, q.crypto[key])
	}
	q.crypto[key].add(p, int64(offset), int64(offset)+int64(len(content)))
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
		q.requests[id] = &protection.Assembly{}
		q.order = append(q.order, id)
	}
	if p.direction == up {
		q.requests[id].Add(offset, content)
	}
}
