package metric

var connectionCount = Metric{
	Name: "connections", Unit: "connections", Title: "Connections",
	Definition: "Connections that the client's interfaces show the client opened and that were answered, used or not: " +
		"TCP with SYN and SYN-ACK (DNS left out); QUIC as UDP flows to port 443 that begin with a long header and had an answer, " +
		"so that a flow a connection migrated to does not count again.",
	Of: func(l *Load) (float64, bool) {
		n := 0
		for _, c := range l.connections() {
			if c.established() {
				n++
			}
		}
		return float64(n), l.Packets != nil
	},
}
