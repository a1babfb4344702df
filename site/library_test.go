package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplace checks that the new site takes the place of the old one, which remains usable
// while it is open.
func TestReplace(t *testing.T) {
	l := Library{Dir: filepath.Join(t.TempDir(), "sites")}
	s := threeOrigins(t)
	must(t, l.Replace(s)) // no site has this name yet
	old, err := l.Open(t.Context(), "three")
	must(t, err)
	defer func() { must(t, old.Close()) }()

	s.Title = "Changed"
	must(t, l.Replace(s))
	now, err := l.Open(t.Context(), "three")
	must(t, err)
	defer func() { must(t, now.Close()) }()
	if now.Title != "Changed" || old.Title != "" {
		t.Errorf("titles are %q and %q", now.Title, old.Title)
	}
	must(t, now.Verify(t.Context()))
	must(t, old.Verify(t.Context()))

	s.bodies[s.Resources[0].Body] = []byte("damaged")
	if err := l.Replace(s); err == nil || !strings.Contains(err.Error(), "replace the site three") {
		t.Errorf("replaced by a damaged site: %v", err)
	}
	still, err := l.Open(t.Context(), "three")
	must(t, err)
	must(t, still.Verify(t.Context()))
	must(t, still.Close())
	if left, err := os.ReadDir(l.Dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v is left", left, err)
	}

	s.Name = "magazine"
	if err := l.Replace(s); err == nil || !strings.Contains(err.Error(), "built-in site") {
		t.Errorf("replaced a built-in site: %v", err)
	}
}

// TestExchange covers the fallback of Replace on file systems that cannot exchange names
// atomically.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{a, b} {
		must(t, os.Mkdir(name, 0o755))
		must(t, os.WriteFile(filepath.Join(name, "name"), []byte(filepath.Base(name)), 0o644))
	}
	must(t, exchange(a, b))
	if got := string(content(t, filepath.Join(a, "name"))) + string(content(t, filepath.Join(b, "name"))); got != "ba" {
		t.Errorf("they are now %q", got)
	}
	if err := exchange(filepath.Join(dir, "none"), b); err == nil {
		t.Error("exchanged with a missing folder")
	}
	if got := string(content(t, filepath.Join(b, "name"))); got != "a" {
		t.Errorf("b is %q after a failed exchange", got)
	}
}
