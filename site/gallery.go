package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math/rand/v2"
)

// galleryName is the name of the made site on which a user scrolls and clicks.
const galleryName = "gallery"

// These sizes in octets make up the gallery: the medians of desktop home pages (HTTP Archive, Web Almanac 2024, chapter
// Page Weight) for style sheet and script, and the mean image of such a page (1054 kB in 18). How many images are where is
// Wiretime's choice.
const (
	galleryStylesheetSize = 78_000
	galleryScriptSize     = 613_000
	galleryImageSize      = 58_000 // on average
	galleryFirst          = 6      // images at the top of the list: a screen high each, so that what follows is out of a browser's reach
	galleryLazy           = 24     // lazy images below them
	galleryMore           = 18     // images that the button loads
	galleryViews          = 8      // images of a picture's page
	galleryFaces          = 10     // images that the comments of a picture have
	galleryFaceSize       = 4_000
)

// galleryImageHeight is how high a large image is, in CSS pixels; six of them reach farther than the 3800 pixels within
// which Chromium loads lazy images.
const galleryImageHeight = 840

// The steps of the gallery, numbered as in its journey.
const (
	galleryScroll = iota + 1
	galleryClickMore
	galleryClickPicture
	galleryClickComments
)

// Gallery makes a site on www.gallery.test with a journey that is all steps: a list of pictures is scrolled down to its
// end, where lazy images load; a button loads more of them by script; a click leads to the page of a picture; and
// another button there loads its comments. The result is always the same to the octet.
func Gallery() (*Site, error) {
	g := &gallery{random: rand.New(rand.NewPCG(2013, 12)), Site: &Site{
		Name: galleryName, Title: "A gallery, scrolled and clicked through", Source: "made by Wiretime, in sizes of HTTP Archive (2024)",
		Page: galleryHost + "/", bodies: map[string][]byte{},
		Journey: []string{"scroll bottom", "click #more", "click .picture", "click #comments"},
	}}
	first, lazy, views := g.images("first", galleryFirst), g.images("lazy", galleryLazy), g.images("view", galleryViews)
	if err := g.page("/", "Pictures", galleryList, map[string][]string{"First": first, "Lazy": lazy}, 0); err != nil {
		return nil, err
	}
	g.addShared()
	g.add(first, galleryImageSize, 0, "")
	g.add(lazy, galleryImageSize, galleryScroll, "")
	g.delay(galleryScroll)
	more, faces := g.images("more", galleryMore), g.images("face", galleryFaces)
	g.list("/more.json", more, galleryClickMore)
	g.add(more, galleryImageSize, galleryClickMore, "/more.json")
	if err := g.page("/picture", "A picture", galleryPicture, map[string][]string{"Views": views}, galleryClickPicture); err != nil {
		return nil, err
	}
	g.add(views, galleryImageSize, 0, "")
	g.list("/comments.json", faces, galleryClickComments)
	g.add(faces, galleryFaceSize, galleryClickComments, "/comments.json")
	if err := g.build(); err != nil {
		return nil, fmt.Errorf("make %s: %w", galleryName, err)
	}
	return g.Site, nil
}

const galleryHost = "https://www." + galleryName + ".test"

// gallery is a site that is being made.
type gallery struct {
	*Site
	random *rand.Rand
}

// images names n images.
func (g *gallery) images(kind string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("/images/%s-%d.svg", kind, i+1)
	}
	return names
}

// add adds images of log-normal sizes with a given mean. step is the step that causes them, by is what it waited for first.
func (g *gallery) add(paths []string, mean int64, step int, by string) {
	for i, size := range shares(g.random, mean*int64(len(paths)), len(paths)) {
		g.addResource(galleryHost+paths[i], []Header{{"content-type", contentTypes[".svg"]}, unchanging}, object(size))
		g.caused(step, "image", by)
	}
}

// delay has the lazy images come as Chromium 156 asks for them when its wheel is turned by a screen at a time: the first row
// comes within its reach after 171 ms, the next four rows after 271 ms, the last one after 371 ms.
func (g *gallery) delay(step int) {
	const row = 4
	n := 0
	for i := range g.Resources {
		r := &g.Resources[i]
		if r.Step != step {
			continue
		}
		switch {
		case n < row:
			r.Delay = 171
		case n < 5*row:
			r.Delay = 271
		default:
			r.Delay = 371
		}
		n++
	}
}

// caused says what causes the resource that was added last; step 0 is the page itself.
func (g *gallery) caused(step int, kind, by string) {
	if step == 0 {
		return
	}
	r := &g.Resources[len(g.Resources)-1]
	r.Step, r.Kind = step, kind
	if by != "" {
		r.Initiator = galleryHost + by
	}
}

// list adds a list of images that a script fetches.
func (g *gallery) list(path string, images []string, step int) {
	body, _ := json.Marshal(images) // a list of texts
	g.addResource(galleryHost+path, []Header{{"content-type", "application/json"}, {"cache-control", "no-cache"}}, body)
	g.caused(step, "fetch", "/gallery.js")
}

func (g *gallery) addShared() {
	for _, shared := range []struct {
		path, text string
		size       int
	}{{"/gallery.css", galleryStylesheet, galleryStylesheetSize}, {"/gallery.js", galleryScript, galleryScriptSize}} {
		g.addResource(galleryHost+shared.path, []Header{{"content-type", contentTypes[shared.path[len("/gallery"):]]}, unchanging}, filled(shared.text, shared.size))
	}
}

// page adds a page; step is the step that leads to it.
func (g *gallery) page(path, title, content string, images map[string][]string, step int) error {
	t, err := template.New(galleryName).Parse(galleryHead + content + "</body>\n</html>\n")
	if err != nil {
		return fmt.Errorf("make %s: %w", galleryName, err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, map[string]any{"Title": title, "Images": images, "Height": galleryImageHeight}); err != nil {
		return fmt.Errorf("make %s: %w", galleryName, err)
	}
	g.addMadePage(galleryHost+path, page.Bytes())
	g.caused(step, documentKind, "")
	return nil
}

const galleryStylesheet = `body { margin: 0; font: 1rem/1.4 sans-serif; color: #222 }
img { display: block }
.grid { display: grid; grid-template-columns: repeat(4, 300px); gap: 10px }
`

// galleryScript adds the images of a list once a button is clicked on.
const galleryScript = `for (const button of document.querySelectorAll("button")) button.addEventListener("click", async () => {
	const list = await (await fetch("/" + button.id + ".json")).json();
	for (const source of list) {
		const image = new Image(300, 200);
		image.src = source;
		document.querySelector("#added").append(image);
	}
});
`

// galleryHead gives every page an empty icon, as flagsPage does.
const galleryHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/gallery.css">
<script src="/gallery.js" defer></script>
</head>
<body>
<h1>{{.Title}}</h1>
`

const galleryList = `{{$height := .Height}}{{range .Images.First}}<p><img src="{{.}}" alt="" width="1200" height="{{$height}}"></p>
{{end}}<div class="grid">
{{range .Images.Lazy}}<img src="{{.}}" alt="" width="300" height="200" loading="lazy">
{{end}}</div>
<div class="grid" id="added"></div>
<p><button id="more">More pictures</button> <a class="picture" href="/picture">The picture of the day</a></p>
`

const galleryPicture = `<div class="grid">
{{range .Images.Views}}<img src="{{.}}" alt="" width="300" height="200">
{{end}}</div>
<p><button id="comments">Comments</button></p>
<div class="grid" id="added"></div>
`
