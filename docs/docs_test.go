// Package docs holds the documentation to the program and the repository: its tests fail where a page names
// something that does not exist.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestPages: pages name nothing that does not exist, and say what made their figures.
func TestPages(t *testing.T) {
	all := pages(t)
	c, told := repository(t), asked(t)
	for _, wrong := range slices.Concat(brokenLinks(all), wrongCommands(all, c, told), unknownWords(all, c), tablesOfUnknownOrigin(all)) {
		t.Error(wrong)
	}
}

// TestWhatIsFound: each way in which a page can be wrong is found, at its line.
func TestWhatIsFound(t *testing.T) {
	c, told := repository(t), asked(t)
	for name, test := range map[string]struct{ text, want string }{
		"file behind a link":      {"[x](nowhere.md)", "page.md:1: the link nowhere.md leads nowhere"},
		"anchor":                  {"# One\n[x](#one) [y](#two)", "page.md:2: page.md has no heading for #two"},
		"picture":                 {"![x](docs/nothing.png)", "page.md:1: the link docs/nothing.png leads nowhere"},
		"verb":                    {"text\n\n    bin/wiretime measure x\n", "wiretime has no verb measure"},
		"verb below a verb":       {"`wiretime site burn x`", "wiretime site has no verb burn"},
		"flag":                    {"`wiretime run first-look --sotre x`", "wiretime run has no flag --sotre"},
		"flag of another verb":    {"```sh\n$ wiretime results --har x\n```", "wiretime results has no flag --har"},
		"flag by itself":          {"`--there-is-no-such-flag`", "no verb has this flag"},
		"built-in study":          {"`wiretime run first-lock`", "no built-in study first-lock"},
		"make target":             {"`make believe`", "no target believe"},
		"make variable":           {"`make run CLOK=real`", "no variable CLOK"},
		"study of make studies":   {"`make studies STUDY=lulic-9`", "no study lulic-9"},
		"file":                    {"`store/nothing.go`", "no such file"},
		"file by its name":        {"`nothing_at_all.go`", "no such file"},
		"folder":                  {"`media/wireless/`", "no such file"},
		"profile, site, metric":   {"`3g-wobbly`", "no such word"},
		"exported name":           {"`store.Nonexistence`", "the code has no Nonexistence"},
		"table without an origin": {"| a | b |\n| --- | --- |\n| 1 | 2.5 |\n| 3 | 4 |", "page.md:1: nothing says what made the table"},
	} {
		t.Run(name, func(t *testing.T) {
			all := []*page{parse("page.md", test.text)}
			found := slices.Concat(brokenLinks(all), wrongCommands(all, c, told), unknownWords(all, c), tablesOfUnknownOrigin(all))
			if len(found) != 1 || !strings.Contains(found[0], test.want) {
				t.Errorf("found %q, want %q alone", found, test.want)
			}
		})
	}
}

// brokenLinks are links that lead to no file of the repository, or whose anchor is no heading there.
func brokenLinks(all []*page) []string {
	var wrong []string
	for _, p := range all {
		for _, l := range p.links {
			if strings.Contains(l.text, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l.text, "#")
			path := p.path
			if file != "" {
				path = filepath.Join(filepath.Dir(p.path), file)
				if _, err := os.Stat(filepath.Join(top, path)); err != nil {
					wrong = append(wrong, fmt.Sprintf("%s:%d: the link %s leads nowhere", p.path, l.line, l.text))
					continue
				}
			}
			if anchor == "" || strings.HasSuffix(path, ".go") {
				continue
			}
			i := slices.IndexFunc(all, func(other *page) bool { return other.path == path })
			if i < 0 || !all[i].anchors[anchor] {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s has no heading for #%s", p.path, l.line, path, anchor))
			}
		}
	}
	return wrong
}

