package metric

var drops = Metric{
	Name: "drops", Unit: "packets", Title: "Drops",
	Definition: "Packets of both directions that the emulator dropped, for whatever reason: random loss, full queue, outage, handover.",
	Of: func(l *Load) (float64, bool) {
		if l.Packets == nil {
			return 0, false
		}
		n := 0
		for i := range l.Packets.Records {
			if isDropped(&l.Packets.Records[i]) {
				n++
			}
		}
		return float64(n), true
	},
}
