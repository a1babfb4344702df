package page

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// token is one token of a document, kept from when it arrives until the parser
// takes it.
type token struct {
	kind html.TokenType
	name string // of a tag, in lower case
	attr []html.Attribute
	text []byte // of a text token that is the content of a script or a style, or short
	size int    // octets in the document
	line int    // at its end, counted from 1

	base   string // the document's base URL when it was scanned
	source string // of an img: the image that was chosen
}

// get is an attribute's value.
func (t *token) get(name string) (value string, ok bool) {
	for i := range t.attr {
		if t.attr[i].Key == name {
			return t.attr[i].Val, true
		}
	}
	return "", false
}

// attribute is an attribute's value without space around it.
func (t *token) attribute(name string) string {
	v, _ := t.get(name)
	return strings.Trim(v, " \t\n\f\r")
}

// word is an attribute's value in lower case, for attributes that are keywords.
func (t *token) word(name string) string { return strings.ToLower(t.attribute(name)) }

// tokenizer makes tokens of bytes as they come. The HTML tokenizer wants a
// reader that waits; a coroutine lets it have one without another thread of
// control: reading with nothing there hands control back to whoever feeds it.
type tokenizer struct {
	undecoded   []byte // until the encoding is known
	contentType string
	decided     bool
	input       []byte
	ended       bool
	done        bool // all tokens have been made
	next        func() (*token, bool)
	stop        func()
}

func newTokenizer(contentType string) *tokenizer {
	t := &tokenizer{contentType: contentType}
	t.next = func() (*token, bool) { return nil, false }
	t.stop = func() {}
	return t
}

// sniffed is how much of a document is searched for its encoding
// (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding).
// Chromium, too, shows nothing to its scanner before
// (third_party/blink/renderer/core/html/parser/text_resource_decoder.cc).
const sniffed = 1024

// feed takes bytes, or with nil the end.
func (t *tokenizer) feed(b []byte) {
	if b == nil {
		t.ended = true
	}
	if t.decided {
		t.input = append(t.input, b...)
		return
	}
	t.undecoded = append(t.undecoded, b...)
	encoding, name, certain := charset.DetermineEncoding(t.undecoded, t.contentType)
	declared := certain || declaresCharset(t.undecoded[:min(sniffed, len(t.undecoded))])
	if !t.ended && len(t.undecoded) < sniffed && !certain {
		return
	}
	t.decided = true
	t.input, t.undecoded = t.undecoded, nil
	var decode func(io.Reader) io.Reader
	if declared && name != "utf-8" {
		decoder := encoding.NewDecoder()
		decode = func(r io.Reader) io.Reader { return decoder.Reader(r) }
	} else {
		t.input = bytes.TrimPrefix(t.input, []byte("\xef\xbb\xbf"))
		decode = func(r io.Reader) io.Reader { return r }
	}
	t.next, t.stop = iter.Pull(t.tokens(decode))
}

func declaresCharset(head []byte) bool {
	head = bytes.ToLower(head)
	return bytes.Contains(head, []byte("<meta")) && bytes.Contains(head, []byte("charset"))
}

// tokens yields the tokens, and nil whenever there are no more bytes.
func (t *tokenizer) tokens(decode func(io.Reader) io.Reader) iter.Seq[*token] {
	return func(yield func(*token) bool) {
		source := readerFunc(func(p []byte) (int, error) {
			for len(t.input) == 0 {
				if t.ended || !yield(nil) {
					return 0, io.EOF
				}
			}
			n := copy(p, t.input)
			t.input = t.input[n:]
			return n, nil
		})
		z := html.NewTokenizer(decode(source))
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
			default:
				continue
			}
			if !yield(token) {
				return
			}
		}
	}
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