// wrongCommands are calls of wiretime and make with verbs, flags, studies, targets or variables that there are not.
func wrongCommands(all []*page, c *code, told *told) []string {
	var found []string
	for _, p := range all {
		for _, piece := range slices.Concat(p.code, p.spans) {
			for _, words := range calls(piece.text) {
				wrong := ""
				if words[0] == "make" {
					wrong = wrongTarget(c, words[1:])
				} else {
					wrong = wrongCall(c, told.root, words[1:])
				}
				if wrong != "" {
					found = append(found, fmt.Sprintf("%s:%d: %s: %s", p.path, piece.line, strings.Join(words, " "), wrong))
				}
			}
		}
	}
	return found
}

// unknownWords are code spans that are neither files of the repository nor words that its code, its tests or the
// program's own lists have.
func unknownWords(all []*page, c *code) []string {
	var found []string
	for _, p := range all {
		for _, s := range p.spans {
			if wrong := c.wrong(s.text); wrong != "" {
				found = append(found, fmt.Sprintf("%s:%d: `%s`: %s", p.path, s.line, s.text, wrong))
			}
		}
	}
	return found
}

var number = regexp.MustCompile(`^[-(]?\d[\d., /%()a-z-]*$`)

// tablesOfUnknownOrigin are tables of figures in sections that do not say which command made them.
func tablesOfUnknownOrigin(all []*page) []string {
	var found []string
	for _, p := range all {
		for _, t := range p.tables {
			cells, numbers := 0, 0
			for cell := range strings.SplitSeq(strings.ReplaceAll(t.text, "\n", ""), "|") {
				if cell = strings.TrimSpace(cell); cell != "" {
					cells++
					if number.MatchString(cell) {
						numbers++
					}
				}
			}
			if 2*numbers > cells && !strings.Contains(t.section, "Made by `") && !strings.Contains(t.section, "remakes it.</sub>") {
				found = append(found, fmt.Sprintf("%s:%d: nothing says what made the table", p.path, t.line))
			}
		}
	}
	return found
}

// calls are the calls of wiretime and make in a line of shell, up to a comment, a pipe or a redirection.
func calls(line string) [][]string {
	var all [][]string
	for part := range strings.SplitSeq(line, "|") {
		words := strings.Fields(part)
		if len(words) > 0 && words[0] == "$" {
			words = words[1:]
		}
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") || strings.HasPrefix(w, ">") || w == "--" }); i >= 0 {
			words = words[:i]
		}
		if len(words) > 0 && slices.Contains([]string{"wiretime", "bin/wiretime", "make"}, words[0]) {
			all = append(all, words)
		}
	}
	return all
}

// wrongCall says what is wrong with the arguments of wiretime, or nothing.
func wrongCall(c *code, v *verb, words []string) string {
	path := "wiretime"
	for len(words) > 0 && v.verbs[words[0]] != nil {
		v, path, words = v.verbs[words[0]], path+" "+words[0], words[1:]
	}
	if len(v.verbs) > 0 && len(words) > 0 && !strings.HasPrefix(words[0], "-") && !unplaced(words[0]) {
		return fmt.Sprintf("%s has no verb %s", path, words[0])
	}
	for i, w := range words {
		w = strings.Trim(w, "[](),.;:'\"")
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "-") && flag != "-" && !v.flags[flag] {
			return fmt.Sprintf("%s has no flag %s", path, flag)
		}
		if path == "wiretime run" && i == 0 && !strings.HasPrefix(w, "-") && !unplaced(w) && !strings.HasSuffix(w, ".yaml") && !c.studies(w) {
			return fmt.Sprintf("there is no built-in study %s", w)
		}
	}
	return ""
}

// unplaced says whether a word stands for others, as VERB and ... do.
func unplaced(word string) bool {
	return word == "..." || strings.IndexFunc(word, unicode.IsLower) < 0
}

