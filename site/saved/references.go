package saved

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// kind says how a file is used, as far as that determines its type.
type kind int

const (
	kindOther kind = iota
	kindDocument
	kindStylesheet
	kindScript
)

// sources maps elements to the attributes that request a file during parsing, and to the
// kind. link depends on its relation, and srcset holds several URLs.
var sources = map[string]map[string]kind{
	"audio": {"src": kindOther}, "body": {"background": kindOther}, "embed": {"src": kindOther}, "frame": {"src": kindDocument},
	"iframe": {"src": kindDocument}, "image": {"href": kindOther, "xlink:href": kindOther}, "img": {"src": kindOther}, "input": {"src": kindOther},
	"object": {"data": kindOther}, "script": {"src": kindScript}, "source": {"src": kindOther}, "table": {"background": kindOther},
	"td": {"background": kindOther}, "th": {"background": kindOther}, "tr": {"background": kindOther}, "track": {"src": kindOther}, "use": {"href": kindOther, "xlink:href": kindOther}, "video": {"src": kindOther, "poster": kindOther},
}

// relations maps the link relations that browsers fetch to kinds.
var relations = map[string]kind{"stylesheet": kindStylesheet, "icon": kindOther, "preload": kindOther, "modulepreload": kindScript}

// scanner finds the references of documents and style sheets.
type scanner struct {
	base *url.URL
	left *int64 // octets of references and their bases that may still be resolved
	// note is called with each reference as written and its target.
	note  func(reference string, target *url.URL, k kind)
	title string // of a document
}

func (s *scanner) refer(reference string, k kind) {
	reference = strings.TrimSpace(reference)
	if *s.left -= int64(len(s.base.Path) + len(s.base.Host) + len(reference)); *s.left < 0 {
		return
	}
	target, err := s.base.Parse(reference)
	if err != nil || reference == "" || strings.HasPrefix(reference, "#") {
		return
	}
	target.Fragment, target.RawFragment, target.ForceQuery = "", "", false
	s.note(reference, target, k)
}

// html scans a document. It skips noscript and template.
func (s *scanner) html(text []byte) {
	z := html.NewTokenizer(bytes.NewReader(text))
	inert, within, based := 0, "", false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			switch {
			case within == "style":
				s.css(z.Text())
			case within == "title" && s.title == "":
				s.title = strings.Join(strings.Fields(strings.ToValidUTF8(string(z.Text()), "?")), " ")
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); isInert(string(name)) && inert > 0 {
				inert--
			}
			within = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			within = tag.Data
			if isInert(tag.Data) && tag.Type == html.StartTagToken {
				inert++
			}
			if inert > 0 {
				continue
			}
			if href := attribute(tag, "href"); tag.Data == "base" && href != "" && !based {
				if base, err := s.base.Parse(href); err == nil {
					s.base, based = base, true
				}
			}
			s.element(tag)
		}
	}
}

func isInert(tag string) bool { return tag == "noscript" || tag == "template" }

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (s *scanner) element(tag html.Token) {
	if tag.Data == "link" {
		for relation := range strings.FieldsSeq(strings.ToLower(attribute(tag, "rel"))) {
			if k, ok := relations[relation]; ok {
				s.refer(attribute(tag, "href"), k)
				break
			}
		}
	}
	for _, a := range tag.Attr {
		k, ok := sources[tag.Data][a.Key]
		switch {
		case ok:
			s.refer(a.Val, k)
		case a.Key == "srcset" || a.Key == "imagesrcset":
			for _, candidate := range candidates(a.Val) {
				s.refer(candidate, kindOther)
			}
		case a.Key == "style":
			s.css([]byte(a.Val))
		}
	}
}

// candidates returns the URLs of a srcset attribute
// (https://html.spec.whatwg.org/#parsing-a-srcset-attribute). URLs may contain commas.
func candidates(srcset string) []string {
	const space = " \t\n\f\r"
	var urls []string
	for {
		srcset = strings.TrimLeft(srcset, space+",")
		if srcset == "" {
			return urls
		}
		end := strings.IndexAny(srcset, space)
		if end < 0 {
			end = len(srcset)
		}
		candidate := srcset[:end]
		srcset = srcset[end:]
		if trimmed := strings.TrimRight(candidate, ","); trimmed != candidate {
			candidate = trimmed
		} else if _, after, ok := strings.Cut(srcset, ","); ok {
			srcset = after
		} else {
			srcset = ""
		}
		urls = append(urls, candidate)
	}
}

// css scans a style sheet, a style element or a style attribute.
func (s *scanner) css(text []byte) {
	// The lexer stops at NULs, so preprocess as in CSS Syntax section 3.3.
	text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	lexer := css.NewLexer(parse.NewInputBytes(text))
	importing := false
	for {
		token, data := lexer.Next()
		k := kindOther
		if importing {
			k = kindStylesheet
		}
		switch token {
		case css.ErrorToken:
			return
		case css.WhitespaceToken, css.CommentToken:
			continue
		case css.AtKeywordToken:
			importing = strings.EqualFold(string(data), "@import")
			continue
		case css.URLToken:
			inner := string(data[len("url("):])
			s.refer(unquote(strings.TrimSpace(strings.TrimSuffix(inner, ")"))), k)
		case css.StringToken:
			if importing {
				s.refer(unquote(string(data)), k)
			}
		}
		importing = false
	}
}

// unquote removes the quotes and backslashes of a CSS string.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = s[1 : len(s)-1]
	}
	return strings.ReplaceAll(s, `\`, "")
}
