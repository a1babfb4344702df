package kernel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCongestionControlsAreThoseOfTheGuest asks a guest what its kernel has.
func TestCongestionControlsAreThoseOfTheGuest(t *testing.T) {
	k, m := built(t), machine(t, controlsCommand)
	want, err := k.CongestionControls()
	if err != nil {
		t.Fatal(err)
	}
	if m.Console, err = os.Create(filepath.Join(m.Dir, "console")); err != nil {
		t.Fatal(err)
	}
	defer m.Console.Close()
	g, err := k.Boot(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(m.Console.Name())
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(said), "controls: ")
	list, _, _ = strings.Cut(list, "\n")
	got := strings.Fields(list)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the guest has %q, want %q", got, want)
	}
}

func TestControls(t *testing.T) {
	const fragment = "# CONFIG_TCP_CONG_NV=y\nCONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_YEAH=y\nCONFIG_TCP_CONG_HSTCP=y\n" +
		"CONFIG_TCP_CONG_CUBIC=y\nCONFIG_TCP_CONG_BBR=n\nCONFIG_DEFAULT_CUBIC=y\n"
	if got, want := controls(fragment, []string{"CONFIG_TCP_CONG_YEAH=y"}), []string{"cubic", "highspeed", "reno"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
