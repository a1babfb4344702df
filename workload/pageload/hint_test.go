package pageload

import (
	"strings"
	"testing"

	"wiretime/protocol"
	"wiretime/study"
)

func TestUnsupportedHints(t *testing.T) {
	for _, test := range []struct{ way, loader, over, want string }{
		{study.HintNone, Fetch, "h2", ""},
		{study.HintPush, Builtin, "spdy/3", ""},
		{study.HintSubresource, Builtin, "spdy/2", ""},
		{study.HintPreload, Chromium, "http/1.1", ""},
		{study.HintEarly, Chromium, "h3", ""},
		{study.HintPreload, Fetch, "h2", "reads no hints; use builtin"},
		{study.HintPush, Chromium, "h2", "browsers take no pushes any more, Chromium since version 106"},
		{study.HintPush, Builtin, "https/1.1", "browsers take no pushes"},
		{study.HintSubresource, Builtin, "h2", "only SPDY's clients read it; use preload"},
		{study.HintEarly, Builtin, "spdy/3.1", "SPDY has no interim responses"},
		{study.HintEarly, Chromium, "https/1.1", "over HTTP/2 and HTTP/3 only"},
	} {
		row, err := protocol.Lookup(test.over)
		if err != nil {
			t.Fatal(err)
		}
		cell := study.NewCell(study.Pages(), map[study.Axis]string{study.AxisHint: test.way, study.AxisLoader: test.loader}, study.Cell{}.Network)
		b := &bound{cell: cell, protocol: row}
		if why := b.checkHint(); (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("%s by %s over %s: %q, want %q", test.way, test.loader, test.over, why, test.want)
		}
	}
}
