package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn is the script that takes the place of each program that the set-up runs. The one that is to fail says why in many
// lines; one that is to wait does so until it is stopped; all others succeed.
const standIn = `#!/bin/sh
call="${0##*/} $*"
case $call in
$FAILS)
	i=0
	while [ $i -lt 40 ]; do i=$((i + 1)); echo "line $i of what went wrong" >&2; done
	exit 7
	;;
$WAITS) exec /bin/sleep 1000 ;;
"apt-get indextargets"*) echo /var/lib/apt/lists/x_Packages ;;
"apt-cache policy"*)
	shift
	for package; do printf '%s:\n  Installed: (none)\n  Candidate: 1\n' "$package"; done
	;;
esac
`

// TestEachProgramFailsOnce makes each program that the set-up runs fail once, in every step. The set-up says at once which step failed,
// with the end of what the program printed and what to type, stops what is under way besides, and ends with exit code 1.
func TestEachProgramFailsOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root installs packages")
	}
	binary := program(t)
	for _, tt := range []struct {
		fails string // a pattern of sh
		waits string // what is under way meanwhile
		goal  []string
		step  string
		again string // what to type, if it is one command
	}{
		{"make*page", "", []string{"real"}, "report's page", "make page"},
		{"make*build", "", []string{"real"}, "bin/wiretime", "make build"},
		{"make*linter", "gcc*--version*", []string{"tests"}, "golangci-lint", "make linter"},
		{"gcc*--version*", "make*page", []string{"virtual"}, "kernel", "make kernel"},
		{"dpkg*--audit*", "make*readers", []string{"-packages-only", "tests"}, "lists of packages", "apt-get update"},
		{"apt-get*update", "make*readers", []string{"-packages-only", "tests"}, "lists of packages", "apt-get update"},
		{"apt-get*indextargets*", "make*readers", []string{"-packages-only", "tests"}, "packages: compiler", "apt-get install"},
		{"apt-cache*policy*", "make*readers", []string{"-packages-only", "tests"}, "packages: compiler", "apt-get install"},
		{"apt-get*--download-only*gcc*", "make*readers", []string{"-packages-only", "tests"}, "packages: compiler", "apt-get install"},
		{"apt-get*--no-download*gcc*", "make*readers", []string{"-packages-only", "tests"}, "packages: compiler", "apt-get install"},
		{"apt-get*--download-only*caddy*", "make*readers", []string{"-packages-only", "tests"}, "packages", "apt-get install"},
		{"apt-get*--no-download*caddy*", "make*readers", []string{"-packages-only", "tests"}, "packages", "apt-get install"},
		{"make*peers", "make*readers", []string{"-packages-only", "tests"}, "SPDY's peers", "make peers"},
		{"make*readers", "make*peers", []string{"-packages-only", "tests"}, "other people's readers", "make readers"},
	} {
		t.Run(tt.fails, func(t *testing.T) {
			here, path := t.TempDir(), t.TempDir()
			script := strings.NewReplacer("$FAILS", tt.fails, "$WAITS", tt.waits+"''").Replace(standIn)
			for _, name := range []string{"make", "dpkg", "apt-get", "apt-cache", "gcc", "flex", "bison", "bc", "patch", "tar", "xz", "ld", "strip"} {
				if strings.HasPrefix(tt.goal[0], "-") && name != "make" && name != "dpkg" && !strings.HasPrefix(name, "apt") {
					continue // so that the compiler's packages are missing
				}
				if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.CommandContext(t.Context(), binary, tt.goal...)
			c.Dir, c.Env = here, []string{"HOME=" + here, "PATH=" + path}
			out, err := c.CombinedOutput()
			if code := exitCode(t, err); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			_, cause, ok := strings.Cut(string(out), "-- "+tt.step+": failed: ")
			if !ok {
				t.Fatalf("the output does not say that %s failed:\n%s", tt.step, out)
			}
			cause, rest, _ := strings.Cut(cause, "\n   This step alone: ")
			if !strings.Contains(cause, "exit status 7") || !strings.Contains(cause, "\nline 40 of what went wrong") || strings.Contains(cause, "line 20 ") {
				t.Errorf("the cause is not the exit status and the last lines:\n%s", cause)
			}
			if !strings.HasPrefix(rest, tt.again) {
				t.Errorf("what to type begins %.40q, want %q", rest, tt.again)
			}
			if last := lastLine(out); !strings.HasPrefix(last, "setup: "+tt.step+" failed, as shown above") {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
