// Package sandboxtest has what tests of contained programs share.
package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wiretime/sandbox"
)

// Folder makes a folder, removed after the test, that a contained program can get to: those of t.TempDir lie in one that
// is closed to other users.
func Folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o711); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Check expects a running program to be contained: it can gain no rights, has none of root's but those to listen on any port
// and to get to what it may read, its system calls are filtered, and it has a user of its own if this is root.
func Check(t *testing.T, pid int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	capabilities, err := strconv.ParseUint(status["CapEff"], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if extra := capabilities &^ (1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_DAC_READ_SEARCH); extra != 0 {
		t.Errorf("%s has capabilities %x", status["Name"], extra)
	}
	if status["NoNewPrivs"] != "1" {
		t.Errorf("%s can gain rights", status["Name"])
	}
	if sandbox.Filtered() && status["Seccomp"] != "2" {
		t.Errorf("the system calls of %s are not filtered", status["Name"])
	}
	if own := strings.Fields(status["Uid"]); os.Geteuid() == 0 && slices.Contains(own, "0") {
		t.Errorf("%s is root: %v", status["Name"], own)
	}
	if environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && strings.Contains(string(environment), Secret) {
		t.Errorf("%s has this program's environment", status["Name"])
	}
}

// Secret is a variable that tests set in their own environment, which no contained program gets.
const Secret = "WIRETIME_TEST_SECRET"
