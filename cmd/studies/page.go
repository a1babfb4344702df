package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/atomicfile"
)

// page is a Markdown file: text and the blocks between it. There is one more text than there are blocks.
type page struct {
	path   string
	before []byte // as it was read
	texts  []string
	blocks []block
}

const (
	blockBegin = "<!-- measured "
	blockEnd   = "<!-- end -->"
)

// readPages reads README.md, CONTRIBUTING.md, docs/*.md and docs/papers/*.md below a folder.
func readPages(folder string) ([]*page, error) {
	paths := []string{filepath.Join(folder, "README.md"), filepath.Join(folder, "CONTRIBUTING.md")}
	for _, pattern := range []string{"docs/*.md", "docs/papers/*.md"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	var pages []*page
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := parsePage(path, text)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// parsePage finds the blocks of a page. Errors name the line at which a block begins.
func parsePage(path string, text []byte) (*page, error) {
	p := &page{path: path, before: text}
	rest, line := string(text), 1
	for {
		head, tail, found := strings.Cut(rest, "\n"+blockBegin)
		if !found {
			p.texts = append(p.texts, rest)
			return p, nil
		}
		line += strings.Count(head, "\n") + 1
		spec, tail, closed := strings.Cut(tail, "-->\n")
		body, after, ended := strings.Cut(tail, blockEnd)
		if !closed || !ended || strings.Contains(spec+body, blockBegin) {
			return nil, fmt.Errorf("%s:%d: the block has no end: close its comment with -->, and the block with %s", path, line, blockEnd)
		}
		b, err := parseBlock(spec)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		b.line, b.body = line, body
		p.texts, p.blocks = append(p.texts, head+"\n"), append(p.blocks, b)
		line += strings.Count(spec+body, "\n") + 1
		rest = after
	}
}

// text is the page as its texts and blocks have it now.
func (p *page) text() []byte {
	var all bytes.Buffer
	for i, t := range p.texts {
		all.WriteString(t)
		if i < len(p.blocks) {
			b := p.blocks[i]
			all.WriteString(blockBegin + b.spec + "-->\n" + b.body + blockEnd)
		}
	}
	return all.Bytes()
}

// write replaces the file, whole or not at all, if the page has changed.
func (p *page) write() error {
	text := p.text()
	if bytes.Equal(text, p.before) {
		return nil
	}
	if err := atomicfile.WriteBytes(p.path, text); err != nil {
		return err
	}
	p.before = text
	return nil
}

// studiesOf are the studies that pages show, each once, in the order of the pages.
func studiesOf(pages []*page) []string {
	var all []string
	for _, p := range pages {
		for _, b := range p.blocks {
			for _, name := range b.studies() {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}
