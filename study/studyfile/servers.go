package studyfile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"wiretime/study"
)

// ownServers reads the servers that the study defines.
func (r *reader) ownServers(file mapping) {
	n, ok := file.get("servers")
	if !ok {
		return
	}
	items, _ := r.list(n, "servers")
	for _, item := range items {
		m, ok := r.mapping(item, "a server", "name", "command", "protocols")
		if !ok {
			continue
		}
		var s study.Server
		if n, ok := m.need("name", "name it, as in name: mine"); ok {
			s.Name = r.name(n, "the server's name")
			if slices.Contains(r.servers(), s.Name) {
				r.fail(n, "the server name %s is taken; choose another", s.Name)
			}
		}
		if n, ok := m.need("command", "write what starts it, as in command: prog --root {folder} --listen {address}:{port}"); ok {
			s.Command = r.command(n)
		}
		if m.has("protocols") {
			s.Protocols = axis(m, "protocols", r.wordOf("protocol", r.words.Protocols))
		} else {
			r.fail(m.node, "%s has no protocols; list those it serves, as in protocols: [h2]", m.what)
		}
		r.study.OwnServers = append(r.study.OwnServers, s)
	}
}

// servers returns the names of the servers that the study may use.
func (r *reader) servers() []string {
	names := append([]string{study.ServerOwn}, r.words.Servers...)
	for _, own := range r.study.OwnServers {
		names = append(names, own.Name)
	}
	return names
}

// placeholder matches a placeholder of a command.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// command reads a program and its arguments: a text, which is split at its blanks, or a list
// of words.
func (r *reader) command(n ast.Node) []string {
	parts := []ast.Node{n}
	list, isList := n.(*ast.SequenceNode)
	if isList {
		parts = list.Values
	}
	var words []string
	for _, part := range parts {
		text, ok := r.text(part, "a word of the command")
		if !ok {
			continue
		}
		for _, at := range placeholder.FindAllStringIndex(text, -1) {
			if name := text[at[0]+1 : at[1]-1]; !slices.Contains(r.words.Placeholders, name) {
				line, column := inside(part, text[:at[0]])
				r.failAt(line, column, "unknown placeholder {%.40s}; %s", name, nearest(name, r.words.Placeholders))
			}
		}
		if isList {
			words = append(words, text)
		} else {
			words = append(words, strings.Fields(text)...)
		}
	}
	if len(words) == 0 || words[0] == "" {
		r.fail(n, "the command has no program; write it first")
		return nil
	}
	return words
}

// inside returns the position in a text after its first part. For a text of several lines, it
// returns where the text begins.
func inside(n ast.Node, before string) (line, column int) {
	line, column = position(n)
	t := n.GetToken()
	if _, block := n.(*ast.LiteralNode); block || strings.ContainsAny(strings.TrimSpace(t.Origin), "\n\\") {
		return line, column
	}
	if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
		column++
	}
	return line, column + utf8.RuneCountInString(before)
}

// server reads a value on the server axis.
func (r *reader) server(n ast.Node) string {
	known := r.servers()
	word, ok := r.text(n, "a server")
	if ok && !slices.Contains(known, word) {
		r.fail(n, "unknown server %.40q; %s, or describe it under servers", word, strings.TrimSuffix(nearest(word, known), "?"))
		return ""
	}
	return word
}
