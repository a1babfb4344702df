package metric

var bytesUp = Metric{
	Name: "bytes_up", Unit: "B", Title: "Bytes up",
	Definition: "Octets of the IP packets that the client sent during the capture, headers and DNS included, also those dropped on their way.",
	Of:         func(l *Load) (float64, bool) { return l.octets(false) },
}

// octets adds up the sizes of the packets that entered or left the client.
func (l *Load) octets(inbound bool) (float64, bool) {
	n := 0
	for p := range l.atClient() {
		if p.Inbound == inbound {
			n += p.Length
		}
	}
	return float64(n), l.Packets != nil
}
