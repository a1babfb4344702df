package recording

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// staticReferences are the keys of all that the recorded HTML and CSS ask for openly, so
// that a parser sees it.
func (m *maker) staticReferences() map[string]bool {
	found := map[string]bool{}
	for _, n := range m.nodes {
		if n.made || n.redirects {
			continue
		}
		base := n.from
		note := func(reference string) {
			if u, ok := m.hosts.locate(base, reference); ok {
				found[key(http.MethodGet, u)] = true
			}
		}
		switch {
		case n.isDocument():
			htmlReferences(n.body, func(href string) {
				if a, ok := resolve(n.from, href); ok {
					base = a
				}
			}, note)
		case mediaOf(n.recordedType()) == "text/css":
			cssReferences(n.body, note)
		}
	}
	return found
}

// sources are the attributes by which elements ask for things as soon as they are parsed.
var sources = map[string][]string{
	"img": {"src", "srcset"}, "source": {"src", "srcset"}, "script": {"src"}, "link": {"href", "imagesrcset"}, "iframe": {"src"}, "frame": {"src"},
	"embed": {"src"}, "object": {"data"}, "video": {"src", "poster"}, "audio": {"src"}, "track": {"src"}, "input": {"src"},
	"image": {"href", "xlink:href"}, "use": {"href", "xlink:href"}, "body": {"background"}, "table": {"background"}, "td": {"background"},
}

// htmlReferences finds what HTML asks for.
func htmlReferences(text []byte, rebase, note func(string)) {
	z := html.NewTokenizer(bytes.NewReader(text))
	style := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if style {
				cssReferences(z.Text(), note)
			}
		case html.EndTagToken:
			style = false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			style = tag == "style"
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				attribute, value := string(k), string(v)
				switch {
				case tag == "base" && attribute == "href":
					rebase(value)
				case attribute == "style":
					cssReferences(v, note)
				case attribute == "srcset" || attribute == "imagesrcset":
					for candidate := range strings.SplitSeq(value, ",") {
						if fields := strings.Fields(candidate); len(fields) > 0 {
							note(fields[0])
						}
					}
				case isSource(tag, attribute):
					note(value)
				}
			}
		}
	}
}

func isSource(tag, attribute string) bool {
	for _, a := range sources[tag] {
		if a == attribute {
			return true
		}
	}
	return false
}

// cssURL finds url() and the strings of @import (CSS Syntax 3, section 4.3.6).
var cssURL = regexp.MustCompile(`(?i)url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^"'()\s]+))\s*\)|@import\s+(?:"([^"\n]*)"|'([^'\n]*)')`)

// cssReferences finds what CSS refers to.
func cssReferences(text []byte, note func(string)) {
	for _, match := range cssURL.FindAllSubmatch(text, -1) {
		for _, group := range match[1:] {
			if len(group) > 0 {
				note(strings.ReplaceAll(string(group), `\`, ""))
			}
		}
	}
}
