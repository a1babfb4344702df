package metric

var bytesDown = Metric{
	Name: "bytes_down", Unit: "B", Title: "Bytes down",
	Definition: "Octets of the IP packets that reached the client during the capture, headers and DNS included.",
	Of:         func(l *Load) (float64, bool) { return l.octets(true) },
}
