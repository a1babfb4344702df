package docs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// folders returns the folders of the module that have Go code, each with the folders of ours that its code, without
// the tests, imports.
func folders(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	list.Dir = top
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		var ours []string
		for _, imported := range words[1:] {
			if name, is := strings.CutPrefix(imported, "wiretime/"); is {
				ours = append(ours, name)
			}
		}
		all[strings.TrimPrefix(words[0], "wiretime/")] = ours
	}
	return all
}

// rule is the files of a depguard rule, as globs in which "!" excludes.
type rule struct {
	Files []string `yaml:"files"`
}

func (r rule) applies(file string) bool {
	some, included := false, false
	for _, glob := range r.Files {
		text, excludes := strings.CutPrefix(glob, "!")
		text = regexp.QuoteMeta(strings.ReplaceAll(text, "${base-path}/", ""))
		text = strings.NewReplacer(`\*\*`, `.*`, `\*`, `[^/]*`).Replace(text)
		matches := regexp.MustCompile("^" + text + "$").MatchString(file)
		if excludes && matches {
			return false
		}
		some, included = some || !excludes, included || !excludes && matches
	}
	return included || !some
}

// TestEachFolderHasOneRule: depguard has exactly one rule for each folder, and a folder that is new anywhere falls under
// the rule that allows next to nothing.
func TestEachFolderHasOneRule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]rule `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	rules := func(folder string) (names []string) {
		for _, name := range slices.Sorted(maps.Keys(file.Linters.Settings.Depguard.Rules)) {
			if file.Linters.Settings.Depguard.Rules[name].applies(folder + "/x.go") {
				names = append(names, name)
			}
		}
		return names
	}
	all := folders(t)
	if len(all) == 0 {
		t.Fatal("the module has no folders")
	}
	used := map[string]bool{}
	for folder := range all {
		if got := rules(folder); len(got) != 1 {
			t.Errorf("%s has the rules %q, want one", folder, got)
		} else {
			used[got[0]] = true
		}
		if got := rules(folder + "/new"); !slices.Equal(got, []string{"standalone"}) {
			t.Errorf("a new folder %s/new has the rules %q, want standalone", folder, got)
		}
		if parent := filepath.Dir(folder); parent != "." && parent != "cmd" {
			if got := rules(parent + "/new"); !slices.Equal(got, []string{"standalone"}) {
				t.Errorf("a new folder %s/new has the rules %q, want standalone", parent, got)
			}
		}
	}
	for name := range file.Linters.Settings.Depguard.Rules {
		if !used[name] {
			t.Errorf("rule %s is for no folder", name)
		}
	}
}

// TestTableOfFolders: the table in architecture.md has every folder but those for tests and commands, and the imports that
// the code has. A row may be of several folders. A folder without
// code, such as media, stands for all that are below it, and "anything" leaves the imports open.
func TestTableOfFolders(t *testing.T) {
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| folder |")
	table, _, _ = strings.Cut(table, "\n\n")
	all, code := folders(t), regexp.MustCompile("`([^`]+)`")
	names := func(cell string) (names []string) {
		for _, match := range code.FindAllStringSubmatch(cell, -1) {
			names = append(names, match[1])
		}
		return names
	}
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		rowFolders := names(cells[1])
		want := map[string]bool{}
		for _, folder := range rowFolders {
			if _, is := all[folder]; !is {
				t.Errorf("there is no folder %s", folder)
			}
			if seen[folder] {
				t.Errorf("%s has two rows", folder)
			}
			seen[folder] = true
			for _, imported := range all[folder] {
				if !slices.Contains(rowFolders, imported) {
					want[imported] = true
				}
			}
		}
		var got []string
		for _, name := range names(cells[3]) {
			before := len(want)
			if _, is := all[name]; !is {
				maps.DeleteFunc(want, func(imported string, _ bool) bool { return strings.HasPrefix(imported, name+"/") })
			}
			if len(want) == before {
				got = append(got, name)
			}
		}
		if len(rowFolders) > 0 && !strings.Contains(cells[3], "anything") && !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: the table's imports are %q, the code's `%s`", rowFolders, got, strings.Join(slices.Sorted(maps.Keys(want)), "`, `"))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		if !seen[folder] && folder != "docs" && !strings.HasSuffix(folder, "test") && !strings.HasPrefix(folder, "cmd/") {
			t.Errorf("the table has no row for %s", folder)
		}
	}
}
