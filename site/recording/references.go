package recording

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// staticReferences returns the keys of all requests that a parser can see in the recorded
// HTML and CSS.
func (m *maker) staticReferences() map[string]bool {
	found := map[string]bool{}
	for _, n := range m.nodes {
		if n.made || n.redirects {
			continue
		}
		base := n.from
		locate := func(reference string) (string, bool) {
			if !m.search(oneOctet * (len(base.Path) + len(reference))) {
				return "", false
			}
			return m.hosts.locate(base, reference)
		}
		note := func(reference string) {
			if u, ok := locate(reference); ok {
				if k := key(http.MethodGet, u); m.byKey[k] != nil {
					found[k] = true
				}
			}
		}
		async := func(reference string) {
			if u, ok := locate(reference); ok {
				if script := m.get(u); script != nil {
					script.end().async = true
				}
			}
		}
		switch {
		case n.isDocument():
			htmlReferences(n.body, func(href string) {
				if a, ok := resolve(n.from, href); ok {
					base = a
				}
			}, note, async)
		case mediaOf(n.recordedType()) == "text/css":
			cssReferences(n.body, note)
		}
	}
	return found
}

// sources maps elements to the attributes that cause requests during parsing.
var sources = map[string][]string{
	"img": {"src", "srcset"}, "source": {"src", "srcset"}, "script": {"src"}, "link": {"href", "imagesrcset"}, "iframe": {"src"}, "frame": {"src"},
	"embed": {"src"}, "object": {"data"}, "video": {"src", "poster"}, "audio": {"src"}, "track": {"src"}, "input": {"src"},
	"image": {"href", "xlink:href"}, "use": {"href", "xlink:href"}, "body": {"background"}, "table": {"background"}, "td": {"background"},
}

// fetched matches link relations that all browsers fetch.
var fetched = regexp.MustCompile(`(?i)stylesheet|preload|prefetch`)

// htmlReferences reports the references in HTML, and which of them are async or deferred
// scripts. It skips noscript content and templates.
func htmlReferences(text []byte, rebase, note, async func(string)) {
	z := html.NewTokenizer(bytes.NewReader(text))
	inert, style := 0, false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		t := z.Token()
		switch {
		case t.Data == "noscript" || t.Data == "template":
			switch kind {
			case html.StartTagToken:
				inert++
			case html.EndTagToken:
				inert = max(0, inert-1)
			}
		case inert > 0:
		case kind == html.TextToken && style:
			cssReferences([]byte(t.Data), note)
		case kind == html.EndTagToken:
			style = false
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			style = t.Data == "style"
			tagReferences(t, rebase, note, async)
		}
	}
}

// tagReferences reports the references of a tag.
func tagReferences(t html.Token, rebase, note, async func(string)) {
	if href, ok := attributeOf(t, "href"); ok && t.Data == "base" {
		rebase(href)
	}
	if style, ok := attributeOf(t, "style"); ok {
		cssReferences([]byte(style), note)
	}
	if _, ok := attributeOf(t, "async"); ok && t.Data == "script" {
		src, _ := attributeOf(t, "src")
		async(src)
	}
	if rel, _ := attributeOf(t, "rel"); t.Data == "link" && !fetched.MatchString(rel) {
		return
	}
	for _, name := range sources[t.Data] {
		value, _ := attributeOf(t, name)
		if !strings.HasSuffix(name, "srcset") {
			if value != "" {
				note(value)
			}
			continue
		}
		for candidate := range strings.SplitSeq(value, ",") {
			if fields := strings.Fields(candidate); len(fields) > 0 {
				note(fields[0])
			}
		}
	}
}

// attributeOf returns the value of a tag's first attribute of a name.
func attributeOf(t html.Token, name string) (value string, ok bool) {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// cssURL matches url() and the strings of @import (CSS Syntax 3, section 4.3.6).
var cssURL = regexp.MustCompile(`(?i)url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^"'()\s]+))\s*\)|@import\s+(?:"([^"\n]*)"|'([^'\n]*)')`)

// cssReferences reports the references in CSS.
func cssReferences(text []byte, note func(string)) {
	for _, match := range cssURL.FindAllSubmatch(text, -1) {
		for _, group := range match[1:] {
			if len(group) > 0 {
				note(strings.ReplaceAll(string(group), `\`, ""))
			}
		}
	}
}
