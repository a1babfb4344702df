package manual_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wiretime/manual"
)

// program is one with everything that pages show, and with text that roff would obey.
func program() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things", Version: "1.2", Long: "Prog does things.\n\nIt isn't quick:\n    0  all went well\n    1  'it' failed \\o/\n\n.hidden files are left alone."}
	run := &cobra.Command{Use: "run STUDY", Short: "Run a study", Run: func(*cobra.Command, []string) {}}
	run.Flags().StringP("store", "s", "results", "folder `DIR` that keeps - the results")
	run.Flags().Bool("quick", false, "measure less")
	run.Flags().Bool("secret", false, "not for people")
	_ = run.Flags().MarkHidden("secret")
	site := &cobra.Command{Use: "site", Short: "Manage sites"}
	site.AddCommand(&cobra.Command{Use: "add DIR", Short: "Add a site", Run: func(*cobra.Command, []string) {}})
	root.AddCommand(run, site, &cobra.Command{Use: "inner", Short: "Hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	return root
}

func TestPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	names, err := manual.Write(program(), dir)
	if want := []string{"prog.1", "prog-run.1", "prog-site.1", "prog-site-add.1"}; err != nil || !slices.Equal(names, want) {
		t.Fatalf("it wrote %q, %v; want %q", names, err, want)
	}
	for name, wants := range map[string][]string{
		"prog.1":          {"prog - Do things", "It isn't quick:", `1  'it' failed \o/`, ".hidden files are left alone.", "prog-run(1)"},
		"prog-run.1":      {"prog run STUDY [flags]", "-s, --store DIR", "folder DIR that keeps - the results (default: results)", "--quick", "prog(1)"},
		"prog-site-add.1": {"prog-site-add - Add a site", "prog-site(1)"},
	} {
		shown := show(t, filepath.Join(dir, name))
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, shown)
			}
		}
		if strings.Contains(shown, "secret") || strings.Contains(shown, "inner") {
			t.Errorf("%s shows what is hidden:\n%s", name, shown)
		}
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := manual.Write(program(), filepath.Join(file, "man1")); err == nil || !strings.HasPrefix(err.Error(), "write the manual: ") {
		t.Errorf("got %v", err)
	}
}

// show has groff set a page as plain text, and fails if it warns of anything.
func show(t *testing.T, page string) string {
	t.Helper()
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed, which would show the pages")
	}
	c := exec.Command("groff", "-man", "-Tascii", "-P-cbou", "-ww", "-rLL=120n", page)
	var warnings bytes.Buffer
	c.Stderr = &warnings
	text, err := c.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("groff: %v: %s", err, &warnings)
	}
	return string(text)
}
