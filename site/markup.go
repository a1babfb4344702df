package site

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// write gives each part the text that requests other parts. The first part is the page.
func write(random *rand.Rand, parts []*part) {
	asks := map[*part][]*part{}
	for _, p := range parts[1:] {
		asks[p.by] = append(asks[p.by], p)
	}
	for _, p := range parts[1:] {
		switch p.kind {
		case ".html":
			p.text = []string{"<!DOCTYPE html>\n<html lang=\"en\">\n<title>A frame</title>\n"}
		case ".css":
			p.text = []string{sheetText(asks[p])}
		case ".js":
			p.text = []string{scriptText(asks[p])}
		}
	}
	parts[0].text = pageText(random, parts, asks[parts[0]])
}

// sheetText requests fonts and images by rules for elements of the page.
func sheetText(asks []*part) string {
	var b strings.Builder
	for _, p := range asks {
		if p.kind == ".woff2" {
			fmt.Fprintf(&b, "@font-face { font-family: %s; src: url(%s) format(\"woff2\") }\n.%s { font-family: %s, sans-serif }\n", p.name, p.url, p.name, p.name)
		} else {
			fmt.Fprintf(&b, ".%s { background: url(%s) }\n", p.name, p.url)
		}
	}
	return b.String()
}

// scriptText requests images and scripts.
func scriptText(asks []*part) string {
	var b strings.Builder
	for _, p := range asks {
		if p.kind == ".js" {
			fmt.Fprintf(&b, "document.head.append(Object.assign(document.createElement('script'), { src: '%s' }));\n", p.url)
		} else {
			fmt.Fprintf(&b, "new Image().src = '%s';\n", p.url)
		}
	}
	return b.String()
}

// pageText renders the page. It references the page's own parts and has an element for each
// rule of a style sheet. All elements have fixed sizes, so that the layout is final at
// once, and the icon is empty, as on all made pages.
func pageText(random *rand.Rand, parts, own []*part) []string {
	var head, styles strings.Builder
	head.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A page</title>
<link rel="icon" href="data:,">
`)
	var fonts []*part
	for _, p := range own {
		switch p.kind {
		case ".css":
			fmt.Fprintf(&head, "<link rel=\"stylesheet\" href=\"%s\">\n", p.url)
		case ".js":
			how := [...]string{"", " defer", " async"}[random.IntN(3)]
			fmt.Fprintf(&head, "<script src=\"%s\"%s></script>\n", p.url, how)
		case ".woff2":
			fonts = append(fonts, p)
		}
	}
	styles.WriteString("article { min-height: 180px; max-width: 40rem }\n")
	styles.WriteString(sheetText(fonts))
	fmt.Fprintf(&head, "<style>\n%s</style>\n</head>\n<body>\n<h1>A page</h1>\n", styles.String())

	var items []string
	for _, p := range parts[1:] {
		switch {
		case p.kind == ".woff2":
			items = append(items, fmt.Sprintf("<p class=\"%s\">The quick brown fox jumps over the lazy dog.</p>\n", p.name))
		case p.kind == ".html":
			items = append(items, fmt.Sprintf("<iframe src=\"%s\" width=\"300\" height=\"150\" title=\"A frame\"></iframe>\n", p.url))
		case p.kind == ".png" && p.by == parts[0]:
			items = append(items, fmt.Sprintf("<article><img src=\"%s\" alt=\"\" width=\"160\" height=\"120\"></article>\n", p.url))
		case p.kind == ".png" && p.by.kind == ".css":
			items = append(items, fmt.Sprintf("<article class=\"%s\"></article>\n", p.name))
		}
	}
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	text := append([]string{head.String()}, items...)
	return append(text, "</body>\n</html>\n")
}
