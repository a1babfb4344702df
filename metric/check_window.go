package metric

import (
	"maps"
	"slices"

	"wiretime/capture"
	"wiretime/english"
	"wiretime/evidence"
	"wiretime/study"
)

// checkWindows is rule 1 for the windows that a cell sets: both ends announced them on every
// connection, in SETTINGS or transport parameters, and TCP's window stayed within its buffer.
func checkWindows(ev *evidence.Evidence) []study.Violation {
	if ev.Windows == (evidence.Windows{}) {
		return nil
	}
	return slices.Concat(announcedWindows(ev), tcpWindows(ev))
}

// announcedWindows finds ends that announced another stream window than the cell's on any connection.
func announcedWindows(ev *evidence.Evidence) []study.Violation {
	if ev.Windows.Client == 0 && ev.Windows.Server == 0 {
		return nil
	}
	if ev.Announced == nil {
		return []study.Violation{violation(1, "the load does not show which flow-control windows its connections had")}
	}
	var list []study.Violation
	for _, end := range []struct {
		name      string
		asked     int
		announced []int
	}{{"client", ev.Windows.Client, ev.Announced.Client}, {"server", ev.Windows.Server, ev.Announced.Server}} {
		if end.asked == 0 {
			continue
		}
		if len(end.announced) == 0 {
			list = append(list, violation(1, "the %s announced no flow-control window on any connection", end.name))
		}
		for _, octets := range end.announced {
			if octets != end.asked {
				list = append(list, violation(1, "the %s announced a flow-control window of %d octets, not of %d", end.name, octets, end.asked))
				break
			}
		}
	}
	return list
}

// mostScale is the largest shift count of TCP's windows (RFC 7323, section 2.3).
const mostScale = 14

// tcpWindows finds TCP flows whose windows do not fit the cell's buffer: their sender announced a
// window larger than the buffer, or a window scale too small to announce half of it. (Linux derives the
// scale from the largest buffer, and gives at least half of a buffer to the window.)
func tcpWindows(ev *evidence.Evidence) []study.Violation {
	most := ev.Windows.TCP
	if most == 0 || ev.Packets == nil {
		return nil
	}
	scales := map[capture.Flow]uint8{}
	wrong := map[string]bool{}
	seen := 0
	for s := range ev.AtClient() {
		if s.Flow.Protocol != capture.TCP || s.Flags.Has(capture.RST) {
			continue
		}
		window := int(s.Window)
		if s.Flags.Has(capture.SYN) {
			seen++
			scales[s.Flow] = s.Scale
			if 0xffff<<min(s.Scale, mostScale) < most/2 {
				wrong[s.Flow.String()] = true
			}
		} else {
			window <<= min(scales[s.Flow], mostScale)
		}
		// Windows are rounded up to a multiple of the scale.
		if window > most+1<<min(scales[s.Flow], mostScale) {
			wrong[s.Flow.String()] = true
		}
	}
	if seen == 0 {
		return []study.Violation{violation(1, "the capture has no SYN, so the window scales are not known")}
	}
	if len(wrong) == 0 {
		return nil
	}
	flows := slices.Sorted(maps.Keys(wrong))
	return []study.Violation{violation(1, "the windows of %s do not fit a buffer of %d octets: %s", english.Count(len(flows), "TCP flow"), most, some(flows))}
}
