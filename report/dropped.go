package report

import (
	"fmt"

	"wiretime/store"
)

// Dropped says how many loads of a run have lost their artefacts to its choice of what to keep, and how
// these can be had again; "" if none has.
func Dropped(run store.Run, d store.Drops) string {
	if d.Dropped == 0 {
		return ""
	}
	said := fmt.Sprintf("The artefacts of %d of %d loads were dropped (keep: %s): they have no waterfall, no timeline and no critical path.", d.Dropped, d.Loads, run.Keep)
	if d.Real < d.Dropped {
		said += " 'wiretime reproduce LOAD' brings back those of the virtual clock."
	}
	if d.Real > 0 {
		said += fmt.Sprintf(" Those of %d loads on the real clock are gone for good.", d.Real)
	}
	return said
}