// wrongTarget says what is wrong with the arguments of make, or nothing.
func wrongTarget(c *code, words []string) string {
	for _, w := range words {
		w = strings.Trim(w, ".,;:()")
		if name, value, is := strings.Cut(w, "="); is {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` *:=`).MatchString(c.makefile) {
				return "the Makefile has no variable " + name
			}
			if name == "STUDY" && !unplaced(value) && !strings.HasPrefix(value, "-") && !c.studies(value) && !c.files["docs/studies/"+value+".yaml"] && !c.files["scripts/"+value] {
				return "there is no study " + value
			}
		} else if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(w) + `:`).MatchString(c.makefile) {
			return "the Makefile has no target " + w
		}
	}
	return ""
}

// code is what the repository holds beside its pages.
type code struct {
	text     string
	makefile string
	files    map[string]bool // and folders
}

// studies says whether a study of this name is built in.
func (c *code) studies(name string) bool { return c.files["study/builtin/"+name+".yaml"] }

func repository(t *testing.T) *code {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = top
	names, err := list.Output()
	if err != nil {
		t.Fatal("list the repository's files: ", err)
	}
	c := &code{files: map[string]bool{}}
	var all strings.Builder
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		if info, err := os.Stat(filepath.Join(top, name)); err != nil || info.IsDir() {
			continue // deleted, but not yet from the index
		}
		for f := name; f != "."; f = filepath.Dir(f) {
			c.files[f] = true
		}
		if slices.Contains([]string{".md", ".png", ".gz", ".har", ".pcapng"}, filepath.Ext(name)) || strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		if name == "Makefile" {
			c.makefile = string(text)
		}
	}
	told := asked(t)
	c.text = all.String() + told.lists + told.root.allHelp()
	return c
}

var (
	path   = regexp.MustCompile(`^[\w.-]+(/[\w.*-]+)+/?$`)
	source = regexp.MustCompile(`^[\w-]+\.(go|ts|md|svg|png)$`)
	// word is what the code can be expected to have as it stands in a page.
	word = regexp.MustCompile(`^\w[\w.-]*[A-Za-z][\w.-]*$`)
)

// wrong says what is wrong with a code span, or nothing.
func (c *code) wrong(text string) string {
	if elsewhere(text) {
		return ""
	}
	if path.MatchString(text) && !strings.Contains(text, "*") {
		clean := strings.TrimSuffix(text, "/")
		if c.files[clean] || c.files[filepath.Join("docs", clean)] || strings.Contains(c.text, clean) {
			return ""
		}
		return "the repository has no such file, and the code no such word"
	}
	if source.MatchString(text) {
		for f := range c.files {
			if filepath.Base(f) == text {
				return ""
			}
		}
		return "the repository has no such file"
	}
	if strings.HasPrefix(text, "--") {
		if flag, _, _ := strings.Cut(strings.Fields(text)[0], "="); !strings.Contains(c.text, flag[2:]) {
			return "no verb has this flag"
		}
		return ""
	}
	// package.Name, table.column
	if strings.Contains(text, ".") && word.MatchString(text) && !strings.Contains(c.text, text) {
		for part := range strings.SplitSeq(text, ".") {
			if !strings.Contains(c.text, part) {
				return "the code has no " + part
			}
		}
		return ""
	}
	if word.MatchString(text) && !strings.Contains(c.text, text) {
		return "the code has no such word"
	}
	return ""
}

// foreign are words of other programs, of standards and of kernels that pages name and our code has no use for.
var foreign = []string{
	"Accept-Ranges", "ERR_NETWORK_CHANGED", "ERR_QUIC_PROTOCOL_ERROR", "Keep-Alive", "fq_codel", "mod_rewrite", "netem", "pfifo_fast", "sec-ch-ua", "tbf",
	"tcp_slow_start_after_idle",
}

// elsewhere says whether a code span is foreign, or names what a store has at run time.
func elsewhere(text string) bool {
	return slices.Contains(foreign, text) || strings.HasPrefix(text, "loads/") || strings.HasPrefix(text, "results/") || text == "client-N.sqlog"
}
