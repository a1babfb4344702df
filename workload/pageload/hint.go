package pageload

import (
	"fmt"
	"strings"

	"wiretime/site"
	"wiretime/study"
)

// hinted is how many resources of a document are announced: its first ones, as a site's owner would choose.
const hinted = 20

// hintRule returns the rule for a way of announcing resources. All ways announce the same resources, on the document's
// own host, because a server can push no others.
func hintRule(way string) site.Rule {
	rule := site.Rule{First: hinted, OwnHost: true}
	switch way {
	case study.HintPush:
		rule.Do = site.Push
	case study.HintSubresource:
		rule.Do = site.Subresource
	case study.HintEarly:
		rule.Do = site.Early
	default:
		rule.Do = site.Preload
	}
	return rule
}

// hint returns how the cell's server announces resources, or "" if it does not.
func (b *bound) hint() string {
	if way := b.cell.On(study.AxisHint); way != study.HintNone {
		return way
	}
	return ""
}

// checkHint returns why resources cannot be announced as the cell asks, or "" if they can.
func (b *bound) checkHint() string {
	way, by, over := b.hint(), b.cell.By(), b.protocol
	isSPDY := strings.HasPrefix(over.ALPN, "spdy/")
	switch {
	case way == "":
		return ""
	case by == Fetch:
		return fmt.Sprintf("hint %s: the loader %s asks for all resources at once and reads no hints; use %s", way, Fetch, Builtin)
	case b.foreign():
		return fmt.Sprintf("hint %s: the server %s serves the site without it; use %s", way, b.server.Name, study.ServerOwn)
	case way == study.HintPush && !isSPDY:
		return fmt.Sprintf("hint %s over %s: browsers take no pushes any more, Chromium since version 106 (2022), Firefox since 132 (2024); use %s or %s", way, over.Name, study.HintPreload, study.HintEarly)
	case way == study.HintSubresource && !isSPDY:
		return fmt.Sprintf("hint %s over %s: only SPDY's clients read it; use %s", way, over.Name, study.HintPreload)
	case way == study.HintEarly && isSPDY:
		return fmt.Sprintf("hint %s over %s: SPDY has no interim responses; use %s", way, over.Name, study.HintSubresource)
	case way == study.HintEarly && over.Spoken == "http/1.1":
		return fmt.Sprintf("hint %s over %s: browsers read Early Hints over HTTP/2 and HTTP/3 only; use %s", way, over.Name, study.HintPreload)
	}
	return ""
}
