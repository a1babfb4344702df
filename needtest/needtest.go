// Package needtest decides what becomes of a test that lacks a program or takes long.
package needtest

import (
	"os"
	"path/filepath"
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
	root, err := os.Getwd() // the package's folder
	if err != nil {
		t.Fatal("find the folder of go.mod: ", err)
	}
	for root != filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	text, err := os.ReadFile(filepath.Join(root, ".cache", "absent-programs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal("read which programs the set-up could not get: ", err)
	}
	return strings.Fields(string(text))
}

// IsLong reports whether long tests run: WIRETIME_LONG is set, as 'make test-long' sets it.
func IsLong() bool { return os.Getenv("WIRETIME_LONG") != "" }

// Long skips the test unless long tests run.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("it takes long: 'make test-long' runs it, and so does WIRETIME_LONG=1")
	}
}
