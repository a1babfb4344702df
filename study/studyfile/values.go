package studyfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
)

// text reads a scalar as written in the file.
func (r *reader) text(n ast.Node, what string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	r.fail(n, "%s must be a single value, not %s", what, describe(n))
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
		r.fail(n, "invalid %s %.40q: want a whole number from %d to %d", what, text, low, high)
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
		r.fail(n, "invalid seed %.40q: want a whole number from 0 to %d", text, uint64(1<<64-1))
	}
	return seed
}

func (r *reader) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.fail(n, "%s must be true or false, not %s", what, describe(n))
		return false
	}
	return b.Value
}

// duration reads a time of zero or more, such as 100ms.
func (r *reader) duration(n ast.Node, what string) (time.Duration, bool) {
	text, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.fail(n, "invalid %s %.40q: want a number and a unit (us, ms, s), as in 100ms", what, text)
		return 0, false
	case d < 0:
		r.fail(n, "invalid %s %v: must not be negative", what, d)
		return 0, false
	}
	return d, true
}

// probability reads a share of packets.
func (r *reader) probability(n ast.Node, what string) float64 { return r.share(n, what, "packets") }

// share reads a share of something, given in the plural: 1% or 0.01. It refuses a bare 1, which
// may mean 100% or 1%.
func (r *reader) share(n ast.Node, what, of string) float64 {
	text, ok := r.text(n, what)
	if !ok {
		return 0
	}
	number, percent := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		p /= 100
	}
	switch {
	case err != nil || !(p >= 0 && p <= 1):
		r.fail(n, "invalid %s %.40q: want a share of %s from 0%% to 100%%, as in 1%% or 0.01", what, text, of)
		return 0
	case !percent && p == 1:
		r.fail(n, "ambiguous %s %.40q: all %s or one in a hundred? write 100%% or 1%%", what, text, of)
		return 0
	}
	return p
}

// limit reads a positive time.
func (m mapping) limit(key string, limit *time.Duration) {
	n, ok := m.get(key)
	if !ok {
		return
	}
	m.r.aboveZero(n, key, *limit, limit)
}

func (r *reader) aboveZero(n ast.Node, what string, example time.Duration, to *time.Duration) {
	d, ok := r.duration(n, what)
	if ok && d == 0 {
		r.fail(n, "%s must be positive, as in %v", what, example)
	}
	*to = d
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// name reads a name that can be part of a file name; "" after an error.
func (r *reader) name(n ast.Node, what string) string {
	name, ok := r.text(n, what)
	if ok && !validName.MatchString(name) {
		r.fail(n, "%s %.40q is invalid: want up to 64 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit", what, name)
		return ""
	}
	return name
}

// word reads one of words; "" after an error.
func (r *reader) word(n ast.Node, what string, words []string) string {
	word, ok := r.text(n, "a "+what)
	if ok && !slices.Contains(words, word) {
		r.fail(n, "unknown %s %.40q; %s", what, word, nearest(word, words))
		return ""
	}
	return word
}

// wordOf returns a function that reads one of words, for axis.
func (r *reader) wordOf(what string, words []string) func(ast.Node) (string, string) {
	return func(n ast.Node) (string, string) {
		word := r.word(n, what, words)
		return word, word
	}
}

// nearest suggests what to write in place of an unknown word.
func nearest(word string, words []string) string {
	if near := network.Nearest(word, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "write one of " + strings.Join(words, ", ")
}
