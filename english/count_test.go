package english_test

import (
	"testing"

	"wiretime/english"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "load", "0 loads"}, {1, "load", "1 load"}, {2, "load", "2 loads"}, {-1, "load", "-1 loads"},
		{1, "body", "1 body"}, {2, "body", "2 bodies"}, {2, "response body", "2 response bodies"}, {2, "day", "2 days"}, {2, "y", "2 ys"},
	} {
		if got := english.Count(c.n, c.noun); got != c.want {
			t.Errorf("%d of %q is %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 20, "one two three"},
		{"one two three", 7, "one two\nthree"},
		{"one two three", 6, "one\ntwo\nthree"},
		{"a longword b", 4, "a\nlongword\nb"},
		{"20 µs längs", 8, "20 µs\nlängs"},
		{"a  b\nc", 9, "a b c"},
	} {
		if got := english.Wrap(c.text, c.width); got != c.want {
			t.Errorf("Wrap(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
