package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// page is a page of the documentation, as far as the tests read Markdown.
type page struct {
	path    string // from the repository's folder
	text    string // without code blocks and comments
	anchors map[string]bool
	spans   []piece // code spans
	code    []piece // lines of code blocks: of shell or nothing said, not of other languages
	links   []piece // where links and pictures lead
	tables  []table
}

// piece is a part of a page.
type piece struct {
	page string
	line int
	text string
}

// table is a table's body, and the text of the chapter that it stands in.
type table struct {
	piece
	section string
}

const top = ".."

// pages are README.md, CONTRIBUTING.md, CHANGELOG.md, SECURITY.md, docs/*.md and docs/papers/*.md.
func pages(t *testing.T) []*page {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	for _, pattern := range []string{"*.md", "papers/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			paths = append(paths, filepath.Join("docs", p))
		}
	}
	var all []*page
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(top, path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(path, string(text)))
	}
	return all
}

var (
	span    = regexp.MustCompile("(``+) (.+?) ``+|`([^`\n]+)`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	chapter = regexp.MustCompile(`^#{1,2} `)
	markup  = regexp.MustCompile("[`*]|\\]\\([^)]*\\)|\\[")
)

// parse reads a page line by line. Code blocks are fenced, or indented by four columns after an empty line.
func parse(path, text string) *page {
	p := &page{path: path, anchors: map[string]bool{}}
	var kept []string
	fence, language, comment, indented, empty := "", "", false, false, true
	for i, line := range strings.Split(text, "\n") {
		at := piece{path, i + 1, line}
		shown := ""
		switch {
		case fence != "":
			if strings.HasPrefix(strings.TrimSpace(line), fence) {
				fence = ""
			} else if slices.Contains([]string{"", "sh", "shell", "console"}, language) {
				p.code = append(p.code, at)
			}
		case comment:
			comment = !strings.Contains(line, "-->")
		case strings.HasPrefix(line, "```"):
			fence, language = "```", strings.TrimSpace(line[3:])
		case strings.HasPrefix(line, "<!--"):
			comment = !strings.Contains(line, "-->")
		case strings.HasPrefix(line, "    ") && (empty || indented):
			indented = true
			p.code = append(p.code, at)
		default:
			indented = indented && line == ""
			shown = line
		}
		empty = strings.TrimSpace(line) == ""
		if m := heading.FindStringSubmatch(shown); m != nil {
			p.anchors[p.anchor(m[1])] = true
		}
		kept = append(kept, shown)
	}
	p.text = strings.Join(kept, "\n")
	for i, line := range kept {
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			p.spans = append(p.spans, piece{path, i + 1, m[2] + m[3]})
		}
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(line, "code"), -1) {
			p.links = append(p.links, piece{path, i + 1, m[1]})
		}
	}
	p.tables = tablesOf(path, kept)
	return p
}

// tablesOf finds the tables of a page's lines, each with its chapter's text.
func tablesOf(path string, lines []string) []table {
	var all []table
	begin := 0
	for i := 0; i < len(lines); i++ {
		if chapter.MatchString(lines[i]) {
			begin = i
		}
		if !strings.HasPrefix(lines[i], "|") {
			continue
		}
		first := i
		for i < len(lines) && strings.HasPrefix(lines[i], "|") {
			i++
		}
		end := i
		for end < len(lines) && !chapter.MatchString(lines[end]) {
			end++
		}
		all = append(all, table{piece{path, first + 1, strings.Join(lines[min(first+2, i):i], "\n")}, strings.Join(lines[begin:end], "\n")})
	}
	return all
}

// anchor is the name that GitHub gives to a heading.
func (p *page) anchor(title string) string {
	var name strings.Builder
	for _, r := range strings.ToLower(markup.ReplaceAllString(title, "")) {
		switch {
		case r == ' ':
			name.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			name.WriteRune(r)
		}
	}
	return name.String()
}
