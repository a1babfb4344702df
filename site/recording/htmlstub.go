package recording

import (
	"fmt"
	"html"
	"strings"
)

// htmlStub makes a document that requests its children: markup for those that a parser saw,
// in recorded order with filler in between, and a script at the end for the rest.
func (m *maker) htmlStub(n *node) *skeleton {
	var visible, hidden, fonts []*node
	for _, c := range n.children {
		switch {
		case !c.visible:
			hidden = append(hidden, c)
		case c.kind == font:
			fonts = append(fonts, c)
		default:
			visible = append(visible, c)
		}
	}
	if len(n.children)+len(n.sheets) == 0 && n != m.root {
		return &skeleton{pieces: []string{"", ""}, open: "<!--", close: "-->", pad: "\n"}
	}
	head := 0 // number of elements in head: all before the first visible one
	for head < len(visible) && (visible[head].kind == stylesheet || visible[head].kind == script) && inHead(visible[head]) {
		head++
	}
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><meta charset="utf-8">`)
	if n == m.root {
		// Without this, browsers would request an icon that may not exist.
		b.WriteString("<title>" + html.EscapeString(m.Title) + `</title><link rel="icon" href="data:,">`)
	}
	for _, c := range visible[:head] {
		b.WriteString(markup(c))
	}
	if len(fonts) > 0 {
		n.class = m.className()
		b.WriteString("<style>" + fontRules(n.class, fonts) + "." + n.class + "{font-family:" + n.class + "}</style>")
	}
	b.WriteString("</head><body>")
	if len(fonts) > 0 {
		b.WriteString(lettered(n.class, len(fonts)))
	}
	for _, sheet := range n.sheets {
		b.WriteString(lettered(sheet.class, len(sheet.of(font))))
	}
	pieces := []string{b.String()}
	for _, c := range visible[head:] {
		pieces = append(pieces, markup(c))
	}
	end := "</body></html>"
	if len(hidden) > 0 {
		end = "<script>" + strings.ReplaceAll(scriptText(hidden), "</", `<\/`) + "</script>" + end
	}
	return &skeleton{pieces: append(pieces, end), open: "<!--", close: "-->", pad: "\n"}
}

// inHead reports whether a style sheet or script belongs in the head because it blocks
// rendering, or blocks nothing.
func inHead(n *node) bool {
	switch strings.ToLower(n.Priority) {
	case "medium": // Chromium's priority for parser-blocking resources in the body
		return false
	}
	return true
}

// of returns the children of a kind that a parser sees.
func (n *node) of(kind string) []*node {
	var out []*node
	for _, c := range n.children {
		if c.visible && c.kind == kind {
			out = append(out, c)
		}
	}
	return out
}

// className returns a new class name for a style sheet.
func (m *maker) className() string {
	m.classes++
	return fmt.Sprintf("w%d", m.classes)
}

// markup returns the element that requests a node.
func markup(n *node) string {
	switch n.kind {
	case stylesheet:
		return `<link rel="stylesheet" href="` + attribute(n.url) + `">`
	case script:
		how := ""
		if n.async {
			how = " async"
		}
		return `<script` + how + ` src="` + attribute(n.url) + `"></script>`
	case document:
		return `<iframe style="` + frameStyle + `" src="` + attribute(n.url) + `"></iframe>`
	}
	return `<img src="` + attribute(n.url) + `">`
}

// frameStyle keeps frames inside the window: browsers do not render cross-site frames
// outside it, and so do not request their fonts.
const frameStyle = "position:fixed;top:0;left:0;border:0"

// lettered returns an element of a class, with one letter per font.
func lettered(class string, fonts int) string {
	var b strings.Builder
	b.WriteString(`<i class=` + class + `>`)
	for i := range fonts {
		fmt.Fprintf(&b, "&#%d;", firstLetter+i)
	}
	b.WriteString("</i>")
	return b.String()
}

// firstLetter is the letter of a sheet's first font. Every font has its own letter, so that
// all are needed.
const firstLetter = 0x100

// These functions write a URL of the site. A URL inside another URL must not change when
// the site is rewritten for http, so its slashes are escaped.

var (
	inAttribute = strings.NewReplacer("&", "&amp;", `"`, "&#34;")
	inString    = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// attribute writes a URL into a double-quoted attribute.
func attribute(url string) string { return protect(inAttribute.Replace(url), ":&#47;/") }

func protect(url, slashes string) string {
	head, rest := url[:len("https://")], url[len("https://"):]
	return head + strings.ReplaceAll(rest, "://", slashes)
}

// quoteCSS writes a URL as a string of CSS.
func quoteCSS(url string) string {
	return `"` + protect(inString.Replace(url), `:\2f /`) + `"`
}

// quoteJS writes a URL as a string of JavaScript.
func quoteJS(url string) string {
	return `"` + protect(inString.Replace(url), `:\x2f/`) + `"`
}
