package page

import (
	"bytes"
	"io"
	"iter"
	"mime"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// token is one token of a document, kept from its arrival until the parser
// takes it.
type token struct {
	kind html.TokenType
	name string // tag name in lower case
	attr []html.Attribute
	text []byte // of a text token, if it belongs to a script or style or is short
	size int    // octets in the document
	line int    // at its end, counted from 1

	base   string // the document's base URL when it was scanned
	source string // of an img: the selected image
	inert  bool   // it is in a template
	svg    bool   // it is in an svg or math element
}

// get returns an attribute's value.
func (t *token) get(name string) (value string, ok bool) {
	for i := range t.attr {
		if t.attr[i].Key == name {
			return t.attr[i].Val, true
		}
	}
	return "", false
}

// attribute returns an attribute's value without surrounding space.
func (t *token) attribute(name string) string {
	v, _ := t.get(name)
	return strings.Trim(v, " \t\n\f\r")
}

// word returns an attribute's value in lower case, for keyword attributes.
func (t *token) word(name string) string { return strings.ToLower(t.attribute(name)) }

// tokenizer tokenizes bytes as they arrive. The HTML tokenizer needs a blocking
// reader. A coroutine provides one without another thread of control: a read
// without data returns control to whoever feeds the tokenizer.
type tokenizer struct {
	input  []byte
	ended  bool
	read   int                   // octets handed on so far
	decode io.Reader             // nil: UTF-8
	wait   func(octets int) bool // until that many are there, or the end; false: none left
	next   func() (*token, bool)
	stop   func()
}

// sniffed is how much of a document is searched for its encoding
// (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding).
const sniffed = 1024

// newTokenizer returns a tokenizer for a document whose type may name its
// encoding; otherwise the encoding is UTF-8 unless a meta element declares
// another.
func newTokenizer(contentType string) *tokenizer {
	t := &tokenizer{}
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil {
		t.use(parameters["charset"])
	}
	t.next, t.stop = iter.Pull(t.tokens())
	return t
}

// use decodes the unread rest from an encoding.
func (t *tokenizer) use(label string) {
	encoding, name := charset.Lookup(label)
	if encoding == nil || name == "utf-8" {
		return
	}
	decoder := encoding.NewDecoder()
	t.decode = decoder.Reader(readerFunc(t.pull))
}

// feed adds bytes; nil means the end.
func (t *tokenizer) feed(b []byte) {
	t.input = append(t.input, b...)
	t.ended = t.ended || b == nil
}

// pull returns bytes once there are some. While a meta element may still
// declare the encoding of the rest, it stops at the end of each tag.
func (t *tokenizer) pull(p []byte) (int, error) {
	if !t.wait(1) {
		return 0, io.EOF
	}
	n := min(len(p), len(t.input))
	if t.decode == nil && t.read < sniffed {
		if end := bytes.IndexByte(t.input[:n], '>'); end >= 0 {
			n = end + 1
		}
	}
	copy(p, t.input[:n])
	t.input = t.input[n:]
	t.read += n
	return n, nil
}

const byteOrderMark = "\xef\xbb\xbf"

// tokens yields the tokens, and nil whenever it has run out of bytes.
func (t *tokenizer) tokens() iter.Seq[*token] {
	return func(yield func(*token) bool) {
		t.wait = func(octets int) bool {
			for len(t.input) < octets && !t.ended {
				if !yield(nil) {
					t.ended, t.input = true, nil
				}
			}
			return len(t.input) > 0
		}
		if t.wait(1); byteOrderMark[0] == first(t.input) {
			t.wait(len(byteOrderMark))
			t.input = bytes.TrimPrefix(t.input, []byte(byteOrderMark)) // which is not text
		}
		z := html.NewTokenizer(readerFunc(func(p []byte) (int, error) {
			if t.decode != nil {
				return t.decode.Read(p)
			}
			return t.pull(p)
		}))
		line := 1
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				return
			}
			line += bytes.Count(z.Raw(), []byte("\n"))
			token := &token{kind: kind, size: len(z.Raw()), line: line}
			switch kind {
			case html.TextToken:
				token.text = bytes.Clone(z.Text())
			case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
				token.readTag(z)
				if token.name == "meta" && t.decode == nil && t.read <= sniffed {
					t.use(token.charset())
				}
			default:
				continue
			}
			if !yield(token) {
				return
			}
		}
	}
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// charset returns the encoding that a meta element declares. It cannot be
// UTF-16, or the element could not have been read.
func (t *token) charset() string {
	label := t.attribute("charset")
	if label == "" && t.word("http-equiv") == "content-type" {
		if _, parameters, err := mime.ParseMediaType(t.attribute("content")); err == nil {
			label = parameters["charset"]
		}
	}
	if strings.HasPrefix(strings.ToLower(label), "utf-16") {
		return ""
	}
	return label
}

func (t *token) readTag(z *html.Tokenizer) {
	name, more := z.TagName()
	t.name = string(name)
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		t.attr = append(t.attr, html.Attribute{Key: string(key), Val: string(value)})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
