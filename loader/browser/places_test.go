package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindPassesOverScriptsAndSnaps checks that only the browser itself is accepted from
// PATH, and that a snap is mentioned if there is nothing else.
func TestFindPassesOverScriptsAndSnaps(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const elf, script = "\x7fELF\x02", "#!/bin/sh\nexec chrome --no-sandbox \"$@\"\n"
	old, fresh := write("opt/150/shell", elf), write("opt/156/shell", elf)
	chrome := write("opt/chrome", elf)
	write("path/scripted", script)
	write("path/ubuntus", "#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n")
	link(write("path/snap", elf), "path/snapped")
	link(chrome, "path/linked")
	t.Setenv("PATH", filepath.Join(dir, "path"))
	for _, tt := range []struct {
		about           string
		patterns, names []string
		binary, looked  string // looked: a part of the message
	}{
		{"the later of two versions", []string{filepath.Join(dir, "opt/*/shell")}, nil, fresh, ""},
		{"the first pattern", []string{filepath.Join(dir, "none/*"), old, fresh}, nil, old, ""},
		{"a link in PATH", []string{filepath.Join(dir, "none")}, []string{"missing", "scripted", "snapped", "linked"}, chrome, ""},
		{"only a script", nil, []string{"scripted"}, "", "in PATH for scripted"},
		{"only a snap", nil, []string{"snapped"}, "", filepath.Join(dir, "path/snapped") + " is a snap, which cannot be used"},
		{"Ubuntu's script around a snap", nil, []string{"ubuntus"}, "", "path/ubuntus is a snap"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			binary, looked := find(tt.patterns, tt.names)
			if binary != tt.binary || !strings.Contains(looked, tt.looked) {
				t.Errorf("%q, looked for %q; want %q and %q", binary, looked, tt.binary, tt.looked)
			}
		})
	}
}
