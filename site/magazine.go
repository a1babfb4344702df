package site

import (
	"bytes"
	"fmt"
	"html/template"
	"math/rand/v2"
	"strings"
)

// magazineName is the name of the made page with one resource of every kind.
const magazineName = "magazine"

// The hosts of the magazine.
const (
	magazineHost  = "www.magazine.test"
	magazineFiles = "static.magazine.test"
	magazineAds   = "www.advertiser.test"
)

// made describes a resource of a made page.
type made struct {
	host, path string
	size       int    // octets; the rest is padding
	text       string // the body before the padding
	by         string // host and path of the initiator if a parser cannot see the reference; otherwise empty
	shared     bool   // allows requests from other origins, as fonts must
	tag        string // its ETag; empty: none
	image      [2]int // width and height of an image
}

// Magazine makes a page with everything that decides when a browser requests what: style
// sheets that import others, fonts and backgrounds; scripts that block the parser, are
// deferred or async; scripts that request more; images of several resolutions, lazy images,
// a frame; three hosts. It serves to compare loaders and copies no real page. It is always
// the same to the octet.
//
// Texts, sizes and the number of resources are made up, in the order of magnitude of
// today's pages. The fonts are noise: browsers fetch them and then use a fallback.
func Magazine() (*Site, error) {
	s := &Site{
		Name:   magazineName,
		Title:  "A page with one of everything",
		Source: "made by Wiretime",
		Page:   "https://" + magazineHost + "/",
		bodies: map[string][]byte{},
	}
	random := rand.New(rand.NewPCG(1, 1))
	var page bytes.Buffer
	err := magazinePage.Execute(&page, map[string]any{
		"Files": "//" + magazineFiles, "Ads": "//" + magazineAds,
		"Opening": paragraphs(random, 4), "Articles": articles(random, 12), "Archive": articles(random, 8),
	})
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", magazineName, err)
	}
	s.addMadePage(s.Page, page.Bytes())
	for _, m := range magazineParts() {
		s.addMade(random, m)
	}
	if err := s.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", magazineName, err)
	}
	return s, nil
}

// magazineParts lists the page's subresources.
func magazineParts() []made {
	parts := []made{
		{host: magazineFiles, path: "/main.css", size: 22_000, text: mainCSS},
		{host: magazineFiles, path: "/base.css", size: 9_000, text: "@import url(reset.css);\nbody { margin: 2rem; color: #222 }\n"},
		{host: magazineFiles, path: "/reset.css", size: 2_500, text: "* { box-sizing: border-box }\n"},
		{host: magazineFiles, path: "/theme.css", size: 6_000, text: ".notes { background: url(/backgrounds/notes.svg) }\n"},
		{host: magazineFiles, path: "/print.css", size: 4_000, text: "nav { display: none }\n"},
		{host: magazineHost, path: "/head.js", size: 28_000, text: "document.documentElement.className = 'script';\n"},
		{host: magazineHost, path: "/middle.js", size: 14_000, text: "document.getElementById('count').textContent = document.images.length;\n"},
		{host: magazineFiles, path: "/app.js", size: 60_000, text: appJS},
		{host: magazineFiles, path: "/menu.js", size: 12_000, text: "document.querySelector('nav').className = 'ready';\n"},
		{host: magazineAds, path: "/measure.js", size: 18_000, text: measureJS},
		{host: magazineFiles, path: "/chunk.js", size: 9_000, text: chunkJS, by: magazineFiles + "/app.js"},
		{host: magazineHost, path: "/comments.json", size: 5_000, text: "{}", by: magazineFiles + "/app.js"},
		{host: magazineFiles, path: "/late.svg", size: 7_000, by: magazineFiles + "/chunk.js", image: [2]int{160, 90}},
		{host: magazineAds, path: "/dot.svg", size: 400, by: magazineAds + "/measure.js", image: [2]int{1, 1}},
		{host: magazineAds, path: "/frame.html", size: 3_000, text: frameHTML},
		{host: magazineAds, path: "/frame.css", size: 2_000, text: "body { margin: 0 }\n"},
		{host: magazineAds, path: "/offer.svg", size: 16_000, image: [2]int{300, 250}},
		{host: magazineFiles, path: "/opening-640.svg", size: 30_000, image: [2]int{640, 360}},
		{host: magazineFiles, path: "/opening-1280.svg", size: 70_000, image: [2]int{1280, 720}},
		{host: magazineFiles, path: "/backgrounds/header.svg", size: 8_000, image: [2]int{1280, 120}},
		{host: magazineFiles, path: "/backgrounds/notes.svg", size: 5_000, image: [2]int{300, 300}},
		{host: magazineFiles, path: "/backgrounds/none.svg", size: 5_000, image: [2]int{300, 300}},
		{host: magazineFiles, path: "/fonts/text.woff2", size: 24_000, shared: true},
		{host: magazineFiles, path: "/fonts/bold.woff2", size: 25_000, shared: true},
		{host: magazineFiles, path: "/fonts/unused.woff2", size: 26_000, shared: true},
	}
	for i := range 12 {
		parts = append(parts,
			made{host: magazineFiles, path: fmt.Sprintf("/articles/%d-320.svg", i), size: 9_000 + 1_500*i, image: [2]int{320, 180}},
			made{host: magazineFiles, path: fmt.Sprintf("/articles/%d-640.svg", i), size: 25_000 + 3_000*i, image: [2]int{640, 360}})
	}
	for i := range 8 {
		parts = append(parts, made{host: magazineFiles, path: fmt.Sprintf("/archive/%d.svg", i), size: 12_000, image: [2]int{320, 180}})
	}
	return parts
}

