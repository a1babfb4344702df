package metric

import (
	"maps"
	"slices"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// checkSACK is rule 1 for cells that switch selective acknowledgements off: no SYN of either end permits them.
func checkSACK(ev *evidence.Evidence) []study.Violation {
	if !ev.NoSACK || ev.Packets == nil {
		return nil
	}
	permitting, seen := map[string]bool{}, false
	for s := range ev.AtClient() {
		if s.Flow.Protocol != capture.TCP || !s.Flags.Has(capture.SYN) {
			continue
		}
		if seen = true; s.SACK {
			permitting[s.Flow.String()] = true
		}
	}
	if !seen {
		return []study.Violation{violation(1, "the capture has no SYN, so it does not show that selective acknowledgements were off")}
	}
	if len(permitting) == 0 {
		return nil
	}
	flows := slices.Sorted(maps.Keys(permitting))
	return []study.Violation{violation(1, "the SYN of %s permits selective acknowledgements, which the cell switches off: %s", english.Count(len(flows), "TCP flow"), some(flows))}
}
