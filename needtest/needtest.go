// Package needtest decides what becomes of a test that lacks a program.
package needtest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Program skips the test if err says that a program is missing. Where WIRETIME_NEED_PEERS is set, as make test sets it, the
// test fails instead, unless the set-up found that the machine's distribution has no package of the program.
func Program(t testing.TB, name string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("WIRETIME_NEED_PEERS") != "" && !slices.Contains(absent(t), name):
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// absent returns the programs that the set-up could not get on this machine.
func absent(t testing.TB) []string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", ".cache", "absent-programs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal("read which programs the set-up could not get: ", err)
	}
	return strings.Fields(string(text))
}
