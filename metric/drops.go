package metric

import (
	"strings"

	"wiretime/capture"
)

var drops = Metric{
	Name: "drops", Unit: "packets", Title: "Drops",
	Definition: "Packets of both directions that the emulator dropped, for whatever reason: random loss, full queue, outage, handover.",
	Of: func(l *Load) (float64, bool) {
		if l.Packets == nil {
			return 0, false
		}
		n := 0
		for i := range l.Packets.Records {
			if strings.HasPrefix(l.Packets.Records[i].Comment, capture.DroppedPrefix) {
				n++
			}
		}
		return float64(n), true
	},
}
