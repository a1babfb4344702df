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
	switch {
	case without == "":
		return ""
	case !strings.HasPrefix(b.protocol.Name, "spdy/"):
		return fmt.Sprintf("without %s over %s: only SPDY can be told to here", without, b.protocol.Name)
	case b.foreign():
		return fmt.Sprintf("without %s: the server %s cannot be told to; use %s", without, b.server.Name, study.ServerOwn)
	case without == study.WithoutPriorities && b.cell.By() == Fetch:
		return fmt.Sprintf("without %s: the loader %s asks for none; use %s", without, Fetch, Builtin)
	}
	return ""
}
