package recording

import (
	"fmt"
	"strings"
)

// assignSheets assigns each made style sheet with images or fonts to the document whose
// element uses them.
func (m *maker) assignSheets() {
	documents := m.documents()
	for _, n := range m.nodes {
		if n.kind != stylesheet || !n.made || n.redirects || len(n.of(image))+len(n.of(font)) == 0 {
			continue
		}
		n.class = m.className()
		n.in = documents[n]
		n.nth = len(n.in.sheets)
		n.in.sheets = append(n.in.sheets, n)
	}
}

// cssStub makes a style sheet that uses its children.
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

// fontRules declares a font family in which each font covers one letter.
func fontRules(family string, fonts []*node) string {
	var b strings.Builder
	for i, c := range fonts {
		fmt.Fprintf(&b, "@font-face{font-family:%s;src:url(%s);unicode-range:U+%X}", family, quoteCSS(c.url), firstLetter+i)
	}
	return b.String()
}

// elsewhere lists the pseudo-elements for sheets in recorded documents, which have no
// element for them.
var elsewhere = []string{"html::before", "html::after", "body::before", "body::after"}

// selector writes the beginning of the rule that uses a sheet's images and fonts.
func (n *node) selector(fonts int) string {
	if n.in.made {
		return "." + n.class + "{"
	}
	var content strings.Builder
	for i := range fonts {
		fmt.Fprintf(&content, `\%x `, firstLetter+i)
	}
	return elsewhere[n.nth%len(elsewhere)] + `{content:"` + content.String() + `";`
}