// addMade adds a resource and its padding: a comment where the type has comments, otherwise
// spaces or noise.
func (s *Site) addMade(random *rand.Rand, m made) {
	kind := m.path[strings.LastIndexByte(m.path, '.'):]
	var b bytes.Buffer
	b.WriteString(m.text)
	switch kind {
	case ".svg":
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"><rect width="100%%" height="100%%" fill="#%06x"/><!--`,
			m.image[0], m.image[1], random.IntN(1<<24))
		fill(random, &b, m.size-len("--></svg>"))
		b.WriteString("--></svg>")
	case ".css", ".js":
		b.WriteString("/*")
		fill(random, &b, m.size-len("*/"))
		b.WriteString("*/")
	case ".html":
		b.WriteString("<!--")
		fill(random, &b, m.size-len("-->"))
		b.WriteString("-->")
	case ".woff2":
		for b.Len() < m.size {
			b.WriteByte(byte(random.IntN(256)))
		}
	default:
		b.WriteString(strings.Repeat(" ", m.size-b.Len()))
	}
	s.addPart(m, b.Bytes())
}

// addPart adds a resource with its complete body.
func (s *Site) addPart(m made, body []byte) {
	kind := m.path[strings.LastIndexByte(m.path, '.'):]
	header := []Header{{"content-type", contentTypes[kind]}, unchanging, {"timing-allow-origin", "*"}}
	if m.shared {
		header = append(header, Header{"access-control-allow-origin", "*"})
	}
	if m.tag != "" {
		header = append(header, Header{"etag", m.tag})
	}
	s.addResource("https://"+m.host+m.path, header, body)
	if m.by != "" {
		r := &s.Resources[len(s.Resources)-1]
		r.Initiator, r.Kind = "https://"+m.by, madeKinds[kind]
	}
}

// madeKinds maps extensions to the kinds that scripts request.
var madeKinds = map[string]string{".js": "script", ".json": "fetch", ".svg": "image", ".png": "image"}

// words are the vocabulary of padding text.
var words = strings.Fields(`about after again always answer before begin between bridge carry circle city clear cloud coast colour
	county distance early earth evening every field figure follow forest garden ground harbour history hundred island journey later
	letter light little machine market measure minute moment morning mountain never number often order paper people picture place
	plain point power question quiet railway reason record river road season second signal simple sound spring station stone story
	street summer surface system table thing thousand through time today town train travel under valley village voice water weather
	window winter wonder world write year`)

