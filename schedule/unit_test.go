package schedule

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const wantedUnit = `[Unit]
Description=Wiretime schedule week
Wants=network-online.target
After=network-online.target time-sync.target

[Service]
Type=exec
ExecStart="/usr/bin/true" "schedule" "/home/a b/100%%/\"$$x\".yaml"
WorkingDirectory=/home/a b/100%%
Restart=on-failure
RestartSec=10s
RestartPreventExitStatus=2
SuccessExitStatus=130
KillSignal=SIGINT
KillMode=mixed
TimeoutStopSec=60s

[Install]
WantedBy=multi-user.target
`

func TestUnit(t *testing.T) {
	s, dir := week(t, "UTC", Date{2026, 11, 16}), t.TempDir()
	path, err := s.WriteUnit(dir, []string{"/usr/bin/true", "schedule", `/home/a b/100%/"$x".yaml`}, "/home/a b/100%", true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "wiretime-week.service" || string(text) != wantedUnit {
		t.Errorf("%s is\n%s, want\n%s", path, text, wantedUnit)
	}
	if _, err := s.unit([]string{"a\nExecStart=b"}, "/", false); err == nil {
		t.Error("a command with a line break makes a unit")
	}
	if _, err := s.unit([]string{"a"}, "/\n", false); err == nil {
		t.Error("a folder with a line break makes a unit")
	}
}

// TestUnitIsValid has systemd check the unit of a user and that of a machine.
func TestUnitIsValid(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, system := range []bool{false, true} {
		s := week(t, "UTC", Date{2026, 11, 16})
		path, err := s.WriteUnit(t.TempDir(), []string{"/usr/bin/true", "schedule", "/a b.yaml"}, "/", system)
		if err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(verify, "verify", "--man=no", path).CombinedOutput()
		if err != nil || strings.Contains(string(said), filepath.Base(path)) {
			t.Errorf("systemd-analyze verify: %v: %s", err, said)
		}
	}
}
