package kernel

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInRelease: the kernel of a release is taken if it is this program's and whole.
func TestInRelease(t *testing.T) {
	whole := func(version, recipe string) Record {
		return Record{Version: version, SourceSHA256: version, Recipe: recipe, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(version)))}
	}
	ours, foreign := whole("7.3.4", recipeHash()), whole("7.4", "another program's")
	damaged := whole("7.3.5", recipeHash())
	damaged.SHA256 = strings.Repeat("0", 64)
	for _, test := range []struct {
		name  string
		there []Record
		found string // its version
		says  string
	}{
		{"none", nil, "", "neither beside"},
		{"its own", []Record{ours}, "7.3.4", ""},
		{"its own, and one of a release that was there before", []Record{foreign, ours}, "7.3.4", ""},
		{"of another release", []Record{foreign}, "", "another release"},
		{"with other bytes of the same number", []Record{damaged}, "", "wrong checksum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for _, r := range test.there {
				keep(t, root, r)
			}
			k, err := inRelease(root)
			if k.Version != test.found || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it gave Linux %q and %v, want %q and %q", k.Version, err, test.found, test.says)
			}
			if errors.Is(err, ErrNotBuilt) != (test.there == nil) {
				t.Errorf("%v is wrong about whether there is one at all", err)
			}
		})
	}
	t.Run("without its executable", func(t *testing.T) {
		root := t.TempDir()
		if err := os.Remove(keep(t, root, ours).Path); err != nil {
			t.Fatal(err)
		}
		if k, err := inRelease(root); err == nil || errors.Is(err, ErrNotBuilt) {
			t.Errorf("it gave %v, %v", k, err)
		}
	})
	t.Run("by way of a link", func(t *testing.T) {
		root := t.TempDir()
		keep(t, root, ours)
		link := filepath.Join(t.TempDir(), "kernel")
		if err := os.Symlink(root, link); err != nil {
			t.Fatal(err)
		}
		if k, err := inRelease(link); err != nil || k.Version != "7.3.4" {
			t.Errorf("it gave %v, %v", k, err)
		}
	})
}