// fill appends words until b holds size octets.
func fill(random *rand.Rand, b *bytes.Buffer, size int) {
	for b.Len() < size {
		b.WriteByte(' ')
		b.WriteString(words[random.IntN(len(words))])
	}
	b.Truncate(size)
}

func paragraphs(random *rand.Rand, count int) []string {
	out := make([]string, count)
	for i := range out {
		var b bytes.Buffer
		fill(random, &b, 500+random.IntN(300))
		out[i] = b.String() + "."
	}
	return out
}

// article is a section of the page with its own picture.
type article struct {
	Number int
	Title  string
	Text   []string
}

func articles(random *rand.Rand, count int) []article {
	out := make([]article, count)
	for i := range out {
		var title bytes.Buffer
		fill(random, &title, 40)
		out[i] = article{i, title.String(), paragraphs(random, 3)}
	}
	return out
}

const mainCSS = `@import url(base.css);
@font-face { font-family: Text; src: url(/fonts/text.woff2) format("woff2") }
@font-face { font-family: Text; font-weight: bold; src: url(/fonts/bold.woff2) format("woff2") }
@font-face { font-family: Unused; src: url(/fonts/unused.woff2) format("woff2") }
body { font: 1rem/1.4 Text, sans-serif }
header { background: url(/backgrounds/header.svg); height: 120px }
.never { background: url(/backgrounds/none.svg) }
article { min-height: 260px; max-width: 40rem }
`

const appJS = `fetch('/comments.json');
const chunk = document.createElement('script');
chunk.src = '//` + magazineFiles + `/chunk.js';
document.head.append(chunk);
`

const chunkJS = `const late = new Image();
late.src = '//` + magazineFiles + `/late.svg';
document.body.append(late);
`

const measureJS = `new Image().src = '//` + magazineAds + `/dot.svg';
`

const frameHTML = `<!DOCTYPE html>
<title>Offer</title>
<link rel="stylesheet" href="/frame.css">
<img src="/offer.svg" alt="" width="300" height="250">
`

var magazinePage = template.Must(template.New(magazineName).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Magazine</title>
<link rel="icon" href="data:,">
<link rel="preload" href="{{.Files}}/fonts/text.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="{{.Files}}/main.css">
<link rel="stylesheet" href="{{.Files}}/print.css" media="print">
<script src="/head.js"></script>
<link rel="stylesheet" href="{{.Files}}/theme.css">
<script>document.title = 'Magazine, ' + document.documentElement.className;</script>
<script src="{{.Files}}/app.js" defer></script>
<script src="{{.Files}}/menu.js" defer></script>
<script src="{{.Ads}}/measure.js" async></script>
</head>
<body>
<header><nav>Magazine</nav></header>
<h1>Opening</h1>
<picture>
<source media="(max-width: 800px)" srcset="{{.Files}}/opening-640.svg">
<img src="{{.Files}}/opening-1280.svg" alt="" width="1280" height="720">
</picture>
{{range .Opening}}<p>{{.}}</p>
{{end}}{{range .Articles}}<article>
<h2>{{.Title}}</h2>
<img src="{{$.Files}}/articles/{{.Number}}-320.svg" srcset="{{$.Files}}/articles/{{.Number}}-320.svg 1x, {{$.Files}}/articles/{{.Number}}-640.svg 2x" alt="" width="320" height="180">
{{range .Text}}<p>{{.}}</p>
{{end}}</article>
{{if eq .Number 5}}<p>Pictures so far: <span id="count"></span></p>
<script src="/middle.js"></script>
{{end}}{{end}}<aside class="notes">Notes</aside>
<iframe src="{{.Ads}}/frame.html" width="300" height="250" title="Offer"></iframe>
{{range .Archive}}<article>
<h2>{{.Title}}</h2>
<img src="{{$.Files}}/archive/{{.Number}}.svg" alt="" width="320" height="180"{{if gt .Number 3}} loading="lazy"{{end}}>
{{range .Text}}<p>{{.}}</p>
{{end}}</article>
{{end}}</body>
</html>
`))
