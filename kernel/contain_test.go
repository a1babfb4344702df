package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/sandbox"
)

// These name to a guest a file of the host and the folder that the guest may write to.
const (
	secretMark = "SECRET"
	ownMark    = "OWN"
)

// wander mounts the host's whole file system, as root of a guest can, and tries what it can do there.
func wander() error {
	if err := unix.Mount("none", guestResults, "hostfs", 0, strings.Repeat("../", 20)); err != nil {
		return err
	}
	secret, own := os.Getenv(secretMark), filepath.Join(guestResults, os.Getenv(ownMark))
	for _, try := range []struct {
		name string
		do   func() error
	}{
		{"read a secret", func() error { _, err := os.ReadFile(filepath.Join(guestResults, secret)); return err }},
		{"write beside a secret", func() error {
			return os.WriteFile(filepath.Join(guestResults, filepath.Dir(secret), "written"), nil, 0o644)
		}},
		{"remove a secret", func() error { return os.Remove(filepath.Join(guestResults, secret)) }},
		{"list the host's root", func() error { _, err := os.ReadDir(guestResults); return err }},
		{"read the host's users", func() error { _, err := os.ReadFile(filepath.Join(guestResults, "etc/passwd")); return err }},
		{"move a secret to its own folder", func() error {
			return os.Rename(filepath.Join(guestResults, secret), filepath.Join(own, "secret"))
		}},
		{"write to its own folder", func() error { return os.WriteFile(filepath.Join(own, "own"), nil, 0o644) }},
	} {
		how := "works"
		if err := try.do(); err != nil {
			how = "fails"
		}
		fmt.Printf("to %s %s\n", try.name, how)
	}
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// TestAGuestReachesOnlyItsFolders: root of a guest mounts the host's file system, and finds it closed.
func TestAGuestReachesOnlyItsFolders(t *testing.T) {
	k := built(t)
	if sandbox.Landlock() == 0 {
		t.Skip("this machine has no Landlock, without which guests are not contained")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := machine(t, wanderCommand, secretMark+"="+secret)
	m.Args = append(m.Args, ownMark+"="+m.Dir)
	console, err := os.Create(filepath.Join(m.Dir, "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	m.Console = console
	g, err := k.Boot(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(console.Name())
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
	if strings.Count(said, " fails") != 6 || strings.Count(said, " works") != 1 || !strings.Contains(said, "to write to its own folder works") {
		t.Errorf("the guest says:\n%s", said)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
		t.Errorf("the secret is %q, %v", text, err)
	}
}
