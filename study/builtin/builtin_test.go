package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	want := []string{
		"cablelabs", "first-look", "first-stream", "first-upload", "google-mobile-77", "google-mobile-77-one-host", "kim-bus", "kim-features", "kim-first-visit",
		"kim-flow-100mbit", "kim-flow-10mbit", "kim-flow-real", "kim-flow-rtt", "kim-flow-upload", "kim-headers", "kim-pairings", "kim-pairings-upload",
		"kim-push", "kim-server", "kim-tables", "kim-tables-browsers", "kim-tables-firefox", "kim-tables-visits", "kolmogortsev", "kolmogortsev-memory",
		"kolmogortsev-near", "loaders", "lulic-1", "lulic-1-pipe", "lulic-2", "lulic-2-live", "lulic-grid", "lulic-journey", "lulic-loss", "lulic-servers", "lulic-servers-real", "lulic-sharding",
		"nam-figure-10", "nam-figure-8", "nam-figure-9", "nam-handover", "nam-handshakes", "nam-handshakes-streams", "nam-hystart", "nam-loading-delay",
		"nam-loading-loss", "nam-loading-reconnections", "nam-manager", "nam-multistreaming", "nam-plt", "nam-rebinding", "nam-rebinding-page", "nam-sack",
		"nam-sack-pages", "nam-ttd-delay", "nam-ttd-loss", "nam-ttd-reconnections", "two-clocks", "two-clocks-loss", "two-clocks-streams",
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
