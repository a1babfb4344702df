// Package sitetest makes folders for tests of what reads them.
package sitetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Folder makes files under a new folder and returns its path. A name that ends in a slash is a
// folder, and content that begins with "-> " makes a symbolic link to what follows.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			if target, ok := strings.CutPrefix(content, "-> "); ok {
				err = os.Symlink(target, file)
			} else if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(file, 0o755)
			} else {
				err = os.WriteFile(file, []byte(content), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
