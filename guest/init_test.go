package guest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnlyAGuestsFirstProcessIsOne: the environment alone makes no process a guest's first one, which would mount over
// the machine's folders and switch it off.
func TestOnlyAGuestsFirstProcessIsOne(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "wiretime")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pid    int
		device string
		want   bool
	}{
		{"a guest's first process", 1, os.DevNull, true},
		{"another process of a guest", 2, os.DevNull, false},
		{"the first process of a container", 1, filepath.Join(t.TempDir(), "absent"), false},
		{"the first process of a container with a file of that name", 1, plain, false},
		{"one with a link of that name", 1, link(t, os.DevNull), false},
	} {
		if got := first(test.pid, test.device); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	t.Setenv(initMark, phaseTimed)
	if os.Getpid() == 1 || unix.Access("/dev/wiretime", unix.F_OK) == nil {
		t.Fatal("this process might be taken for a guest's")
	}
	Init() // which returns
}

func link(t *testing.T, to string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
	return name
}
