package metric

var packetsUp = Metric{
	Name: "packets_up", Unit: "packets", Title: "Packets up",
	Definition: "IP packets that the client sent during the capture, DNS included, also those dropped on their way.",
	Of:         func(l *Load) (float64, bool) { return l.packets(false) },
}

// packets counts the packets that entered or left the client.
func (l *Load) packets(inbound bool) (float64, bool) {
	n := 0
	for p := range l.atClient() {
		if p.Inbound == inbound {
			n++
		}
	}
	return float64(n), l.Packets != nil
}
