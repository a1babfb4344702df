package study

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// ServerOwn is Wiretime's own server.
const ServerOwn = "wiretime"

// Server is a web server that a study brings along: a command that serves a folder of
// files over one origin.
type Server struct {
	Name      string
	Command   []string // the program and its arguments, with placeholders such as {folder}
	Protocols []string // those that it serves, at least one
}

// servers reads the servers that the study brings along.
func (r *reader) servers(n ast.Node, v Vocabulary) []Server {
	items, ok := r.list(n, "servers")
	if !ok {
		return nil
	}
	var servers []Server
	for _, item := range items {
		m, ok := r.mapping(item, "a server", "name", "command", "protocols")
		if !ok {
			continue
		}
		var s Server
		if n, ok := m.need("name", "name it, as in name: mine"); ok {
			s.Name = r.name(n, "the server's name")
			taken := slices.Contains(v.servers(), s.Name) || slices.ContainsFunc(servers, func(other Server) bool { return other.Name == s.Name })
			if taken {
				r.fail(n, "there is a server %s already; choose another name", s.Name)
			}
		}
		if n, ok := m.need("command", "write what starts it, as in command: prog --root {folder} --listen {address}:{port}"); ok {
			s.Command = r.command(n, v)
		}
		if m.has("protocols") {
			s.Protocols = axis(m, "protocols", r.wordOf("protocol", v.Protocols))
		} else {
			r.fail(m.node, "%s has no protocols; say what it serves, as in protocols: [h2]", m.what)
		}
		servers = append(servers, s)
	}
	return servers
}

// servers are the words for servers that every study may use.
func (v Vocabulary) servers() []string { return append([]string{ServerOwn}, v.Servers...) }

// placeholder is what a command has in braces.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// command reads a program and its arguments: a text, divided at its blanks, or a list of
// words.
func (r *reader) command(n ast.Node, v Vocabulary) []string {
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
			if name := text[at[0]+1 : at[1]-1]; !slices.Contains(v.Placeholders, name) {
				line, column := inside(part, text[:at[0]])
				r.failAt(line, column, "unknown placeholder {%.40s}; %s", name, nearest(name, v.Placeholders))
			}
		}
		if isList {
			words = append(words, text)
		} else {
			words = append(words, strings.Fields(text)...)
		}
	}
	if len(words) == 0 || words[0] == "" {
		r.fail(n, "the command names no program; write it first")
		return nil
	}
	return words
}

// inside is where a text goes on after some of it. In a text of several lines, that is
// known no better than where it begins.
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

// server reads a server on the axis.
func (r *reader) server(n ast.Node, s *Study, v Vocabulary) string {
	known := v.servers()
	for _, own := range s.OwnServers {
		known = append(known, own.Name)
	}
	word, ok := r.text(n, "a server")
	if ok && !slices.Contains(known, word) {
		r.fail(n, "unknown server %.40q; %s, or describe it under servers", word, strings.TrimSuffix(nearest(word, known), "?"))
		return ""
	}
	return word
}

// Foreign says whether the study has loads that Wiretime's own server does not serve. Their
// processor time is a part of what is compared then.
func (s *Study) Foreign() bool {
	return slices.ContainsFunc(s.Matrix[AxisServer], func(name string) bool { return name != ServerOwn })
}
