package recording

import (
	"fmt"
	"slices"
	"strings"
)

// assignSheets gives each made style sheet that uses images or fonts the document with the
// element that it uses them for.
func (m *maker) assignSheets() {
	for _, n := range m.nodes {
		if n.kind != stylesheet || !n.made || n.redirects || len(n.of(image))+len(n.of(font)) == 0 {
			continue
		}
		n.class = m.className()
		n.in = m.documentOf(n)
		n.in.sheets = append(n.in.sheets, n)
	}
}

// cssStub is a style sheet that uses its children.
func (m *maker) cssStub(n *node) *skeleton {
	var b strings.Builder
	for _, c := range n.of(stylesheet) {
		b.WriteString("@import " + quoteCSS(c.url) + ";")
	}
	fonts := n.of(font)
	b.WriteString(fontRules(n.class, fonts))
	var images []string
	for _, c := range n.of(image) {
		images = append(images, "url("+quoteCSS(c.url)+")")
	}
	if len(fonts)+len(images) > 0 {
		b.WriteString(n.selector(len(fonts)))
		if len(fonts) > 0 {
			b.WriteString("font-family:" + n.class + ";")
		}
		if len(images) > 0 {
			b.WriteString("background:" + strings.Join(images, ","))
		}
		b.WriteString("}")
	}
	return &skeleton{pieces: []string{b.String(), ""}, open: "/*", close: "*/", pad: "\n"}
}

// fontRules are a family of fonts, each with a letter of its own.
func fontRules(family string, fonts []*node) string {
	var b strings.Builder
	for i, c := range fonts {
		fmt.Fprintf(&b, "@font-face{font-family:%s;src:url(%s);unicode-range:U+%X}", family, quoteCSS(c.url), firstLetter+i)
	}
	return b.String()
}

// elsewhere are what sheets use in documents that have no element for them, since they were
// recorded.
var elsewhere = []string{"html::before", "html::after", "body::before", "body::after"}

// selector begins the rule for what a sheet uses.
func (n *node) selector(fonts int) string {
	if n.in.made {
		return "." + n.class + "{"
	}
	var content strings.Builder
	for i := range fonts {
		fmt.Fprintf(&content, `\%x `, firstLetter+i)
	}
	index := slices.Index(n.in.sheets, n)
	return elsewhere[index%len(elsewhere)] + `{content:"` + content.String() + `";`
}
