package studyfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

func (r *reader) fail(n ast.Node, format string, args ...any) {
	line, column := position(n)
	r.failAt(line, column, format, args...)
}

func (r *reader) failAt(line, column int, format string, args ...any) {
	r.errs = append(r.errs, Error{r.file, line, column, fmt.Sprintf(format, args...)})
}

// position returns where a node begins. The token of a block mapping is its first colon.
func position(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

// parse returns the body of the file's only document, or nil after an error.
func (r *reader) parse(src []byte) ast.Node {
	if len(src) > MaxSource {
		r.failAt(1, 1, "the file has more than %d bytes, the limit; is it the right file?", MaxSource)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	// The parser counts a Windows line break as two.
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	for i, line := range bytes.Split(src, []byte("\n")) {
		if !utf8.Valid(line) {
			r.failAt(i+1, 1, "the line is not UTF-8 text; save the file as UTF-8")
			return nil
		}
	}
	if line := deep(src); line > 0 {
		r.failAt(line, 1, "lists and mappings are nested more than %d levels deep; is it the right file?", maxNesting)
		return nil
	}
	file, err := parseYAML(src)
	if err != nil {
		var located yaml.Error
		if errors.As(err, &located) && located.GetToken() != nil {
			p := located.GetToken().Position
			r.failAt(p.Line, max(1, p.Column), "not YAML: %s", located.GetMessage())
		} else {
			r.failAt(1, 1, "not YAML: %v", err)
		}
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		r.failAt(1, 1, "the file is empty; a %s has %s", r.of, r.parts)
		return nil
	}
	if len(file.Docs) > 1 {
		line, column := 1, 1
		if start := file.Docs[1].Start; start != nil {
			line, column = start.Position.Line, start.Position.Column
		}
		r.failAt(line, column, "a second document begins here; keep one %s per file", r.of)
		return nil
	}
	body := file.Docs[0].Body
	ast.Walk(r, body)
	if len(r.errs) > 0 {
		return nil
	}
	return body
}

// maxNesting limits the levels of lists and mappings in one line or in brackets: the parser's
// time grows with the square of the depth, and so does its memory.
const maxNesting = 32

// deep returns the first line that is nested too deep, or 0. It takes brackets in text for
// nesting, too: few lines have so many that do not close.
func deep(src []byte) int {
	open := 0
	for i, line := range bytes.Split(src, []byte("\n")) {
		lists := line[:len(line)-len(bytes.TrimLeft(line, "-? "))]
		if bytes.Count(lists, []byte("- "))+bytes.Count(lists, []byte("? ")) > maxNesting {
			return i + 1
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(0, open-1)
			}
			if open > maxNesting {
				return i + 1
			}
		}
	}
	return 0
}

// parseYAML turns a panic of the parser on malformed input into an error.
func parseYAML(src []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes(src, 0)
}

// Visit refuses features of YAML that would make a study say something elsewhere than where it
// is read.
func (r *reader) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		r.fail(n, "YAML anchors, aliases and merge keys are not supported; write the value out")
		return nil
	case *ast.TagNode, *ast.DirectiveNode, *ast.MappingKeyNode:
		r.fail(n, "YAML tags, directives and \"?\" keys are not supported; write plain keys and values")
		return nil
	}
	return r
}

// mapping holds a YAML mapping with checked keys.
type mapping struct {
	r      *reader
	node   ast.Node
	what   string
	values map[string]ast.Node // nil for a key without a value
}

// mapping reads a mapping and leaves out unknown keys, which are errors. Errors call it what.
func (r *reader) mapping(n ast.Node, what string, keys ...string) (mapping, bool) {
	m := mapping{r: r, node: n, what: what, values: map[string]ast.Node{}}
	var fields []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		fields = n.Values
	case *ast.MappingValueNode:
		fields = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "%s must hold keys and values, not %s; the keys are %s", what, describe(n), strings.Join(keys, ", "))
		return m, false
	}
	for _, f := range fields {
		key, ok := r.text(f.Key, "a key")
		if !ok {
			continue
		}
		if !slices.Contains(keys, key) {
			r.fail(f.Key, "unknown key %.40q in %s; %s", key, what, nearest(key, keys))
			continue
		}
		m.values[key] = f.Value
		if _, empty := f.Value.(*ast.NullNode); empty || f.Value == nil {
			m.values[key] = nil
			r.fail(f.Key, "%s has no value; write one or remove the key", key)
		}
	}
	return m, true
}

// has reports whether the mapping has the key, with or without a value.
func (m mapping) has(key string) bool {
	_, ok := m.values[key]
	return ok
}

// get returns the value of a key, if it has one.
func (m mapping) get(key string) (ast.Node, bool) {
	n := m.values[key]
	return n, n != nil
}

// need returns the value of a required key. advice says what to write if it is missing.
func (m mapping) need(key, advice string) (ast.Node, bool) {
	if !m.has(key) {
		m.r.fail(m.node, "%s has no %s; %s", m.what, key, advice)
	}
	return m.get(key)
}

func (r *reader) list(n ast.Node, what string) ([]ast.Node, bool) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "%s must be a list, as in [a, b], not %s", what, describe(n))
		return nil, false
	}
	return s.Values, true
}

// describe names a kind of node.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping of keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	case *ast.StringNode:
		return fmt.Sprintf("the word %.40q", n.Value)
	case *ast.LiteralNode:
		return "a block of text"
	}
	return fmt.Sprintf("%.40q", n.GetToken().Value)
}
