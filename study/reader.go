package study

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is one thing that is wrong with a study file.
type Error struct {
	File         string
	Line, Column int // from 1; columns count characters
	Message      string
}

// Error returns "file:line:column: message".
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors is everything that is wrong with a study file, in its order.
type Errors []Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// reader turns YAML nodes into values and collects what is wrong with them. A
// method that reports ok = false has recorded why.
type reader struct {
	file string
	errs Errors
}

func (r *reader) fail(n ast.Node, format string, args ...any) {
	line, column := position(n)
	r.failAt(line, column, format, args...)
}

func (r *reader) failAt(line, column int, format string, args ...any) {
	r.errs = append(r.errs, Error{r.file, line, column, fmt.Sprintf(format, args...)})
}

// position returns where a node begins. A block mapping's own token is its
// first colon.
func position(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

// parse returns the body of the file's one document, or nil after an error.
func (r *reader) parse(src []byte) ast.Node {
	if len(src) > maxSource {
		r.failAt(1, 1, "the file has %d bytes, and a study has at most %d; is it the right file?", len(src), maxSource)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	// The parser counts the line break of Windows as two.
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	for i, line := range bytes.Split(src, []byte("\n")) {
		if !utf8.Valid(line) {
			r.failAt(i+1, 1, "the line is not UTF-8 text; save the file as UTF-8")
			return nil
		}
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
		r.failAt(1, 1, "the file is empty; a study has a name, repeats and a matrix")
		return nil
	}
	if len(file.Docs) > 1 {
		line, column := 1, 1
		if start := file.Docs[1].Start; start != nil {
			line, column = start.Position.Line, start.Position.Column
		}
		r.failAt(line, column, "a second document begins here; keep one study per file")
		return nil
	}
	body := file.Docs[0].Body
	ast.Walk(r, body)
	if len(r.errs) > 0 {
		return nil
	}
	return body
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

// Visit refuses what YAML offers and a study does not need: what a study says
// stands where it is read.
func (r *reader) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		r.fail(n, "a study has no anchors, aliases and merges; write the value out")
		return nil
	case *ast.TagNode, *ast.DirectiveNode, *ast.MappingKeyNode:
		r.fail(n, "a study has no tags, directives and \"?\" keys; write plain keys and values")
		return nil
	}
	return r
}

// mapping is a YAML mapping whose keys were checked.
type mapping struct {
	r      *reader
	node   ast.Node
	what   string
	values map[string]ast.Node // nil for a key without a value
}

// mapping reads a mapping; what names it in errors. Unknown keys are errors
// and left out.
func (r *reader) mapping(n ast.Node, what string, keys ...string) (mapping, bool) {
	m := mapping{r: r, node: n, what: what, values: map[string]ast.Node{}}
	var fields []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		fields = n.Values
	case *ast.MappingValueNode:
		fields = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "%s is %s; write keys and values, such as %s", what, kind(n), strings.Join(keys, ", "))
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

// has reports whether the key is there, with or without a value.
func (m mapping) has(key string) bool {
	_, ok := m.values[key]
	return ok
}

// get returns the value of a key, if it has one.
func (m mapping) get(key string) (ast.Node, bool) {
	n := m.values[key]
	return n, n != nil
}

// need is get for a key that must be there; advice says what to write.
func (m mapping) need(key, advice string) (ast.Node, bool) {
	if !m.has(key) {
		m.r.fail(m.node, "%s has no %s; %s", m.what, key, advice)
	}
	return m.get(key)
}

func (r *reader) list(n ast.Node, what string) ([]ast.Node, bool) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "%s is %s; write a list, as in [a, b]", what, kind(n))
		return nil, false
	}
	return s.Values, true
}

// text reads a scalar as it stands in the file.
func (r *reader) text(n ast.Node, what string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	r.fail(n, "%s is %s; write a word", what, kind(n))
	return "", false
}

// integer reads a whole number from low to high.
func (r *reader) integer(n ast.Node, what string, low, high int) (int, bool) {
	text, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		r.fail(n, "%s is %.40q; write a whole number from %d to %d", what, text, low, high)
		return 0, false
	}
	return v, true
}

func (r *reader) seed(n ast.Node) uint64 {
	text, ok := r.text(n, "seed")
	if !ok {
		return 0
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.fail(n, "seed is %.40q; write a whole number from 0 to %d", text, uint64(1<<64-1))
	}
	return seed
}

func (r *reader) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.fail(n, "%s is %s; write true or false", what, kind(n))
		return false
	}
	return b.Value
}

// duration reads a time that is not negative, such as 100ms.
func (r *reader) duration(n ast.Node, what string) (time.Duration, bool) {
	text, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.fail(n, "%s is %.40q; write a number and a unit (us, ms, s), as in 100ms", what, text)
		return 0, false
	case d < 0:
		r.fail(n, "%s is %v, which is negative; write it like 100ms", what, d)
		return 0, false
	}
	return d, true
}

// kind says in words what a node is.
func kind(n ast.Node) string {
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
