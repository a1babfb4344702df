package metric

var packetsDown = Metric{
	Name: "packets_down", Unit: "packets", Title: "Packets down",
	Definition: "IP packets that reached the client during the capture, DNS included.",
	Of:         func(l *Load) (float64, bool) { return l.packets(true) },
}
