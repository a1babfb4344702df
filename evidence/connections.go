package evidence

import "wiretime/capture"

// Connection is a TCP connection, or a QUIC one (a UDP flow to port 443), as the client's interfaces show it.
type Connection struct {
	Flow       capture.Flow // from the client to the server
	Opened     bool         // the client's first packet of a handshake was seen
	Answered   bool         // and so was the server's
	FlightLost bool         // of what the client sent before that, something never arrived
	syn        uint32       // TCP: the sequence number it was opened with
}

// Established reports whether the capture holds the connection's handshake.
func (c *Connection) Established() bool { return c.Opened && c.Answered }

// Connections returns every connection with a packet at the client's interfaces, in the order of their first packets.
// DNS is not among them. A flow is several connections if a later SYN has another sequence number: of hundreds of
// connections one after another, some get a port that one before them had.
func (e *Evidence) Connections() []*Connection {
	if e.connections == nil {
		e.connections = connections(e)
	}
	return e.connections
}

func connections(e *Evidence) (list []*Connection) {
	known := map[capture.Flow]*Connection{}
	for p := range e.AtClient() {
		flow := p.FromClient()
		isTCP := flow.Protocol == capture.TCP && flow.Destination.Port() != PortDNS
		isQUIC := flow.Protocol == capture.UDP && flow.Destination.Port() == PortHTTPS
		if !isTCP && !isQUIC {
			continue
		}
		c := known[flow]
		isSYN := isTCP && !p.Inbound && p.Opens()
		if c == nil || isSYN && c.Opened && c.syn != p.Sequence {
			c = &Connection{Flow: flow}
			known[flow] = c
			list = append(list, c)
		}
		if isSYN {
			c.syn = p.Sequence
		}
		if !p.Inbound && !c.Answered && p.Dropped() {
			c.FlightLost = true
		}
		switch {
		case !p.Inbound && p.Opens():
			c.Opened = true
		case p.Inbound && (isQUIC || p.Flags.Has(capture.SYN|capture.ACK)):
			c.Answered = true
		}
	}
	return list
}
