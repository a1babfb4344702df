package pageload

import (
	"fmt"
	"strings"

	"wiretime/study"
)

// without returns what the cell's protocol does without, or "" if it does all that it usually does.
func (b *bound) without() string {
	if b.cell.Unusual(study.AxisWithout) {
		return b.cell.On(study.AxisWithout)
	}
	return ""
}

// checkWithout returns why the protocol cannot do without what the cell says, or "" if it can.
func (b *bound) checkWithout() string {
	without := b.without()
	spdy, priorities := strings.HasPrefix(b.protocol.Name, "spdy/"), without == study.WithoutPriorities
	switch {
	case without == "":
		return ""
	case priorities && b.protocol.Name == "h2":
		return "without priorities over h2: Wiretime's server gives all its responses an equal turn in any case"
	case priorities && b.protocol.Name == "h3" && b.cell.By() != Builtin && b.cell.By() != Fetch:
		return fmt.Sprintf("without %s over h3: the loader %s states them, and the server cannot be told to ignore them; use %s", without, b.cell.By(), Builtin)
	case !spdy && !priorities:
		return fmt.Sprintf("without %s over %s: only SPDY can be told to here", without, b.protocol.Name)
	case !spdy && b.protocol.Name != "h3":
		return fmt.Sprintf("without %s over %s: it has none", without, b.protocol.Name)
	case b.foreign():
		return fmt.Sprintf("without %s: the server %s cannot be told to; use %s", without, b.server.Name, study.ServerOwn)
	case priorities && b.cell.By() == Fetch:
		return fmt.Sprintf("without %s: the loader %s asks for none; use %s", without, Fetch, Builtin)
	}
	return ""
}
