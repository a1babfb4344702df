package report

import (
	"fmt"

	"wiretime/store"
	"wiretime/study"
)

// Dropped says how many loads of a run have lost their artefacts to its choice of what to keep, and how
// these can be had again; "" if none has.
func Dropped(run store.Run, loads []store.Load) string {
	dropped, real := 0, 0
	for _, l := range loads {
		if l.Dropped {
			dropped++
			if l.Cell.Clock() == study.ClockReal {
				real++
			}
		}
	}
	if dropped == 0 {
		return ""
	}
	said := fmt.Sprintf("The artefacts of %d of %d loads were dropped (keep: %s): they have no waterfall, no timeline and no critical path.", dropped, len(loads), run.Keep)
	if real < dropped {
		said += " 'wiretime reproduce LOAD' brings back those of the virtual clock."
	}
	if real > 0 {
		said += fmt.Sprintf(" Those of %d loads on the real clock are gone for good.", real)
	}
	return said
}
