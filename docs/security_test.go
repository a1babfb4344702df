package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTestsOfSecurity: the tests that SECURITY.md names exist.
func TestTestsOfSecurity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = fs.WalkDir(os.DirFS(top), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(filepath.Join(top, path))
		for _, m := range function.FindAllSubmatch(source, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(text, -1)
	if len(named) < 50 {
		t.Errorf("SECURITY.md names %d tests, want at least 50", len(named))
	}
	for _, m := range named {
		if !declared[string(m[1])] {
			t.Errorf("SECURITY.md names %s, which no folder has", m[1])
		}
	}
}
