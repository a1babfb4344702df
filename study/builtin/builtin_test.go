package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	want := []string{
		"first-look", "first-stream", "first-upload", "kim-bus", "kim-first-visit", "kim-flow-100mbit", "kim-flow-10mbit", "kim-flow-real",
		"kim-flow-rtt", "kim-flow-upload", "kim-headers", "kim-pairings", "kim-pairings-upload", "kim-push", "kim-server", "kim-tables", "kim-tables-browsers", "kim-tables-firefox", "kim-tables-visits", "kolmogortsev",
		"loaders", "lulic-1", "lulic-grid", "nam-handover", "nam-loading-delay", "nam-loading-loss", "nam-loading-reconnections", "nam-manager",
		"nam-plt", "nam-rebinding", "nam-rebinding-page", "nam-ttd-1gb", "nam-ttd-delay", "nam-ttd-loss", "nam-ttd-reconnections", "two-clocks", "two-clocks-loss",
		"two-clocks-streams",
	}
	if d := cmp.Diff(want, Names()); d != "" {
		t.Error(d)
	}
}

func TestFile(t *testing.T) {
	for _, name := range Names() {
		if src, err := File(name); err != nil || !strings.HasPrefix(string(src), "name: "+name+"\n") {
			t.Errorf("%s (%v) begins %.40q", name, err, src)
		}
	}
	for _, name := range []string{"frist-look", "../first-look", ""} {
		if _, err := File(name); err == nil || !strings.Contains(err.Error(), "first-look") {
			t.Errorf("File(%q): %v, want an error that names first-look", name, err)
		}
	}
}
